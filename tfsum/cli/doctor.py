"""Show what is installed, which devices there are, what they can do, and what is wrong."""

import argparse
import json

from tfsum.cli import diagnosis

EXAMPLES = """examples:
  tfsum doctor
  tfsum doctor --format json

exit status 1 if something required is missing or broken.
"""

MARKS = {"ok": "ok", "optional": "--", "wrong": "!!"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default text")


def run(arguments: argparse.Namespace) -> int:
    findings = diagnosis.examine()
    if arguments.format == "json":
        print(json.dumps([finding._asdict() for finding in findings], ensure_ascii=False, indent=1))
    else:
        print(as_text(findings))
    return 1 if any(finding.state == "wrong" for finding in findings) else 0


def as_text(findings: list[diagnosis.Finding]) -> str:
    """A finding a line, under its section, with the cure below where one is needed.

    Example:
        >>> print(as_text([diagnosis.Finding("machine", "python", "3.11.7")]))
        machine
          ok  python  3.11.7
        <BLANKLINE>
        nothing is wrong
    """
    lines: list[str] = []
    section = None
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        if finding.section != section:
            section = finding.section
            lines += ["", section] if lines else [section]
        lines.append(f"  {MARKS[finding.state]}  {finding.name:<{width}}  {finding.found}")
        if finding.cure:
            lines.append(f"      {'':<{width}}  -> {finding.cure}")
    wrong = sum(finding.state == "wrong" for finding in findings)
    verdict = f"{wrong} problem(s), marked !!" if wrong else "nothing is wrong"
    return "\n".join([*lines, "", verdict])

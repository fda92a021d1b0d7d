r"""The rules that split sentences, from `tfsum/text/languages/`, each with a text that needs it.

`SentenceSplitter` writes `BEGIN` wherever a sentence may begin (the rules under "propose",
"ideographic" and "korean") and removes the marks where none does. RE2 has neither look-ahead nor
overlapping matches; the mark replaces both. In RE2 `\b \w \s` know only ASCII, hence `SPACE`;
`[^\P{Han}x]` is a Chinese character other than x.

A file of a language has `[words]`, lists whose entries stand beside those of all other languages,
`[patterns]`, and rules in the order in which they run; and `[keywords]`, which
`tfsum.text.content_words` reads.
"""

import collections
import dataclasses
import functools
import itertools
import pathlib
import re
import tomllib

BEGIN, MAYBE = "\x01", "\x02"  # marks: a sentence begins here; one may begin here
SPACE = r"[\s\x0b\x{85}\p{Z}]"
MOST_GROUPS = 9  # that a rewrite of RE2 can name
LANGUAGES = pathlib.Path(__file__).with_name("languages")


@dataclasses.dataclass(frozen=True)
class Rule:
    r"""A regular expression, its replacement, and a text that is split wrongly without it.

    Args:
        name: The name of the rule.
        why: What the rule is for.
        pattern: An RE2 pattern.
        rewrite: What replaces each match, with `\1` for the first group.
        example: A text with "|" where its sentences begin.
        times: How often the rule runs; matches that touch need a second time.
        line: If not empty, the rule applies only to lines that match this pattern.

    Example:
        >>> Rule("semicolon", "It ends a clause here.", "(; )", r"\1\x01", "One; |two.").times
        1
    """

    name: str
    why: str
    pattern: str
    rewrite: str
    example: str
    times: int = 1
    line: str = ""


@functools.cache
def load_patterns() -> dict[str, str]:
    """Reads the patterns of all languages by name; words become their alternatives.

    Example:
        >>> "Mme" in load_patterns()["titles"].split("|")
        True
    """
    patterns = {"begin": BEGIN, "maybe": MAYBE, "space": SPACE}
    words: dict[str, list[str]] = collections.defaultdict(list)
    for content in _files():
        for name, found in content.get("words", {}).items():
            words[name] += found
        for name, pattern in content.get("patterns", {}).items():
            patterns[name] = re.sub(r"(^|\n) *", "", pattern)  # long ones take lines
    return patterns | {name: "|".join(found) for name, found in words.items()}


@functools.cache
def load_rules() -> dict[str, tuple[Rule, ...]]:
    """Reads the rules of all languages by stage.

    Example:
        >>> [rule.name for rule in load_rules()["newline_sentence"]]
        ['new line']
    """
    patterns = load_patterns()

    def expanded(text: str) -> str:
        return re.sub(r"<(\w+)>", lambda match: expanded(patterns[match[1]]), text)

    rules: dict[str, list[Rule]] = collections.defaultdict(list)
    for content in _files():
        for stage in sorted(content.keys() - {"words", "patterns", "keywords"}):
            for rule in content[stage]:
                templates = {
                    name: expanded(rule.get(name, "")) for name in ("pattern", "rewrite", "line")
                }
                rules[stage].append(Rule(**{**rule, **templates}))
    return {stage: tuple(found) for stage, found in rules.items()}


@functools.cache
def load_passes(stage: str) -> tuple[Rule, ...]:
    """Reads the rules of a stage, those that follow one another and write the same as one.

    A pass over a text costs more than what it looks for: 50 rules take half as many.

    Args:
        stage: Name of the stage.

    Returns:
        Rules; none where no file has the stage.

    Example:
        >>> len(load_passes("withdraw")) < len(load_rules()["withdraw"])
        True
    """
    passes: list[Rule] = []
    for (_, shape, _), same in itertools.groupby(load_rules().get(stage, ()), _written):
        rules = list(same)
        if shape == "":
            passes += rules
        elif shape == "pair":
            most = MOST_GROUPS // 2
            passes += [_pairs(rules[i : i + most]) for i in range(0, len(rules), most)]
        else:
            passes.append(_alternatives(rules, BEGIN if shape == "marked" else ""))
    return tuple(passes)


def _pairs(rules: list[Rule]) -> Rule:
    """Rules that keep two groups each, as one: those of the others are empty."""
    groups = "".join(rf"\{number}" for number in range(1, 2 * len(rules) + 1))
    pattern = "|".join(rule.pattern for rule in rules)
    return dataclasses.replace(rules[0], pattern=pattern, rewrite=groups)


def _alternatives(rules: list[Rule], tail: str) -> Rule:
    """Rules that keep one group each, before the same end, as one.

    Where the group is the whole match, RE2 has not to look for it again.
    """
    bodies = "|".join(rule.pattern.removesuffix(tail)[1:-1] for rule in rules)
    pattern, rewrite = f"({bodies}){tail}", rules[0].rewrite
    if not tail:
        pattern, rewrite = bodies, rewrite.replace(r"\1", r"\0")
    return dataclasses.replace(rules[0], pattern=pattern, rewrite=rewrite)


def _written(rule: Rule) -> tuple[str, str, int]:
    """What a rule writes, around or behind which groups of its pattern, and how often."""
    pattern, rewrite = rule.pattern, rule.rewrite
    is_one = rewrite.startswith(r"\1") and r"\2" not in rewrite and pattern.startswith("(")
    shapes = {
        "pair": rewrite == r"\1\2" and pattern.count(f"){BEGIN}(") == 1 and pattern[-1] == ")",
        "marked": is_one and pattern.endswith(f"){BEGIN}"),
        "group": is_one and pattern.endswith(")"),
    }
    return rewrite, next((shape for shape, is_it in shapes.items() if is_it), ""), rule.times


def load_tables(name: str) -> list[dict]:
    """Reads the sections of a name of all languages that have one.

    Example:
        >>> len(load_tables("words")) > 10
        True
    """
    return [content[name] for content in _files() if name in content]


def _files() -> list[dict]:
    """The contents of the files, those of all languages first."""
    return [
        tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(LANGUAGES.glob("*.toml"))
    ]

"""How long the page of `tfsum serve` lets people wait, in Chromium: one with a long text, and one
with an article meanwhile.

    python -m benchmarks page
    python -m benchmarks page --kilobytes 300

Needs chromium, chromedriver and the package selenium. Prints seconds from the click to the first
sign of life, to the first share that is read, to the summary and to the keywords; and for the
articles meanwhile their number, the median of their seconds and the maximum.
"""

import argparse
import shutil
import statistics
import time

from benchmarks import corpora, results
from benchmarks.serving.server import Serving
from tfsum.inference.saved_model import shipped_folder

QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--lang=en-US")
STAGES = ("sign of life", "share", "summary", "keywords")
PAUSE = 2.0  # seconds between two articles

# Sends a text, and notes in which frame its stages are seen first.
ASK = """const byId = (name) => document.getElementById(name), seen = window.seen = {};
byId("text").value = arguments[0];
byId("text").dispatchEvent(new Event("input"));
byId("result").hidden = true;
byId("keywords").replaceChildren();
const begin = performance.now(), stages = {
  "sign of life": () => !byId("going").hidden,
  share: () => byId("bar").value > 0,
  summary: () => !byId("result").hidden,
  keywords: () => document.querySelector("#keywords button"),
};
const look = () => {
  for (const [name, is] of Object.entries(stages)) {
    if (is()) seen[name] ??= (performance.now() - begin) / 1000;
  }
  seen.problem = byId("problem").textContent;
  if (!seen.keywords && !seen.problem) requestAnimationFrame(look);
};
byId("send").click();
requestAnimationFrame(look);"""


class Person:
    """A person with a browser.

    Args:
        port: Port of the server.
    """

    def __init__(self, port: int) -> None:
        from selenium import webdriver  # which no other benchmark needs

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for option in QUIET:
            options.add_argument(option)
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        self._driver = webdriver.Chrome(options=options, service=service)
        self._driver.get(f"http://127.0.0.1:{port}/")
        while not self._driver.execute_script("return models.length"):
            time.sleep(0.1)

    def ask(self, text: str) -> None:
        """Sends a text."""
        self._driver.execute_script(ASK, text)

    def seen(self) -> dict[str, float]:
        """Seconds from the click to the stages that were seen.

        Raises:
            SystemExit: The page told of an error.
        """
        stages = self._driver.execute_script("return window.seen")
        if problem := stages.pop("problem", ""):
            raise SystemExit(problem)
        return stages

    def leave(self) -> None:
        """Closes the browser."""
        self._driver.quit()


def measure(port: int, kilobytes: int) -> results.Row:
    """The cells of one long text."""
    first, second, article = Person(port), Person(port), corpora.article(3)
    answers: list[float] = []
    try:
        first.ask(corpora.article(kilobytes))
        while "keywords" not in first.seen():
            second.ask(article)
            while "keywords" not in (seen := second.seen()) and "keywords" not in first.seen():
                time.sleep(0.05)
            if "keywords" in seen:
                answers.append(seen["keywords"])
            time.sleep(PAUSE)
        long = first.seen()
    finally:
        for person in (first, second):
            person.leave()

    return {
        **{stage: f"{long[stage]:.2f}" if stage in long else "-" for stage in STAGES},
        "articles": str(len(answers)),
        "median": f"{statistics.median(answers):.2f}",
        "maximum": f"{max(answers):.2f}",
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kilobytes", type=int, nargs="+", default=[300, 3000])


def run(options: argparse.Namespace) -> None:
    print(results.machine())
    with Serving(shipped_folder()) as server:
        rows = {f"{size} kB": measure(server.port, size) for size in options.kilobytes}
    results.show(rows)

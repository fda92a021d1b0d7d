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
from typing import Any

from benchmarks import corpora, results
from benchmarks.serving.server import Serving
from tfsum.shipped_files import SAVED_MODELS

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


def browser(port: int) -> Any:
    """A browser with the page of a server, once its models are in the menu."""
    from selenium import webdriver  # which no other benchmark needs

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for option in QUIET:
        options.add_argument(option)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.get(f"http://127.0.0.1:{port}/")
    while not driver.execute_script("return models.length"):
        time.sleep(0.1)
    return driver


def seen(driver: Any) -> dict[str, float]:
    """Seconds from the click to the stages that were seen.

    Raises:
        SystemExit: The page told of an error.
    """
    stages = driver.execute_script("return window.seen")
    if problem := stages.pop("problem", ""):
        raise SystemExit(problem)
    return stages


def measure(port: int, kilobytes: int) -> results.Row:
    """The cells of one long text."""
    answers: list[float] = []
    with browser(port) as first, browser(port) as second:
        first.execute_script(ASK, corpora.article(kilobytes))
        while "keywords" not in (long := seen(first)):
            second.execute_script(ASK, corpora.article(3))
            while "keywords" not in (short := seen(second)) and "keywords" not in seen(first):
                time.sleep(0.05)
            answers += filter(None, [short.get("keywords")])
            time.sleep(PAUSE)

    return {
        **{stage: f"{long[stage]:.2f}" if stage in long else "-" for stage in STAGES},
        "articles": str(len(answers)),
        "median": f"{statistics.median(answers):.2f}",
        "maximum": f"{max(answers):.2f}",
    }


OPTIONS = {
    "--kilobytes": {"type": int, "nargs": "+", "default": [300, 3000]},
}


def run(options: argparse.Namespace) -> None:
    print(results.machine())
    with Serving(SAVED_MODELS) as server:
        rows = {f"{size} kB": measure(server.port, size) for size in options.kilobytes}
    results.show(rows)

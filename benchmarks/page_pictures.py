"""Takes the pictures of the page of `tfsum serve` that the READMEs show, in Chromium.

python benchmarks/page_pictures.py docs/images      # needs chromium, chromedriver and the package
selenium
"""

import pathlib
import shutil
import sys

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tfsum.serving import Server, ServerSettings

ARTICLE = pathlib.Path(__file__).parents[1] / "examples" / "article.txt"
# Name of the picture -> (language, model, text, width and height of the window, dark).
PICTURES = {
    "page_en": (
        "en",
        "bert_sum_ext_news_en",
        ARTICLE.read_text(encoding="utf-8"),
        (1000, 1330),
        False,
    ),
    "page_ko": (
        "ko",
        "bert_sum_ext_news_en",
        ARTICLE.read_text(encoding="utf-8"),
        (1000, 1330),
        False,
    ),
    "page_translation": (
        "en",
        "transformer_tatoeba_en_fr",
        "The cat is on the table.",
        (1000, 1500),
        True,
    ),
}


def take(port: int, folder: pathlib.Path, name: str) -> None:
    """Takes one picture."""
    language, model, text, size, dark = PICTURES[name]
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for option in (
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        f"--window-size={size[0]},{size[1]}",
        *(["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []),
    ):
        options.add_argument(option)
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    try:
        driver.get(f"http://127.0.0.1:{port}/")
        WebDriverWait(driver, 60).until(
            lambda page: page.find_elements(By.CSS_SELECTOR, "#model option")
        )
        driver.find_element(By.CSS_SELECTOR, f"#language option[value={language}]").click()
        driver.find_element(By.CSS_SELECTOR, f"#model option[value={model}]").click()
        driver.execute_script(
            "arguments[0].value = arguments[1]", driver.find_element(By.ID, "text"), text
        )
        driver.find_element(By.ID, "send").click()
        WebDriverWait(driver, 60).until(
            lambda page: page.find_element(By.ID, "result").is_displayed()
        )
        driver.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
        driver.save_screenshot(str(folder / f"{name}.png"))
    finally:
        driver.quit()


def main(folder: str) -> None:
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    with Server(settings=ServerSettings(port=8777)) as server:
        for name in PICTURES:
            take(server.port, pathlib.Path(folder), name)


if __name__ == "__main__":
    main(*sys.argv[1:])

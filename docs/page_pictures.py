"""Takes the pictures of the page of `tfsum serve` that the READMEs show, in Chromium.

python docs/page_pictures.py docs/images      # needs chromium, chromedriver and the package
selenium
"""

import pathlib
import shutil
import sys

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tfsum.serving import Server, ServerSettings

# Name of the picture -> (language, model, question, width and height of the window, dark).
PICTURES = {
    "page_en": ("en", "bert_sum_ext_news_en", "", (1280, 860), False),
    "page_ko": ("ko", "bert_sum_ext_news_en", "", (1280, 860), True),
}


def take(port: int, folder: pathlib.Path, name: str) -> None:
    """Takes one picture."""
    language, model, question, size, dark = PICTURES[name]
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
        driver.find_element(By.ID, "query").send_keys(question)
        driver.find_element(By.ID, "example").click()
        WebDriverWait(driver, 60).until(
            lambda page: page.find_element(By.ID, "result").is_displayed()
        )
        driver.find_element(By.ID, "heat").click()
        WebDriverWait(driver, 60).until(
            lambda page: len(page.find_elements(By.CSS_SELECTOR, "#source .sentence")) > 9
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

"""The page at `/`, in a real browser: each model, errors, the keyboard alone, Korean, dark mode,
and axe's checks."""

import json
import pathlib
import shutil

import pytest

from tfsum import export_model
from tfsum.models import BertClassifier
from tfsum.serving import Server, ServerSettings

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
axe = pytest.importorskip("axe_core_python", reason="needs axe-core-python")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]

ARTICLE = pathlib.Path(__file__).parents[2] / "examples" / "article.txt"
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--lang=en-US",
)


@pytest.fixture(scope="module")
def server():
    with Server(settings=ServerSettings(port=0, max_characters=6_000_000)) as started:
        yield started


@pytest.fixture
def open_page(server, tmp_path):
    """A function: opens the page with more options of Chromium, and waits for the models."""
    drivers = []

    def begin(*options, address=None):
        chosen = webdriver.ChromeOptions()
        chosen.binary_location = CHROMIUM
        for option in (*QUIET, f"--user-data-dir={tmp_path / str(len(drivers))}", *options):
            chosen.add_argument(option)
        chosen.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=chosen, service=webdriver.ChromeService(DRIVER))
        drivers.append(driver)
        driver.get(address or f"http://127.0.0.1:{server.port}/")
        if address is None:
            WebDriverWait(driver, 30).until(
                lambda page: page.find_elements(By.CSS_SELECTOR, "#model option")
            )
        return driver

    yield begin
    for driver in drivers:
        driver.quit()


def text_of(driver, name):
    return driver.find_element(By.ID, name).text


def ask(driver, text, model=None, seconds=60):
    """Sends a text, and waits for the answer or the error."""
    if model:
        driver.find_element(By.CSS_SELECTOR, f"#model option[value={model}]").click()
    driver.execute_script(
        "arguments[0].value = arguments[1]", driver.find_element(By.ID, "text"), text
    )
    driver.find_element(By.ID, "send").click()
    settled(driver, seconds)


def settled(driver, seconds=60):
    WebDriverWait(driver, seconds).until(
        lambda page: (
            page.find_element(By.ID, "send").is_enabled()
            and (text_of(page, "problem") or page.find_element(By.ID, "result").is_displayed())
        )
    )


def violations(driver):
    """What axe finds wrong."""
    (script,) = pathlib.Path(axe.__file__).parent.rglob("axe.min.js")
    driver.execute_script(script.read_text(encoding="utf-8"))
    found = driver.execute_async_script("axe.run().then(arguments[0])")
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]


def test_a_summary_stands_marked_in_its_text(open_page, server):
    driver = open_page()
    text = "😀 " + ARTICLE.read_text(encoding="utf-8")
    driver.find_element(By.ID, "length").clear()
    driver.find_element(By.ID, "length").send_keys("2")
    ask(driver, text, "bert_sum_ext_news_en")
    marks = driver.find_elements(By.TAG_NAME, "mark")
    assert len(marks) == 2
    plain = driver.execute_script(
        "return [...document.querySelectorAll('mark')].map(mark => mark.firstChild.data)"
    )
    assert text_of(driver, "answer").split() == " ".join(plain).split()
    source = driver.execute_script(
        "const copy = document.getElementById('source').cloneNode(true);"
        "copy.querySelectorAll('sup').forEach(score => score.remove()); return copy.textContent"
    )
    assert source == text
    command = text_of(driver, "command")
    assert (
        command.startswith("curl -d ")
        and f":{server.port}/v1/models/bert_sum_ext_news_en:predict" in command
    )
    assert "s." in text_of(driver, "state") and violations(driver) == []


def test_a_translation_with_its_attention(open_page):
    driver = open_page()
    ask(driver, "I am cold.", "transformer_tatoeba_en_fr")
    assert text_of(driver, "answer") == "J'ai froid."
    looked, considered = driver.find_elements(By.TAG_NAME, "tbody")
    rows = considered.find_elements(By.TAG_NAME, "tr")
    assert "▁Je 0." in rows[0].text and len(looked.find_elements(By.TAG_NAME, "tr")) == len(rows)
    assert not driver.find_element(By.ID, "length").is_displayed() and violations(driver) == []


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A server of a small classifier with random weights."""
    folder = tmp_path_factory.mktemp("classifier")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fire", "the", "city"]
    model = BertClassifier(
        {
            "vocab_size": len(words),
            "hidden_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 8,
            "max_position_embeddings": 16,
        },
        ("calm", "alarm"),
    )
    model.save_pretrained(
        folder / "best",
        words,
        {"text": {"lowercase": True, "strip_accents": None, "max_length": 16, "pair": False}},
    )
    export_model(folder / "best", folder / "models" / "alarm" / "1")
    with Server(folder / "models", ServerSettings(port=0, max_characters=6_000_000)) as started:
        yield started


def test_labels_with_their_probabilities_of_five_megabytes(open_page, classifier):
    driver = open_page(address=f"http://127.0.0.1:{classifier.port}/")
    WebDriverWait(driver, 30).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "#model option")
    )
    ask(driver, "the city " * 600_000, "alarm", seconds=120)
    rows = [row.text.split() for row in driver.find_elements(By.CSS_SELECTOR, "tbody tr")]
    assert [label for label, _ in rows] == ["calm", "alarm"] and text_of(driver, "answer") in (
        "calm",
        "alarm",
    )
    assert sum(float(share) for _, share in rows) == pytest.approx(1, abs=0.011)
    assert text_of(driver, "command").startswith("curl -d @request.json ")
    assert (
        "The model read 0.0 % of the text" in text_of(driver, "warnings")
        and violations(driver) == []
    )


def test_a_summary_of_five_megabytes(open_page, tmp_path):
    """About five minutes on two cores: over the default limits, which --max-characters and
    --timeout raise."""
    text = tmp_path / "long.txt"
    article = ARTICLE.read_text(encoding="utf-8")
    parts = (f"{article}\n\nThis is part {number} of the text.\n\n" for number in range(9999))
    with text.open("w", encoding="utf-8") as file:
        while file.tell() < 5_000_000:
            file.write(next(parts))
    with Server(settings=ServerSettings(port=0, max_characters=6_000_000, timeout=1500)) as patient:
        driver = open_page(address=f"http://127.0.0.1:{patient.port}/")
        WebDriverWait(driver, 30).until(
            lambda page: page.find_elements(By.CSS_SELECTOR, "#model option")
        )
        driver.find_element(By.ID, "file").send_keys(str(text))
        WebDriverWait(driver, 60).until(
            lambda page: (
                page.execute_script("return document.getElementById('text').value.length")
                > 4_900_000
            )
        )
        driver.find_element(By.ID, "send").click()
        settled(driver, 1500)
        assert text_of(driver, "problem") == ""
        plain = driver.execute_script(
            "return [...document.querySelectorAll('mark')].map(mark => mark.firstChild.data)"
        )
        assert len(plain) == 3 and all(
            sentence in text.read_text(encoding="utf-8") for sentence in plain
        )
        assert text_of(driver, "answer").split() == " ".join(plain).split()


def test_the_keyboard_alone(open_page):
    driver = open_page()
    press = lambda keys: webdriver.ActionChains(driver).send_keys(keys).perform()  # noqa: E731  to what has the focus
    press(Keys.TAB)
    seen = []
    for _ in range(8):
        seen.append(driver.switch_to.active_element.get_attribute("id"))
        if seen[-1] == "text":
            press("It rained. The bridge was closed on Monday.")
        if seen[-1] == "send":
            press(Keys.ENTER)
            break
        press(Keys.TAB)
    assert seen == ["language", "text", "file", "model", "length", "send"]
    settled(driver)
    assert driver.switch_to.active_element.get_attribute("id") == "result"


def test_errors(open_page):
    driver = open_page()
    ask(driver, "   ")
    assert "no text yet" in text_of(driver, "problem") and violations(driver) == []
    ask(driver, "a" * 6_000_001)
    assert "--max-characters" in text_of(driver, "problem")
    assert not driver.find_element(By.ID, "result").is_displayed()


def test_korean_dark_and_on_a_phone(open_page, tmp_path):
    driver = open_page(
        "--lang=ko-KR",
        "--accept-lang=ko-KR",
        "--blink-settings=preferredColorScheme=0",
        "--force-dark-mode",
        "--window-size=500,900",
    )
    driver.find_element(By.CSS_SELECTOR, "#language option[value=ko]").click()
    assert driver.find_element(By.ID, "send").text == "요약하기"
    assert driver.find_element(By.TAG_NAME, "html").get_attribute("lang") == "ko"
    ask(driver, "안녕하세요. 오늘은 날씨가 좋습니다. 비가 왔습니다.")
    assert "신뢰하기 어렵습니다" in text_of(driver, "warnings") and violations(driver) == []
    assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_a_file(open_page, tmp_path):
    driver = open_page()
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("It rained. 日本。", encoding="utf-8")
    bad.write_bytes(b"\xff\xfe\x00")
    driver.find_element(By.ID, "file").send_keys(str(good))
    WebDriverWait(driver, 10).until(
        lambda page: page.find_element(By.ID, "text").get_attribute("value") == "It rained. 日本。"
    )
    driver.find_element(By.ID, "file").send_keys(str(bad))
    WebDriverWait(driver, 10).until(
        lambda page: "bad.txt is no text file" in text_of(page, "problem")
    )


# What a browser does with a file that is dragged over a field and dropped; WebDriver has no way to
# drag one in.
DROP = """const data = new DataTransfer();
data.items.add(new File([arguments[2]], arguments[1], {type: "text/plain"}));
const send = (name) => arguments[0].dispatchEvent(
  new DragEvent(name, {dataTransfer: data, bubbles: true, cancelable: true}));
const taken = !send("dragover"), marked = arguments[0].classList.contains("over");
send("drop");
return [taken, marked, arguments[0].classList.contains("over")];"""


def test_a_file_that_is_dropped(open_page):
    driver = open_page()
    field = driver.find_element(By.ID, "text")
    # The browser does not open it in place of the page, and the field is marked while it is over
    # it.
    assert driver.execute_script(DROP, field, "good.txt", "It rained. 日本。") == [
        True,
        True,
        False,
    ]
    WebDriverWait(driver, 10).until(lambda _: field.get_attribute("value") == "It rained. 日本。")
    driver.find_element(By.ID, "send").click()
    settled(driver)
    assert text_of(driver, "answer").startswith("It rained.") and text_of(driver, "problem") == ""


def test_the_page_asks_no_other_host_and_logs_no_error(open_page, server):
    driver = open_page()
    ask(driver, "It rained.")
    names = driver.execute_script(
        "return performance.getEntriesByType('resource').map(entry => entry.name)"
    )
    assert names and all(
        name.startswith((f"http://127.0.0.1:{server.port}/", "data:")) for name in names
    )
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_token(open_page, models):
    with Server(settings=ServerSettings(port=0, token="secret")) as closed:
        driver = open_page(address=f"http://127.0.0.1:{closed.port}/")
        WebDriverWait(driver, 30).until(lambda page: "token" in text_of(page, "problem"))
        driver.find_element(By.ID, "token").send_keys("secret", Keys.TAB)
        WebDriverWait(driver, 30).until(
            lambda page: page.find_elements(By.CSS_SELECTOR, "#model option")
        )
        ask(driver, "It rained.")
        assert "Authorization: Bearer TOKEN" in text_of(
            driver, "command"
        ) and "secret" not in json.dumps(text_of(driver, "command"))

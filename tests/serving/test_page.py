"""The page at `/`, in a real browser: each model, errors, the keyboard alone, Korean, dark mode,
and axe's checks."""

import pathlib
import shutil

import pytest
from opened_models import unverified
from patient_client import TIMEOUT

from tfsum import export_model
from tfsum.models import BertClassifier
from tfsum.request import SummaryRequest
from tfsum.serving import Server, ServerSettings
from tfsum.shipped_files import SAVED_MODELS

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
axe = pytest.importorskip("axe_core_python", reason="needs axe-core-python")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support import select
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
    with unverified(), Server(settings=ServerSettings(port=0, timeout=TIMEOUT)) as started:
        yield started


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A server of a small classifier with random weights, and of a translator."""
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
    (folder / "models" / "transformer_tatoeba_en_fr").symlink_to(
        SAVED_MODELS / "transformer_tatoeba_en_fr"
    )
    settings = ServerSettings(port=0, max_document_bytes=6_000_000, timeout=TIMEOUT)
    with Server(folder / "models", settings) as started:
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
            has_models(driver)
        return driver

    yield begin
    for driver in drivers:
        driver.quit()


def has_models(driver):
    """Waits for the models."""
    WebDriverWait(driver, 30).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "#model option")
    )


def text_of(driver, name):
    return driver.find_element(By.ID, name).text


def ask(driver, text, model=None, seconds=60):
    """Sends a text, and waits for the answer or the error."""
    chosen = (
        driver.find_element(By.CSS_SELECTOR, f"#model option[value={model}]") if model else None
    )
    if chosen is not None and not chosen.is_selected():  # the menu is hidden where there is one
        chosen.click()
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


def sentences(driver, where):
    """The sentences of the summary in one of the panes."""
    return driver.execute_script(
        f"return [...document.querySelectorAll('#{where} .chosen')].map(one => one.textContent)"
    )


def slide(driver, words):
    """Moves the slider of the length to a number of words, as its arrow keys do."""
    slider = driver.find_element(By.ID, "length")
    for _ in range(11):
        if str(words) in text_of(driver, "length-said").split():
            return
        slider.send_keys(Keys.ARROW_RIGHT)
    raise AssertionError(f"the slider never said {words} words")


def test_a_summary_is_linked_with_its_text(open_page, server):
    driver = open_page()
    text = "😀 " + ARTICLE.read_text(encoding="utf-8").strip()
    slide(driver, 60)
    ask(driver, text, "bert_sum_ext_news_en")
    marked = sentences(driver, "source")
    assert sentences(driver, "answer") == marked and len(marked) > 1
    assert len(" ".join(marked).split()) <= 60
    source = driver.find_element(By.ID, "source")
    assert source.get_property("textContent") == text
    assert f"{len(' '.join(marked).split())} of {len(text.split())} words" in text_of(
        driver, "state"
    )
    command = driver.find_element(By.ID, "command").get_property("textContent")
    assert command.startswith("curl -d ") and f":{server.port}/summarize" in command

    said, place = (driver.find_element(By.ID, f"{pane}-1") for pane in ("summary", "source"))
    for one, other in ((said, place), (place, said)):
        driver.execute_script("arguments[0].focus()", one)
        assert "strong" in other.get_attribute("class")
        webdriver.ActionChains(driver).move_to_element(
            driver.find_element(By.TAG_NAME, "h1")
        ).perform()
        driver.execute_script("document.activeElement.blur()")
        assert "strong" not in other.get_attribute("class")
        webdriver.ActionChains(driver).move_to_element(one).perform()
        assert "strong" in other.get_attribute("class")
    said.click()
    assert driver.switch_to.active_element == place and violations(driver) == []


def test_a_question_keywords_and_scores(open_page):
    driver = open_page()
    driver.find_element(By.ID, "query").send_keys("How many lives were lost in the storm of 1903?")
    slide(driver, 40)
    ask(driver, ARTICLE.read_text(encoding="utf-8"), "bert_sum_ext_news_en")
    assert any("1903" in sentence for sentence in sentences(driver, "answer"))
    chips = driver.find_elements(By.CSS_SELECTOR, "#keywords button")
    assert len(chips) == 8
    chips[0].click()
    assert driver.execute_script("return getSelection().toString()") == chips[0].text

    every = driver.find_elements(By.CSS_SELECTOR, "#source .sentence")
    assert not driver.find_element(By.CLASS_NAME, "score").is_displayed()
    driver.find_element(By.ID, "heat").click()
    WebDriverWait(driver, 30).until(
        lambda page: len(page.find_elements(By.CSS_SELECTOR, "#source .sentence")) > len(every)
    )
    assert driver.find_element(By.CLASS_NAME, "score").is_displayed()
    colours = driver.execute_script(
        "return [...document.querySelectorAll('#source .sentence:not(.chosen)')]"
        ".map(one => [Number(one.style.getPropertyValue('--score')),"
        " getComputedStyle(one).backgroundColor])"
    )
    assert len({colour for _, colour in colours}) > 5 and violations(driver) == []
    driver.find_element(By.ID, "heat").click()
    assert not driver.find_element(By.CLASS_NAME, "score").is_displayed()


def test_scores_are_about_the_question(open_page, transformer, article):
    with Server(transformer.folder.parent, ServerSettings(port=0, timeout=TIMEOUT)) as of_today:
        driver = open_page(address=f"http://127.0.0.1:{of_today.port}/")
        has_models(driver)
        driver.find_element(By.ID, "query").send_keys("the river fell")
        ask(driver, article, seconds=TIMEOUT)
        assert text_of(driver, "heat-said").endswith("has to do with the question")
        assert not driver.find_elements(By.CSS_SELECTOR, "#source .sentence[title]")
        driver.find_element(By.ID, "heat").click()
        WebDriverWait(driver, TIMEOUT).until(
            lambda page: page.find_elements(By.CSS_SELECTOR, "#source .sentence[title]")
        )
        scores = driver.execute_script(
            "return [...document.querySelectorAll('#source .sentence')].map(one => one.title)"
        )
        assert scores.count("Score 1.00") == 1 and "Score 0.00" in scores
        assert violations(driver) == []


def test_every_other_field_of_a_request_has_a_control(open_page, server):
    driver = open_page()
    driver.find_element(By.CSS_SELECTOR, "#ask summary").click()
    fields = driver.find_elements(By.CSS_SELECTOR, "#fields [name]")
    names = [field.get_attribute("name") for field in fields]
    own = {"words", "query", "keywords", "all", "together", "max_per_document"}
    assert names == [name for name in SummaryRequest.model_fields if name not in own]
    assert "The lowest score of a sentence" in text_of(driver, "fields")
    assert violations(driver) == []

    driver.find_element(By.NAME, "sentences").send_keys("1")
    select.Select(driver.find_element(By.NAME, "newline")).select_by_visible_text("space")
    ask(driver, "It rained. The bridge\nwas closed.", "bert_sum_ext_news_en")
    assert len(sentences(driver, "answer")) == 1
    command = driver.find_element(By.ID, "command").get_property("textContent")
    assert '"sentences":1,"newline":"space"' in command

    driver.find_element(By.NAME, "share").send_keys("20", Keys.TAB)
    WebDriverWait(driver, 30).until(lambda page: text_of(page, "problem"))
    assert text_of(driver, "problem").startswith("share=20: expected a number above 0")
    driver.find_element(By.CSS_SELECTOR, "#language option[value=ko]").click()
    assert "줄바꿈의 의미" in text_of(driver, "fields")


def test_a_sentence_without_its_dateline_is_linked_beside_all_scores(open_page):
    driver = open_page()
    driver.find_element(By.ID, "example").click()
    settled(driver)
    said = sentences(driver, "answer")
    assert said[0].startswith("The last ferry")
    driver.find_element(By.ID, "heat").click()
    WebDriverWait(driver, 30).until(
        lambda page: len(page.find_elements(By.CSS_SELECTOR, "#source .sentence")) > len(said)
    )
    marked = sentences(driver, "source")
    assert [one.endswith(other) for one, other in zip(marked, said, strict=True)] == [True] * len(
        said
    )


def test_copy_download_and_the_example(open_page, tmp_path):
    driver = open_page()
    driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    driver.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    driver.find_element(By.ID, "example").click()
    settled(driver)
    summary = " ".join(sentences(driver, "answer"))
    driver.find_element(By.ID, "copy").click()
    WebDriverWait(driver, 10).until(lambda page: text_of(page, "copy") == "Copied")
    read = "navigator.clipboard.readText().then(arguments[0])"
    assert driver.execute_async_script(read) == summary
    driver.find_element(By.ID, "download").click()
    file = tmp_path / "summary.txt"
    WebDriverWait(driver, 10).until(lambda _: file.is_file() and file.read_text("utf-8"))
    assert file.read_text("utf-8") == summary + "\n"


def write(driver, text):
    """Replaces the text, as a person who types does."""
    driver.execute_script(
        "const field = document.getElementById('text'); field.value = arguments[0];"
        "field.dispatchEvent(new Event('input', {bubbles: true}))",
        text,
    )


def test_what_is_written_while_the_server_reads_is_kept(open_page):
    driver = open_page()
    ask(driver, "It rained. The bridge was closed.", "bert_sum_ext_news_en")
    driver.find_element(By.ID, "edit").click()
    driver.find_element(By.ID, "send").click()
    write(driver, "The sun shone.")
    driver.find_element(By.ID, "send").click()
    write(driver, " ")
    driver.find_element(By.ID, "send").click()
    assert "no text yet" in text_of(driver, "problem") and text_of(driver, "state") == ""
    assert driver.find_element(By.ID, "send").is_enabled()
    assert "old" in driver.find_element(By.ID, "result").get_attribute("class")
    write(driver, "People swam in the lake.")
    assert text_of(driver, "state") == "Of the text before your changes."
    driver.find_element(By.ID, "send").click()
    settled(driver)
    WebDriverWait(driver, 30).until(
        lambda page: sentences(page, "answer") == ["People swam in the lake."]
    )
    assert "old" not in driver.find_element(By.ID, "result").get_attribute("class")


def test_a_question_whose_words_the_text_lacks(open_page):
    driver = open_page()
    driver.find_element(By.ID, "query").send_keys("zebra quantum chromodynamics")
    ask(driver, "It rained. The bridge was closed.")
    assert "No word of the query is in the text" in text_of(driver, "warnings")


def test_summarizers_alone_are_in_the_menu_by_names_for_people(open_page, others):
    driver = open_page()
    menu = driver.find_element(By.ID, "model")
    assert [one.get_property("textContent") for one in menu.find_elements(By.XPATH, "*")] == [
        "News (English)"
    ]
    driver.find_element(By.CSS_SELECTOR, "#language option[value=ko]").click()
    assert menu.get_property("textContent") == "뉴스 (영어)"

    driver.get(f"http://127.0.0.1:{others.port}/")  # which has none
    has_models(driver)
    options = driver.find_elements(By.CSS_SELECTOR, "#model option")
    assert [one.text for one in options] == ["Alarm", "Tatoeba (English, French)"]


def test_another_model(open_page, others):
    driver = open_page(address=f"http://127.0.0.1:{others.port}/")
    has_models(driver)
    ask(driver, "I am cold.", "transformer_tatoeba_en_fr", seconds=TIMEOUT)
    driver.find_element(By.CSS_SELECTOR, "#model option[value=alarm]").click()
    assert text_of(driver, "state") == text_of(driver, "problem") == ""
    assert text_of(driver, "empty") == "The answer will appear here."


def test_what_was_written_is_there_after_a_reload_and_on_the_way_back(open_page, server):
    driver = open_page()
    write(driver, "It rained. The bridge was closed.")
    driver.find_element(By.ID, "query").send_keys("What was closed?")
    driver.find_element(By.CSS_SELECTOR, "#ask summary").click()
    driver.find_element(By.NAME, "sentences").send_keys("1")
    slide(driver, 40)

    def there():
        names = ("text", "query", "length", "field-sentences")
        has_models(driver)
        return [driver.find_element(By.ID, name).get_property("value") for name in names]

    before = there()
    driver.refresh()
    assert there() == before and before[:2] == [
        "It rained. The bridge was closed.",
        "What was closed?",
    ]
    driver.get(f"http://127.0.0.1:{server.port}/openapi.json")
    driver.back()
    assert there() == before


def test_a_short_text_is_said_to_be_whole(open_page):
    driver = open_page()
    ask(driver, "It rained.")
    assert text_of(driver, "state").startswith("All 2 words: the text is no longer than a summary.")


def test_an_address_is_explained(open_page):
    driver = open_page()
    write(driver, " https://example.org/news?a=$& ")
    assert "this server fetches no pages" in text_of(driver, "hint")
    driver.find_element(By.ID, "send").click()
    said = text_of(driver, "problem")
    assert said.endswith("tfsum summarize https://example.org/news?a=$&")


def test_what_leads_and_what_sends_stays_in_sight(open_page):
    driver = open_page()
    size = {"width": 390, "height": 600, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.find_element(By.ID, "example").click()
    settled(driver, TIMEOUT)
    for place in ("text-title", "source", "query", "source-pane"):
        driver.execute_script(
            "document.getElementById(arguments[0]).scrollIntoView({block: 'end'})", place
        )
        seen = driver.execute_script(
            "return ['text-title', 'edit', 'file', 'send'].map(name => {"
            "const box = document.getElementById(name).getBoundingClientRect();"
            "return box.bottom > 0 && box.top < innerHeight})"
        )
        assert seen == [True] * 4, place


def long_text(size):
    """A text of so many bytes that says no part twice."""
    article = ARTICLE.read_text(encoding="utf-8")
    parts = (f"{article}\n\nThis is part {number} of the text.\n\n" for number in range(9999))
    text = ""
    while len(text) < size:
        text += next(parts)
    return text[:size]


def test_a_long_text_shows_how_far_it_is_and_is_given_up(open_page, server):
    driver = open_page()
    write(driver, long_text(300_000))
    driver.find_element(By.ID, "send").click()
    assert "so far" in text_of(driver, "going-said") and text_of(driver, "cancel") == "Cancel"
    bar = driver.find_element(By.ID, "bar")
    WebDriverWait(driver, TIMEOUT).until(lambda _: 0 < bar.get_property("value") < 1)
    assert " left" in text_of(driver, "going-said") and violations(driver) == []

    webdriver.ActionChains(driver).send_keys(Keys.ESCAPE).perform()
    assert text_of(driver, "state") == "Cancelled." and not bar.is_displayed()
    assert driver.switch_to.active_element.get_attribute("id") == "send"
    texts = server.predictor.long_texts
    WebDriverWait(driver, TIMEOUT).until(lambda _: texts._session is None)  # it is closed
    texts._pool.submit(int).result(TIMEOUT)  # and the thread is free
    ask(driver, "It rained.", seconds=TIMEOUT)
    assert text_of(driver, "answer") == "It rained."


def test_a_long_text_is_answered_before_its_keywords(open_page):
    driver = open_page()
    write(driver, long_text(40_000))
    driver.find_element(By.ID, "send").click()
    WebDriverWait(driver, TIMEOUT).until(lambda page: text_of(page, "answer"))
    assert not driver.find_element(By.ID, "send").is_enabled()
    assert text_of(driver, "keywords") == "The keywords come later…"
    settled(driver, TIMEOUT)
    WebDriverWait(driver, TIMEOUT).until(
        lambda page: len(page.find_elements(By.CSS_SELECTOR, "#keywords button")) == 8
    )


def test_it_offers_the_files_that_the_server_reads(open_page):
    driver = open_page()
    assert "text, HTML, PDF, Word, mail" in text_of(driver, "hint")
    driver.execute_script("document.getElementById('file').accept = '.txt,.docx'; speak()")
    assert "text, Word, mail" in text_of(driver, "hint")


def test_a_phone_has_no_sideways_scrolling(open_page):
    driver = open_page()
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    width = "return document.documentElement.scrollWidth"
    assert driver.execute_script(width) == 390
    driver.find_element(By.ID, "example").click()
    settled(driver)
    assert driver.execute_script(width) == 390 and violations(driver) == []
    switch = driver.find_element(By.ID, "heat-said")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", switch)
    switch.click()
    WebDriverWait(driver, 30).until(
        lambda page: page.find_elements(By.CSS_SELECTOR, "#source .sentence:not(.chosen)")
    )
    first = driver.find_element(By.CSS_SELECTOR, "#source .sentence")
    assert switch.rect["y"] + switch.rect["height"] <= first.rect["y"]
    seen = "return arguments[0].getBoundingClientRect().bottom < innerHeight"
    assert driver.execute_script(seen, first)


def test_the_history_is_in_the_browser_alone(open_page):
    driver = open_page()
    assert not driver.find_element(By.ID, "history-pane").is_displayed()
    for text in ("It rained. The bridge was closed.", "The sun shone. People swam."):
        ask(driver, text, "bert_sum_ext_news_en")
        driver.find_element(By.ID, "edit").click()
    driver.refresh()
    entries = driver.find_elements(By.CSS_SELECTOR, "#history button")
    assert [entry.text for entry in entries] == [
        "The sun shone. People swam.",
        "It rained. The bridge was closed.",
    ]
    has_models(driver)
    entries[1].click()
    settled(driver)
    assert "The bridge was closed." in " ".join(sentences(driver, "answer"))
    driver.find_element(By.ID, "forget").click()
    assert driver.execute_script("return localStorage.length") == 0
    assert not driver.find_element(By.ID, "history-pane").is_displayed()


def test_a_translation_with_its_attention(open_page, others):
    driver = open_page(address=f"http://127.0.0.1:{others.port}/")
    has_models(driver)
    ask(driver, "I am cold.", "transformer_tatoeba_en_fr")
    assert text_of(driver, "answer") == "J'ai froid."
    driver.find_element(By.CSS_SELECTOR, "#details summary").click()
    WebDriverWait(driver, 120).until(lambda page: page.find_elements(By.TAG_NAME, "tbody"))
    looked, considered = driver.find_elements(By.TAG_NAME, "tbody")
    rows = considered.find_elements(By.TAG_NAME, "tr")
    assert "▁Je 0." in rows[0].text and len(looked.find_elements(By.TAG_NAME, "tr")) == len(rows)
    assert text_of(driver, "answer-title") == "Answer" and text_of(driver, "send") == "Send"
    assert not driver.find_element(By.ID, "length").is_displayed() and violations(driver) == []


def test_labels_with_their_probabilities_of_five_megabytes(open_page, others):
    driver = open_page(address=f"http://127.0.0.1:{others.port}/")
    has_models(driver)
    ask(driver, "the city " * 600_000, "alarm", seconds=120)
    rows = [row.text.split() for row in driver.find_elements(By.CSS_SELECTOR, "tbody tr")]
    assert [label for label, _ in rows] == ["calm", "alarm"] and text_of(driver, "answer") in (
        "calm",
        "alarm",
    )
    assert sum(float(share) for _, share in rows) == pytest.approx(1, abs=0.011)
    command = driver.find_element(By.ID, "command").get_property("textContent")
    assert command.startswith("curl -d @request.json ")
    assert (
        "The model read 0% of the text" in text_of(driver, "warnings") and violations(driver) == []
    )


def test_the_keyboard_alone(open_page):
    driver = open_page()
    press = lambda keys: webdriver.ActionChains(driver).send_keys(keys).perform()  # noqa: E731  to what has the focus
    press(Keys.TAB)
    seen = []
    for _ in range(10):
        seen.append(driver.switch_to.active_element.get_attribute("id"))
        if seen[-1] == "text":
            press("It rained. The bridge was closed on Monday.")
        if seen[-1] == "send":
            press(Keys.ENTER)
            break
        press(Keys.TAB)
    # between the model and the button are the other options
    assert seen == ["language", "example", "file", "text", "query", "length", "model", "", "send"]
    settled(driver)
    assert driver.switch_to.active_element.get_attribute("id") == "result"


def test_errors(open_page):
    driver = open_page()
    ask(driver, "   ")
    assert "no text yet" in text_of(driver, "problem") and violations(driver) == []
    ask(driver, "a" * 4_000_001)
    assert "--max-document-bytes" in text_of(driver, "problem")
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


@pytest.fixture
def documents(tmp_path):
    """HTML, a PDF, a Word document, a text in a Korean encoding, and what is no text."""
    docx = pytest.importorskip("docx", reason="needs the extra documents")
    said = "The river rose on Monday and the bridge was closed."
    (tmp_path / "good.html").write_text(
        f"<html><body><article><p>{said}</p></article></body></html>"
    )
    word = docx.Document()
    word.add_paragraph(said)
    word.save(str(tmp_path / "good.docx"))
    (tmp_path / "good.pdf").write_bytes(a_pdf(said))
    (tmp_path / "good.txt").write_bytes(("비가 왔다. " * 20).encode("cp949"))
    (tmp_path / "bad.bin").write_bytes(bytes(range(256)))
    return tmp_path


def a_pdf(text):
    """A PDF of one page with a line of text, as the format's reference describes the smallest."""
    drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj%sendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        data
        + b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (
            table,
            len(data),
        )
    )


def test_files(open_page, documents):
    driver = open_page()
    field = driver.find_element(By.ID, "text")
    for name, expected in (
        ("good.html", "The river rose on Monday"),
        ("good.txt", "비가 왔다."),
        ("good.docx", "The river rose on Monday"),
        ("good.txt", "비가 왔다."),
        ("good.pdf", "The river rose on Monday"),
    ):
        driver.find_element(By.ID, "file").send_keys(str(documents / name))
        WebDriverWait(driver, 30).until(
            lambda _, expected=expected: field.get_attribute("value").startswith(expected)
        )
    driver.find_element(By.ID, "file").send_keys(str(documents / "bad.bin"))
    WebDriverWait(driver, 30).until(lambda page: "bad.bin: is binary" in text_of(page, "problem"))
    assert field.get_attribute("value").startswith("The river rose")  # nothing is lost


# What a browser does with a file that is dragged over a field and dropped; WebDriver has no way to
# drag one in.
DROP = """const data = new DataTransfer();
data.items.add(new File([arguments[2]], arguments[1], {type: "text/plain"}));
const send = (name) => arguments[0].dispatchEvent(
  new DragEvent(name, {dataTransfer: data, bubbles: true, cancelable: true}));
const taken = !send("dragover"), pane = document.getElementById("source-pane"),
  marked = pane.classList.contains("over");
send("drop");
return [taken, marked, pane.classList.contains("over")];"""


def test_a_file_that_is_dropped(open_page):
    driver = open_page()
    field = driver.find_element(By.ID, "text")
    # The browser does not open it in place of the page, and the pane is marked while it is over
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
        has_models(driver)
        ask(driver, "It rained.")
        command = driver.find_element(By.ID, "command").get_property("textContent")
        assert "Authorization: Bearer TOKEN" in command and "secret" not in command

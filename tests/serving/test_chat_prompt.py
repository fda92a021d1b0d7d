"""What chats ask of a summarizer, as programs that people read in send it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfsum.serving.chat_prompt import Prompt, prompt_of
from tfsum.serving.request_error import RequestError

TEXT = "The last ferry stops in March. It ran for 142 years."
# The form of the requests of readers: karakeep (packages/shared/prompts.ts), the extension
# ArticleSummary of FreshRSS (LiangWei88 and win-100), and wallabag's bot (vanadium23).
KARAKEEP = f"""
Summarize the following content responding ONLY with the summary. You MUST follow these rules:
- Summary must be in 3-4 sentences.
- The summary must be in english.
- Today's date is 2026-11-27. Do NOT question dates that are in the past.

    {TEXT}"""
WALLABAG_BOT = """
Your task is to create a concise and informative summary of the given article. Guidelines:
1. The summary should be in English, even if the article is in another language.
2. Keep the summary between 100-200 words.

The summary should be returned as plain text, without any additional formatting or markdown.
"""
KARAKEEP_TAGS = f"""
You are an expert whose responsibility is to help with automatic tagging for a bookmarking app.
Analyze the TEXT_CONTENT below and suggest relevant tags that describe its main ideas. The rules:
- Aim for 3-5 tags.

<TEXT_CONTENT>
{TEXT}
</TEXT_CONTENT>
You must respond in JSON with the key "tags" and the value is an array of string tags."""


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([KARAKEEP], Prompt(TEXT, {"sentences": 4}, False)),
        (["Please summarize this in 100 words.", f"input: \n{TEXT}"], ({"words": 100}, False)),
        (
            ["Summarize briefly.", f"Title: Ferries\nAuthor: A. Holt\n\nContent: {TEXT}"],
            ({}, False),
        ),
        ([WALLABAG_BOT, f"Content of article: {TEXT}"], ({"words": 200}, False)),
        ([f"Summarize: {TEXT}"], ({}, False)),
        ([f"{TEXT}\n\nTL;DR:"], ({}, False)),
        ([f'Summarize the text as two bullet points:\n"""\n{TEXT}\n"""'], ({"sentences": 2}, True)),
        (
            [f"<article>\n{TEXT}\n</article>\nSum up in a single sentence."],
            ({"sentences": 1}, False),
        ),
        ([f"다음 글을 세 문장으로 요약해 주세요.\n\n{TEXT}"], ({"sentences": 3}, False)),
        (
            [f"Fasse in 40 bis 60 Wörtern zusammen. Zusammenfassung:\n{TEXT}"],
            ({"words": 60}, False),
        ),
        (["あなたは要約者です。200字", TEXT], ({"characters": 200}, False)),
        ([f"次の文章を3文で要約してください\uff1a{TEXT}"], ({"sentences": 3}, False)),
    ],
)
def test_the_text_and_its_length(messages, expected):
    roles = ["system", "user"][-len(messages) :]
    found = prompt_of([{"role": r, "content": c} for r, c in zip(roles, messages, strict=True)])
    lengths, bullets = (
        (expected.lengths, expected.bullets) if isinstance(expected, Prompt) else expected
    )
    assert found == Prompt(TEXT, lengths, bullets)


# Requests and the number of sentences that each asks for.
SENTENCES = [
    ("Résume en une phrase :", 1),
    ("Résumez ce texte en deux phrases.", 2),
    ("Resume el texto en una frase:", 1),
    ("Resume el siguiente texto en tres oraciones:", 3),
    ("Riassumi in una frase:", 1),
    ("Riassumi il testo in due frasi.", 2),
    ("请用一句话总结：", 1),
    ("用三句话概括下面的文章。", 3),
    ("请用两个句子总结", 2),
    ("一文で要約してください：", 1),
    ("2文で要約してください。", 2),
    ("Fasse den Text in einem Satz zusammen:", 1),
    ("Bitte fasse diesen Text zusammen.", None),
    ("Kurzfassung in einem Satz:", 1),
    ("Fasse den folgenden Artikel in drei Sätzen zusammen.", 3),
    ("Resuma o texto em uma frase:", 1),
    ("Resuma em duas frases.", 2),
    ("Vat deze tekst samen in één zin.", 1),
    ("Vat samen in drie zinnen:", 3),
    ("Streść... streszczenie w dwóch zdaniach:", 2),
    ("Podsumuj w trzech zdaniach:", 3),
    ("Shrň text jednou větou.", 1),
    ("Shrň text ve dvou větách:", 2),
    ("Sammanfatta texten i en mening:", 1),
    ("Sammanfatta i två meningar.", 2),
    ("Oppsummer teksten i tre setninger.", 3),
    ("Opsummer teksten i to sætninger.", 2),
    ("Tiivistä teksti yhteen lauseeseen.", 1),
    ("Tiivistä kahdessa lauseessa.", 2),
    ("Foglald össze egy mondatban:", 1),
    ("Rezumă textul într-o propoziție.", 1),
    ("Rezumă în două propoziții.", 2),
    ("Кратко изложи текст в двух предложениях:", 2),
    ("Сделай краткое изложение в одном предложении.", 1),
    ("Стисло перекажи у трьох реченнях:", 3),
    ("Обобщи в едно изречение:", 1),
    ("Κάνε περίληψη σε δύο προτάσεις:", 2),
    ("Metni bir cümleyle özetle:", 1),
    ("Metni üç cümlede özetle.", 3),
    ("Ringkas teks ini dalam dua kalimat:", 2),
    ("Tóm tắt trong một câu:", 1),
    ("Tóm tắt văn bản trong ba câu.", 3),
    ("لخص النص في جملتين:", 2),
    ("لخص في جملة واحدة.", 1),
    ("סכם את הטקסט במשפט אחד:", 1),
    ("סכם בשני משפטים.", 2),
    ("متن را در دو جمله خلاصه کن:", 2),
    ("दो वाक्यों में सारांश दें:", 2),
    ("สรุปข้อความนี้ในสองประโยค", 2),
    ("สรุปใน 3 ประโยค", 3),
    ("Summarize in 3 to 4 sentences.", 4),
    ("Try to use sentences to summarize.", None),
    ("Summarize it in three short sentences:", 3),
    ("세 문장으로 요약해 줘", 3),
    ("한 문장으로 요약:", 1),
    ("Résume en courtes phrases.", None),
    ("Summarize the article. Limit yourself to sentences from it.", None),
    ("Summarize the text in a few sentences.", None),
]


@pytest.mark.parametrize(("asked", "number"), SENTENCES)
def test_a_number_of_sentences_in_many_languages(asked, number):
    found = prompt_of([{"role": "user", "content": f"{asked}\n\n{TEXT}"}])
    assert (found.text, found.lengths.get("sentences")) == (TEXT, number)


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        ("Summarize what this says about the cost of a ferry:", "the cost of a ferry"),
        ("Summarize the article, focusing on the sheep.", "the sheep"),
        ("비용을 중심으로 세 문장으로 요약해 주세요.", "비용"),
        ("페리의 비용에 대해 요약해 주세요.", "페리의 비용"),
        ("Write a summary of about 100 words.", None),
        ("Summarize in about three sentences.", None),
    ],
)
def test_what_a_summary_is_to_be_about(asked, query):
    assert prompt_of([{"role": "user", "content": f"{asked}\n\n{TEXT}"}]).query == query


def test_a_text_that_speaks_of_summaries_is_whole_where_the_system_asks():
    text = "The summary of the report was short. It rained."
    found = prompt_of(
        [{"role": "system", "content": "Summarize."}, {"role": "user", "content": text}]
    )
    assert found.text == text


def test_what_only_looks_like_a_label_is_text():
    text = "Title: Ferries\n\nArticle IV: They stop in March.\nContent: none."
    found = prompt_of(
        [{"role": "system", "content": "Summarize."}, {"role": "user", "content": text}]
    )
    assert found.text == text


def test_what_the_user_asks_counts_before_a_long_system_message():
    system = {"role": "system", "content": "Use 9 sentences. " + "Be kind. " * 9000}
    found = prompt_of([system, {"role": "user", "content": f"{TEXT}\n\nSum up in 2 sentences."}])
    assert (found.text, found.lengths) == (TEXT, {"sentences": 2})


def test_the_last_message_of_the_user_and_parts_of_text():
    messages = [
        {"role": "user", "content": "Summarize: It snowed."},
        {"role": "assistant", "content": "It snowed."},
        {"role": "user", "content": [{"type": "text", "text": f"Summarize: {TEXT}"}]},
    ]
    assert prompt_of(messages).text == TEXT


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([("user", KARAKEEP_TAGS)], "this server summarizes texts, and does nothing else"),
        ([("user", "What is the capital of France?")], "summarizes texts, and does nothing else"),
        ([("system", "Translate into French."), ("user", TEXT)], "does nothing else"),
        ([("system", "Summarize.")], "none of the messages is the user's"),
        ([("system", "Summarize."), ("user", "  \n")], "holds no text"),
        ([("user", None)], "expected a text as content"),
        ([("user", [{"type": "image_url", "image_url": {"url": "x"}}])], "parts of the type text"),
    ],
)
def test_anything_else_is_refused(messages, reason):
    with pytest.raises(RequestError, match=reason):
        prompt_of([{"role": role, "content": content} for role, content in messages])


WORDS = [
    "Summarize",
    "in",
    "two",
    "sentences",
    ":",
    "\n",
    "요약",
    "3",
    "-",
    "4",
    "about",
    "#",
    "文",
]


@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=3)).map(" ".join))
def test_any_prompt_is_read_or_refused(asked):
    try:
        found = prompt_of([{"role": "user", "content": asked}])
    except RequestError as error:
        assert re.search("summarizes texts|holds no text", error.message)
    else:
        assert found.text in asked and all(number >= 1 for number in found.lengths.values())

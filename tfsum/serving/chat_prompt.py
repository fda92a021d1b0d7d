"""What a program that knows language models asks of a summarizer: the text, and how long."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

from tfsum.serving.request_error import require

LONGEST_LINE = 600  # characters of a line that tells what to do with the text
MOST_ASKED = 20_000  # characters of all that is looked at
# words of requests for a summary; a language's words by their beginnings
SUMMARY = re.compile(
    r"summar|\bsum (?:it )?up|synops|\btl;?dr|\bcondens|\bshorten|(?:key|main) points|\bgist\b"
    r"|요약|간추|줄여"
    r"|résum|\bresum|sintetiz|riassu|zusammenf|kurzfass|\bfass\w* .{0,300}\bzusammen\b|samenvat"
    r"|\bvat .{0,300}\bsamen\b|sammanfatt|sammenfat|sammendrag|opp?summer|referér|tiivist"
    r"|foglal\w* össze|streszcz|podsum|rezum|shr[nň]|összefogl|\bözet|περίληψ|резюм|кратк|стисл"
    r"|обобщ|要約|まとめ|摘要|总结|總結|概括|tóm tắt|ringkas|สรุป|संक्षे|सारांश"
    r"|ملخص|لخص|خلاصه|תקציר|סכם",
    re.IGNORECASE,
)
# lines that stand around a text: a tag, quotes, a rule, a heading such as "Article:"
MARK = re.compile(r"<[/!]?\w[^<>]{0,60}>|[`\"'=*_#~-]{3,}\w*|[^.!?。]{1,200}[:\uff1a]")
# what a program says of a text before it: "Title: ...", "Content of article: ..."
LABELS = re.compile(
    r"\A(?:(?:title|author|url|source|date)[:\uff1a][^\n]*\n+)*"
    r"(?:content|article|text|body)(?: of (?:the )?\w+)?[:\uff1a]\s",
    re.IGNORECASE,
)
RULE = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s")  # of a list of what to do
BEFORE_TEXT = re.compile(
    r"(?P<asked>[^:\uff1a\n]{1,300}(?::\s|\uff1a))\s*(?P<text>\S.*)", re.DOTALL
)
BULLETS = re.compile(
    r"bullet|itemi[sz]ed|글머리|목록|불릿|箇条書き|要点列表|puces|stichpunkt", re.I
)

# One, two ... ten, as they stand before the nouns below, in some thirty languages.
NUMBERS = [
    r"one|a single|한|une?|una|uno|uma?|ein(?:en|em|er|e)?|een|één|é[nt]|jedn\w+|yh[dt]e\w+|egy|bir"
    r"|tek|satu|một|одн\w+|един|една|едно|μία|μια|一|یک|एक|หนึ่ง",
    r"two|두|deux|dos|due|dois|duas|zwei|twee|två|dwóch|dwa|dwie|dv\w+|kah[dt]e\w+|két|două|дв\w+"
    r"|δύο|iki|dua|hai|两|兩|二|دو|दो|สอง|ב?שני|ב?שתי",
    r"three|세|trois|tres|três|tre|drei|drie|trzech|trzy|tř\w+|kolm\w+|három|trei|тр[иёех]\w*"
    r"|трьох|τρεις|τρία|üç|tiga|ba|三|سه|तीन|สาม|ב?שלושה|ב?שלוש|ثلاث",
    r"four|네|quatre|cuatro|quattro|quatro|vier|fyra|fire|czterech|cztery|čtyř\w+|neljä\w+|négy"
    r"|patru|чет[иы]р\w+|чотир\w+|τέσσερις|dört|empat|bốn|四|چهار|चार|สี่|ב?ארבע|أربع",
    r"five|다섯|cinq|cinco|cinque|fünf|vijf|fem|pięciu|pięć|pět\w*|vii[dt]e\w+|öt|cinci|п'?ят\w+"
    r"|пет|πέντε|beş|lima|năm|五|پنج|पाँच|पांच|ห้า|ב?חמש|خمس",
    "six|여섯|sechs|六",
    "seven|일곱|sieben|七",
    "eight|여덟|acht|八",
    "nine|아홉|neun|九",
    "ten|열|zehn|十",
]
# where a number is short, stands after its noun, or in it
PHRASES = {
    **{f"en {noun}": f"1 {noun}" for noun in ("mening", "setning", "sætning")},
    **{f"to {noun}": f"2 {noun}" for noun in ("setning", "sætning")},
    **{f"o {noun}": f"1 {noun}" for noun in ("propozi", "fraz")},
    "جملة واحدة": "1 جملة",
    "جملتين": "2 جملة",
    "משפט אחד": "1 משפט",
    "ประโยคเดียว": "1 ประโยค",
}
# scripts without spaces have no `\b` before a number
NUMBER = (
    r"(?:\b|(?=[\d一二两兩三四五六七八九十]|หนึ่ง|สอง|สาม|สี่|ห้า))"
    rf"(\d{{1,5}}|{'|'.join(NUMBERS)})"
)
# Field of a request -> how its number is asked for; of a range, such as 3-4, the larger one.
LENGTHS = {
    name: re.compile(
        rf"(?:{NUMBER}\s*(?:-|–|~|to|or|bis|à|에서)\s*)?{NUMBER}[\s-]*(?:\w{{1,20}} )?(?:{units})",
        re.IGNORECASE,
    )
    for name, units in {
        "sentences": "sentence|bullet|(?:key |main )?points?|문장|줄|phrases?|frase|oraci|oraç|satz"
        r"|sätze|frasi|zin(?:nen)?\b|mening|setning|sætning|zdani|zdań|vět|lause|virkkee|mondat"
        "|propozi|fraz|предложени|речен|изречени|πρότασ|προτάσ|cümle|kalimat|câu|[个個]?句|つの文"
        "|文(?!字)|ประโยค|वाक्य|جمل|משפט",
        "words": r"words?|단어|mots?\b|palabras?|wörter|worte?n?\b|parol[ae]|palavras?|woorden|słów"
        r"|slov|ord\b|sana|szó|cuvinte|слов|слів|думи|λέξ|kelime|kata\b|từ\b|个?词|単語|คำ|शब्द|كلم"
        "|کلمه|מיל",
        "characters": r"characters?|letters|글자|자\b|[个個]?文?字|caract|zeichen|znak|символ|знак",
    }.items()
}
# What the summary is to be about.
ABOUT = re.compile(
    r"\b(?:about|focus(?:ing|ed)? on|regarding|concerning)\s+(?P<english>[^.:\n]{3,200})"
    r"|(?P<korean>[^.:\n]{2,100}?)(?:에 대해|에 관해|에 대한 |[을를] 중심으로)",
    re.IGNORECASE,
)


@dataclasses.dataclass(frozen=True)
class Prompt:
    """What is asked of a text.

    Attributes:
        text: The text.
        lengths: Fields of a `SummaryRequest` that say how long its summary is to be.
        bullets: Whether each sentence is to stand in a line of its own.
        query: What the summary is to be about.

    Example:
        >>> Prompt("It rained.", {"sentences": 1}, bullets=False).text
        'It rained.'
    """

    text: str
    lengths: Mapping[str, int]
    bullets: bool
    query: str | None = None


def prompt_of(messages: Sequence[Mapping[str, object]]) -> Prompt:
    """Reads the messages of a chat: the text is that of the last one of the user.

    Lines before and after it that ask for a summary, and what stands between them and the text, are
    not part of it.

    Args:
        messages: Messages with `role` and `content`, as OpenAI's API has them.

    Raises:
        RequestError: Messages are of another form, or ask for something else than a summary.

    Example:
        >>> asked = "Summarize the article in two sentences.\\n\\nIt rained. It snowed. It froze."
        >>> found = prompt_of([{"role": "user", "content": asked}])
        >>> found.text, found.lengths
        ('It rained. It snowed. It froze.', {'sentences': 2})
    """
    contents = [(str(message.get("role")), _text_of(message)) for message in messages]
    users = [text for role, text in contents if role == "user"]
    require(users, "none of the messages is the user's; expected one whose content is the text")

    system = [text for role, text in contents if role in ("system", "developer")]
    before, text, after = _parted(users[-1], bool(SUMMARY.search("\n".join(system))))
    # what the user asks comes first, and is not cut behind a long system message
    asked = "\n".join((before, after, *system))[:MOST_ASKED]
    require(
        SUMMARY.search(asked),
        "this server summarizes texts, and does nothing else of what a language model does; say"
        ' "Summarize" before the text or in the system message',
    )
    require(text, "the last message of the user holds no text beside what is asked of it")

    for phrase, number in PHRASES.items():
        asked = asked.replace(phrase, number)
    found = {name: pattern.search(asked) for name, pattern in LENGTHS.items()}
    lengths = {name: _number(match[2]) for name, match in found.items() if match}
    return Prompt(text, lengths, bool(BULLETS.search(asked)), _query_of("\n".join((before, after))))


def _text_of(message: Mapping[str, object]) -> str:
    """The text of a message, whose content is a text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    require(
        texts and all(isinstance(text, str) for text in texts),
        "a message: expected a text as content, or parts of the type text alone",
    )
    return "\n".join(map(str, texts))


def _parted(content: str, is_asked: bool) -> tuple[str, str, str]:
    """What is asked before a text, the text, and what is asked after it; `is_asked` says that the
    system message asks for a summary, so that a line that speaks of one belongs to the text."""
    lines = content.strip("\n").split("\n")
    first, last = 0, len(lines)
    while first < last and _is_apart(lines[first], is_asked, first > 0):
        first += 1
    while last > first and _is_apart(lines[last - 1], is_asked, False):
        last -= 1

    before, text = "\n".join(lines[:first]), "\n".join(lines[first:last]).strip()
    in_line = BEFORE_TEXT.fullmatch(text)
    if not first and in_line and SUMMARY.search(in_line["asked"]):
        before, text = in_line["asked"], in_line["text"]
    return before, LABELS.sub("", text), "\n".join(lines[last:])


def _is_apart(line: str, is_asked: bool, in_list: bool) -> bool:
    """Whether a line at an end of a message is not part of the text; `in_list` says that the one
    before it was not."""
    if not line.strip() or MARK.fullmatch(line.strip()):
        return True
    if in_list and RULE.match(line):
        return len(line) <= LONGEST_LINE
    if is_asked or len(line) > LONGEST_LINE or not SUMMARY.search(line):
        return False
    return not BEFORE_TEXT.fullmatch(line.strip())


def _query_of(asked: str) -> str | None:
    """What a summary is to be about; a length, as in "about 100 words", is none."""
    about = ABOUT.search(asked)
    query = about and (about["english"] or about["korean"]).strip()
    if not query or any(pattern.match(query) for pattern in LENGTHS.values()):
        return None
    return query


def _number(word: str) -> int:
    if word.isdigit():
        return max(1, int(word))
    words = (re.fullmatch(words, word, re.IGNORECASE) for words in NUMBERS)
    return 1 + next(number for number, found in enumerate(words) if found)

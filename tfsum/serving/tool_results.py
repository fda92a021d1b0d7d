"""What is said of a long result of a tool: the sentences that have to do with its question, each
run of them with its place in the whole."""

import re
from collections.abc import Mapping, Sequence

from mcp.types import CallToolResult, TextContent

from tfsum.request import SummaryAnswer, SummaryRequest, sentence_of
from tfsum.serving.documents import URI, ReadDocument
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer

# Words in which the names of the arguments end that hold a question.
ASKS = {"query", "question", "search", "prompt", "topic", "goal", "keyword", "keywords", "q"}
# Share of a text in lines of plain words; settings and listings have less. Of its lines, code has
# more than this share in such as only code has; texts about code have 0.19 at most.
PROSE, CODE_LINES = 0.4, 0.2
PLAIN = 0.8  # share of such a line in plain words
LINE = 20  # characters of its words at least
LINK = re.compile(
    r"\]\((?:[^()\s]|\([^()\s]*\))*(?:\s\"[^\"]*\")?\)"
)  # the target of a link of Markdown
# Blocks of code and rows of tables in Markdown, and code in a line.
BLOCK = re.compile(r"^(```|~~~).*?^\1[^\n]*$|^[ \t]*\|[^\n]*\|[ \t]*$", re.M | re.S)
SPAN = re.compile(r"`[^`\n]+`")
# A line of code, without the white space around it.
CODE = re.compile(
    "|".join(
        (
            r"[\w.\[\]\"'-]+\s*[:+*/-]?=\s?\S.*",  # an assignment
            r".*[{}(\[\];]",  # what goes on in the next line, or ends
            r".*\w\([^\s()]*\)+:?",  # a call
            r"(?:/[/*]|[@#]\w|\"\"\").*",  # a comment, a decorator, a docstring
            r"(?:class|def|else|for|from|if|import|raise|return|try|while|with)\b[^.]*:?",
        )
    )
)
MARKS = "[]*_\"'“”‘’.,;:!?()"  # around a word
WORD = re.compile(r"(?:[^\W\d_]|[^\w\s!-~]|(?<=\w)[-'/](?=\w))+")


def question_of(arguments: Mapping[str, object] | None) -> str | None:
    """The question that the arguments of a tool hold; None where there is none.

    Args:
        arguments: Arguments by name.

    Example:
        >>> question_of({"url": "https://example.org", "searchQuery": "cost of the bridge"})
        'cost of the bridge'
    """
    asked = []
    for name, value in (arguments or {}).items():
        last = re.findall("[A-Za-z][a-z]*", name)[-1:]  # of `searchQuery` and `search_query`
        if ASKS & {word.lower() for word in last} and isinstance(value, str):
            asked.append(value)
    return " ".join(asked).strip() or None


def texts_of(result: CallToolResult) -> dict[int, str]:
    """The texts of a result, without what is structured: data, code, errors.

    Args:
        result: Result of a tool.

    Returns:
        Number of a part of the content -> its text.

    Example:
        >>> content = [TextContent(text="It rained all night long."), TextContent(text="{}")]
        >>> texts_of(CallToolResult(content=content))
        {0: 'It rained all night long.'}
    """
    texts = {
        number: part.text
        for number, part in enumerate(result.content)
        if isinstance(part, TextContent) and is_prose(part.text)
    }
    data = result.structured_content
    if result.is_error or (data is not None and wrapped_name(result) is None):
        return {}
    return texts


def is_prose(text: str) -> bool:
    """Whether a text is made of sentences: not of data, code, or a listing.

    Args:
        text: A text.

    Example:
        >>> is_prose(
        ...     "It rained all night.\\n\\nThe bridge was [closed](https://a.org/?b=1) on Monday."
        ... )
        True
        >>> is_prose("[{'text': 'The bridge was closed on Monday.'}]")
        False
        >>> is_prose("for name in names:\\n    print(name, file=sys.stderr)")
        False
        >>> is_prose("The bridge is closed with:\\n\\n```\\nbridge --close\\n```\\n")
        True
    """
    if re.fullmatch(r"(?s)\s*(\{.*\}|\[.*\])\s*", text):
        return False
    marked = SPAN.sub("code", LINK.sub("]", BLOCK.sub("", text)))
    lines = [*filter(None, map(str.strip, marked.splitlines()))]

    if sum(bool(CODE.fullmatch(line)) for line in lines) >= CODE_LINES * len(lines):
        return False
    size = plain = 0
    for line in lines:
        words = line.split()
        length = sum(map(len, words))
        known = sum(len(word) for word in words if WORD.fullmatch(word.strip(MARKS)))
        size += length
        if length >= LINE and known >= PLAIN * length:
            plain += length
    return plain >= PROSE * max(size, 1)


def wrapped_name(result: CallToolResult) -> str | None:
    """The name under which structured content has the one text of the content again.

    Args:
        result: Result of a tool.

    Example:
        >>> content = [TextContent(text="It rained.")]
        >>> wrapped_name(
        ...     CallToolResult(content=content, structured_content={"result": "It rained."})
        ... )
        'result'
    """
    data = result.structured_content
    texts = [part.text for part in result.content if isinstance(part, TextContent)]
    if isinstance(data, dict) and len(texts) == 1 and list(data.values()) == texts:
        return next(iter(data))
    return None


def rooms_of(sizes: Mapping[int, int], most: int) -> dict[int, int]:
    """Divides room among parts: the small ones have what they need, the others equal shares.

    Args:
        sizes: Number of a part -> its size.
        most: Room of all.

    Returns:
        Number of a part -> its room.

    Example:
        >>> rooms_of({0: 10, 1: 500, 2: 90}, 200)
        {0: 10, 2: 90, 1: 100}
    """
    rooms = {}
    for left, number in enumerate(sorted(sizes, key=sizes.__getitem__), -len(sizes)):
        rooms[number] = min(sizes[number], most // -left)
        most -= rooms[number]
    return rooms


def parts_of(text: str, offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins sentences between which there is nothing else.

    Args:
        text: The text.
        offsets: (start, end) of each sentence, in the order of the text.

    Returns:
        (start, end) of each part of the text.

    Example:
        >>> parts_of("It rained. It snowed. It rained.", [(0, 10), (11, 21)])
        [(0, 21)]
    """
    parts: list[tuple[int, int]] = []
    for start, end in offsets:
        if parts and not text[parts[-1][1] : start].strip():
            start, _ = parts.pop()
        parts.append((start, end))
    return parts


def excerpt(text: str, answer: SummaryAnswer) -> str:
    """The parts of a text that were chosen, each after its place.

    Args:
        text: The text.
        answer: The sentences that were chosen.

    Example:
        >>> answer = SummaryAnswer("It snowed.", ["It snowed."], [0.9], [(11, 21)], 1.0, [])
        >>> excerpt("It rained. It snowed.", answer)
        '[11-21] It snowed.'
    """
    return "\n".join(
        f"[{start}-{end}] {text[start:end]}" for start, end in parts_of(text, answer.offsets)
    )


def fitted(
    model: Summarizer, document: ReadDocument, room: int, question: str | None, notice: str
) -> str:
    """What is said of a text in a number of tokens: what of it, and where the rest is.

    Args:
        model: The model.
        document: The text.
        room: Number of tokens.
        question: What is asked of it.
        notice: Result of `notice_of`.

    Returns:
        The parts that were chosen, after a line that says so.
    """
    tokens = room
    while True:
        answer = document.answer(model, SummaryRequest(tokens=tokens, query=question, fill=True))
        notes = "".join(f" Note: {sentence_of(warning)}." for warning in answer.warnings)
        said = f"[{notice}{notes}]\n{excerpt(document.text, answer)}"
        over = model.count_tokens(said) - room
        if over <= 0 or len(answer.sentences) == 1:
            return said
        tokens = max(1, tokens - over)


def notice_of(
    whole: ReadDocument, tokens: int, question: str | None, read: int, tools: Sequence[str]
) -> str:
    """What is said of a text that was shortened.

    Args:
        whole: The text.
        tokens: Number of its tokens.
        question: What was asked of it.
        read: Number of its characters that the model read.
        tools: Names of the tools that take its id; none where it is not kept.

    Example:
        >>> notice_of(ReadDocument("It rained."), 3, None, 10, []).partition(".")[0]
        'Shortened by tfsum from about 3 tokens'
    """
    by = f", by the question {question!r}" if question else ""
    where = "too large to be kept (--document-cache)"
    if tools:
        named = " and ".join(f"`{name}`" for name in tools)
        where = f'the resource {URI}{whole.id}; {named} of tfsum take it as document="{whole.id}"'
    notice = (
        f"Shortened by tfsum from about {tokens} tokens{by}. Each part follows its"
        " [start-end] in characters of the whole; what is between them was left out. The whole is"
        f" {where}."
    )
    if read < len(whole.text):
        notice += f" Only its first {read} characters were read."
    return notice

r"""Sentence boundaries inside the graph: byte-exact, linear in the text, of core TensorFlow ops alone.

The way (our own, measured against the English Golden Rules): 1-byte marks are written into the text where a
sentence may begin, a fixed sequence of regular-expression replacements withdraws those that are none, and
the text is split at the marks that stay. A mark is no byte of a piece, so the lengths of the pieces are the
text's own and their running sum gives the offsets. RE2 has neither look-ahead nor overlapping matches; the
mark itself is the anchor that replaces both. In RE2 `\b \w \s` know ASCII only, hence `SPACE`.
"""

import tensorflow as tf

from tfsum.errors import Error
from tfsum.text.repeat import repeat

BEGIN, MAYBE = "\x01", "\x02"  # marks: a sentence begins here; it does if a frequent first word follows
STAND_IN = "\x03"  # replaces the mark bytes that the text itself holds, while boundaries are looked for
SPACE = r"[\s\x0b\x{85}\p{Z}]"
BLANK = r"[\p{Zs}\t]"
END = r"[.!?…‽⁇⁈⁉]"  # these need white space after them, the next two do not
CJK_END = r"[。！？｡]"
SCRIPT_END = r"[؟۔।॥።။។։]"  # Arabic, Urdu, Devanagari, Ethiopic, Burmese, Khmer, Armenian
CLOSE = r"""(?:["'”’»)\]」』》〉】）］]|\[[0-9, ]{1,12}\])"""  # [12] is a note
OPEN = r"""["'“‘«‹„(\[「『《〈【（［]"""
CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
BULLET = r"[•⁃◦▪‣●]"
START = rf"(?:^|[\n{BEGIN}])"

TITLES = (  # never the end of a sentence
    r"Mr|Mrs|Ms|Mx|Messrs|Dr|Drs|Prof|Gen|Maj|Col|Lt|Capt|Cpl|Sgt|Pvt|Pfc|Spc|Cmdr|Adm|Brig|Sen|Sens|Rep|Reps|"
    r"Gov|Govs|Pres|Supt|Det|Insp|Rev|Fr|Hon|Amb|Atty|Asst|Assoc|Mt|Ft|Sra|Srta|Dra|Mme|Mlle|vs|v|cf|viz|"
    r"[ei]\.[eg]|z\.B|d\.h|bzw"
)
OTHER_TITLES = r"[\p{Cyrillic}\p{Greek}\p{Arabic}]|डॉ|प्रो|श्री"  # initials and titles of other scripts
NUMBERED = (
    r"[Nn]os?|N°|[Pp]{1,2}|[Ff]igs?|[Vv]ols?|[Cc]h|[Cc]hap|[Aa]rts?|[Ss]ecs?|[Pp]ts?|[Ee]q|[Nn]r|c|ca|"
    r"approx|[Tt]el|[Ee]xt"
)
ROMAN_NUMBERED = r"[Pp]p?|[Ff]ig|[Vv]ol|[Cc]h|[Cc]hap|[Aa]rt|[Ss]ec|[Pp]t|[Bb]k"
MONTH_ABBREVIATIONS = r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
COMPANIES_AND_PLACES = r"Co|Inc|Corp|Ltd|Bros|Cos|Jr|Sr|Esq|St|Ste|Ave|Blvd|Rd|Dept|Univ|Assn|Mfg"
AMBIGUOUS = (  # the end of a sentence only before a frequent first word
    rf"{COMPANIES_AND_PLACES}|co|al|{MONTH_ABBREVIATIONS}|Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Ala|Ariz|Ark|Calif|"
    r"Colo|Conn|Del|Fla|Ga|Ill|Ind|Kan|Ky|La|Mass|Md|Mich|Minn|Miss|Mo|Mont|Neb|Nev|Okla|Ore|Pa|Penn|Tenn|Tex|"
    r"Va|Vt|Wash|Wis|Wyo|Ph\.D|Ed\.D|[MB]\.Sc|[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]"
)
NAMES_WITH_MARK = r"Yahoo|Jeopardy|E"  # the exclamation mark is part of the name
LETTERED = (  # what a single letter names, so that it is no initial
    r"[Vv]itamin|[Hh]epatitis|[Pp]lan|[Tt]ype|[Cc]lass|[Gg]rade|[Gg]roup|[Ss]chedule|[Aa]ppendix|[Ee]xhibit|War"
)
FREQUENT = (  # first words that hardly ever go on with a name
    r"The|A|An|It|He|She|They|We|I|You|This|That|These|Those|There|Here|But|And|Or|Nor|So|Yet|If|In|On|At|As|By|"
    r"For|From|With|Without|To|Of|When|While|What|Where|Who|Whose|Which|Why|How|Whether|Is|Are|Was|Were|Be|Do|"
    r"Does|Did|Has|Have|Had|Can|Could|Would|Should|Must|Might|Please|Let|His|Her|Its|Their|Our|My|Your|One|Two|"
    r"Three|Some|Many|Most|Much|More|All|Any|No|Not|None|Nothing|Now|Then|After|Before|Since|Until|During|"
    r"However|Although|Though|Because|Even|Also|Still|Once|Only|Just|Such|Each|Every|Both|Either|Neither|Another|"
    r"Other|Others|About|Between|Through|Among|According|Meanwhile|Later|Earlier|Instead|Despite|Like|Nobody|"
    r"Everyone|Everybody|Someone|Something|Several|Few|Again|Perhaps|Maybe|Yes|Today|Yesterday|Tomorrow|Too|"
    r"Thus|Therefore|Moreover|Furthermore|Additionally|Back|Well"
)
GERMAN_MONTHS = r"Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
AFTER_HOUR = (
    r"[A-Z]{2,5}\b|Eastern|Central|Pacific|Mountain|Greenwich|Local|Mon|Tue|Wed|Thu|Fri|Sat|Sun|May|June|July|"
    + MONTH_ABBREVIATIONS
)
PARTICLES = (  # after a closing quote these go on with the sentence; でも, だから, もう begin one
    r"と[^てこにきり]|って|とか|という|的|を|が[^、]|の|は[^いっじ]|も[^うしっち]|に[^わ]|"
    r"で[^もはす]|など|や[^がっは]|です|だ[^がかっ]"
)
SAID = r"\p{Han}{1,6}(?:说|問|问|說|道|答|喊|叫|称|稱|表示)[，。！,]"

PROPOSE = (
    (rf"({END}+(?:{CLOSE}|[“‘«])*{SPACE}+)", rf"\1{BEGIN}"),  # German closes with “ and «
    (rf"((?:{CJK_END}+{CLOSE}*)+{BLANK}*)", rf"\1{BEGIN}"),
    (rf"((?:{SCRIPT_END}[؟!?]*{CLOSE}*)+{SPACE}*)", rf"\1{BEGIN}"),
    (rf"({CJK}[!?]+{CLOSE}*)({OPEN}*{CJK})", rf"\1{BEGIN}\2"),
    # the space was forgotten; a straight quote that touches the full stop closes
    (r"((?:다|요|까|죠|음|함|임)\.|\p{Hangul}[!?]+)([“‘「『(]?\p{Hangul})", rf"\1{BEGIN}\2"),
    (rf"([a-z]{{2}}[.?!][\"”]?)((?:{FREQUENT}) )", rf"\1{BEGIN}\2"),
    (r"([.!?…][”»]+)([“«„])", rf"\1{BEGIN}\2"),
    (rf"({CJK}．{CLOSE}*)([^\d])", rf"\1{BEGIN}\2"),
    (rf"{BEGIN}((?:''|[”)\]»]+)(?:{SPACE}+|$))", rf"\1{BEGIN}"),  # a closing mark set apart
    (rf"{BEGIN}+$", ""),
)
WITHDRAW = (
    (rf"([」』”’\"]{BLANK}*){BEGIN}({PARTICLES}|{SAID})", r"\1\2"),
    (rf"([》〉】]){BEGIN}({CJK})", r"\1\2"),
    (rf"([^。！？｡\s{BEGIN}]（[^（）{BEGIN}]{{0,80}}）){BEGIN}", r"\1"),  # a remark（like this。）inside
    (rf"{BEGIN}([のを][\p{{Han}}\p{{Katakana}}])", r"\1"),  # a name, モーニング娘。の: no sentence begins so
    (rf"((?:\.\.\.+|…+){SPACE}+){BEGIN}([\p{{Arabic}}\p{{Hebrew}}])", r"\1\2"),  # no case: it mostly goes on
    (rf"{BEGIN}([,;:%&、，；：])", r"\1"),
    (rf"{BEGIN}(\.(?:{SPACE}|{CLOSE}|$))", r"\1"),  # of spaced dots only the last ends
    (rf"([^\s.{BEGIN}]\.{BLANK})(\.{BLANK}\.{BLANK}\.{BLANK}){BEGIN}", rf"\1{BEGIN}\2"),  # word. | . . .
    (rf"([^\s.{BEGIN}]{SPACE}\.{SPACE}\.{SPACE}\.{SPACE}+){BEGIN}", r"\1"),  # word . . . Next
    (rf"([\[(](?:\.\.\.|…)[\])]{CLOSE}*{SPACE}+){BEGIN}", r"\1"),  # [...]
    (rf"(\b(?:{TITLES})\.{SPACE}+){BEGIN}", r"\1"),
    *((rf"((?:^|[^\p{{L}}\p{{M}}])(?:{OTHER_TITLES})\.{SPACE}+){BEGIN}", r"\1"),) * 2,  # they may touch
    (rf"((?:^|[^\p{{L}}\p{{N}}])(?:{NUMBERED})\.{SPACE}*){BEGIN}(\d)", r"\1\2"),
    (rf"(\d{SPACE}?(?:ft|in|lbs?|oz|min|hrs?|h|sec|sq|km|cm|kg)\.{SPACE}){BEGIN}(\d)", r"\1\2"),
    (rf"(\b(?:{ROMAN_NUMBERED})\.{SPACE}*){BEGIN}([IVXLC]+\b)", r"\1\2"),
    # 2024. 3. 15.
    (rf"(\b\d{{4}}\.{SPACE}){BEGIN}(\d{{1,2}}\.{SPACE}){BEGIN}(\d{{1,2}}\.{SPACE}*){BEGIN}?", r"\1\2\3"),
    (rf"(\b\d{{1,2}}\.{SPACE}){BEGIN}({GERMAN_MONTHS})", r"\1\2"),
)
# A lower-case letter goes on with the sentence, but iPhone may begin one.
LOWER_CASE_NEXT = ((rf"({SPACE}){BEGIN}((?:{OPEN}|[-–—]+{SPACE}*)*\p{{Ll}}(?:[^\p{{Lu}}]|$))", r"\1\2"),)
NO_CAPITALS = r"[^\p{Lu}]*\p{Ll}[^\p{Lu}]*"  # a text in lower case all through, where case tells nothing
LOWER_CASE_TEXT = (
    (rf"((?:{CLOSE}|\.\.|…){SPACE}+){BEGIN}({OPEN}*\p{{Ll}})", r"\1\2"),
    (rf"((?i)\b(?:{TITLES})\.{SPACE}+){BEGIN}", r"\1"),
    (rf"((?i)\b(?:{COMPANIES_AND_PLACES}|{MONTH_ABBREVIATIONS}|[a-z]|(?:[a-z]\.)+[a-z])\.{SPACE}+){BEGIN}",
     rf"\1{MAYBE}"),
    (rf"{MAYBE}({OPEN}*(?i:{FREQUENT})(?:[,'’]|{SPACE}|$))", rf"{BEGIN}\1"),
    (MAYBE, ""),
)
DECIDE = (
    (rf"(\b[AaPp]\.[Mm]\.{SPACE}+){BEGIN}({AFTER_HOUR})", r"\1\2"),
    # an hour that opens the sentence: "At 5 a.m. Mr. Smith went"
    (rf"({START}{OPEN}*(?:At|By|On|Around|About|Before|After|From|Until|Since)\b[^,.\n{BEGIN}]{{1,30}}"
     rf"[AaPp]\.[Mm]\.{SPACE}+){BEGIN}", r"\1"),
    (rf"(\b(?:{AMBIGUOUS})\.{SPACE}+){BEGIN}", rf"\1{MAYBE}"),
    (rf"(\b(?:{NAMES_WITH_MARK})!{SPACE}+){BEGIN}", rf"\1{MAYBE}"),
    (rf"(\b[AaPp]\.[Mm]\.{SPACE}+){MAYBE}({OPEN}*[A-Z])", rf"\1{BEGIN}\2"),
    # "vitamin C. Doctors", "so do I. John", "20 C. Tomorrow" hold no initials
    (rf"((?:\b(?:{LETTERED}){SPACE}[A-Z]|\b[a-z]+{SPACE}I|[\d°]{SPACE}[A-Z])\.{SPACE}+){MAYBE}",
     rf"\1{BEGIN}"),
    (rf"{MAYBE}({OPEN}*(?:{FREQUENT})(?:[,'’]|{SPACE}|$))", rf"{BEGIN}\1"),
    (MAYBE, ""),
    (rf"({START}{OPEN}*(?:\.\.\.+|…+){SPACE}+){BEGIN}", r"\1"),  # dots that open a sentence do not end it
    # a number or a letter that opens a sentence: "1. The first item"
    (rf"({START}{SPACE}*(?:[{BULLET[1:-1]}·*-]{SPACE}*)?(?:\d{{1,3}}|[A-Za-z]|[ivx]{{1,4}})\.\)?{SPACE}+){BEGIN}",
     r"\1"),
)
NEWLINES = {
    "sentence": ((rf"([\n\r\x0b\f\x{{85}}\x{{2028}}\x{{2029}}]{SPACE}*)", rf"\1{BEGIN}"),),
    "paragraph": ((r"(\n[\p{Zs}\t\r]*\n|\r\r|\f|\x{2029})", rf"\1{BEGIN}"),),
    "space": (),
}
LISTS = (  # (a line of this form, its items but the first): "1) a 2) b", "• a • b", "a. x b. y", "i. x ii. y"
    (rf"{SPACE}*{BULLET}?{SPACE}*1[.)]+{SPACE}.*[\s{BEGIN}]2[.)]+{SPACE}.*",
     rf"({SPACE})(\d{{1,2}}[.)]+{SPACE})"),
    (rf"{SPACE}*{BULLET}.*{SPACE}{BULLET}.*", rf"({SPACE})({BULLET})"),
    (rf"{SPACE}*a[.)]+{SPACE}.*[\s{BEGIN}]b[.)]+{SPACE}.*", rf"({SPACE})([b-z][.)]+{SPACE})"),
    (rf"{SPACE}*i[.)]+{SPACE}.*[\s{BEGIN}]ii[.)]+{SPACE}.*", rf"({SPACE})([ivx]{{1,4}}[.)]+{SPACE})"),
)
HAS_LIST = rf"(?:(?s:.*)\n)?(?:{'|'.join(line for line, _ in LISTS)})(?:\n(?s:.*))?"


def _replace(text: tf.Tensor, rules) -> tf.Tensor:
    for pattern, rewrite in rules:
        text = tf.strings.regex_replace(text, pattern, rewrite)
    return text


def _mark_lists(text: tf.Tensor) -> tf.Tensor:
    """Marks the items of lists that stand in one line; only in lines that begin with a first item."""
    lines = tf.strings.split(text, "\n")
    flat = lines.flat_values
    for line, item in LISTS:
        is_list = tf.strings.regex_full_match(flat, line)
        flat = tf.where(is_list, tf.strings.regex_replace(flat, item, rf"\1{BEGIN}\2"), flat)
    return tf.strings.reduce_join(lines.with_flat_values(flat), axis=-1, separator="\n")


def _mark_by_case(text: tf.Tensor) -> tf.Tensor:
    """Withdraws marks before lower-case letters, but in texts that have no capital at all."""
    lower = tf.strings.regex_full_match(text, NO_CAPITALS)
    cased = tf.where(lower, "", text)  # no work on what the other rules decide
    cased = _replace(cased, LOWER_CASE_NEXT)
    of_lower = lambda: tf.where(lower, _replace(text, LOWER_CASE_TEXT), cased)  # noqa: E731
    return tf.cond(tf.reduce_any(lower), of_lower, lambda: cased)


def _mark(text: tf.Tensor, newline: str) -> tf.Tensor:
    """Writes `BEGIN` into the texts (B,) wherever a sentence begins."""
    text = _mark_by_case(_replace(text, PROPOSE))
    text = _replace(text, WITHDRAW)
    listed = tf.reduce_any(tf.strings.regex_full_match(text, HAS_LIST))
    text = tf.cond(listed, lambda: _mark_lists(text), lambda: text)
    return _replace(text, DECIDE + NEWLINES[newline])


def _cut(text: tf.Tensor, pieces: tf.RaggedTensor) -> tf.Tensor:
    """Cuts `text` (B,) into the lengths of `pieces` byte by byte: for the rare text that holds mark bytes."""
    letters = tf.strings.bytes_split(text).flat_values
    owner = repeat(tf.range(tf.size(pieces.flat_values)), tf.strings.length(pieces.flat_values))
    return tf.strings.unsorted_segment_join(letters, owner, tf.size(pieces.flat_values))


class SentenceSplitter(tf.Module):
    """Cuts texts into sentences with exact byte offsets: eagerly, in `tf.data` and in an exported graph.

    Every byte that is no white space belongs to exactly one sentence; a text has the same sentences alone and
    in any batch. Very long sentences are not cut here.

    Args:
        newline: what a new line means: "sentence" (it ends one), "paragraph" (a blank line does), "space"
            (nothing).

    Raises:
        Error: if `newline` is none of the three.
    """

    def __init__(self, newline: str = "sentence"):
        super().__init__(name="sentence_splitter")
        if newline not in NEWLINES:
            wanted = ", ".join(map(repr, NEWLINES))
            raise Error(f"SentenceSplitter: newline is {newline!r}; expected one of {wanted}.")
        self.newline = newline

    def split(self, text) -> dict[str, tf.RaggedTensor]:
        """Splits each text into its sentences.

        Args:
            text: (B,) strings, UTF-8 (bytes that are not are kept as they are).

        Returns:
            Ragged tensors (B, S): `sentences` string, `start` and `end` int32 byte offsets into the text.

        Raises:
            Error: if `text` is not a vector of strings.
        """
        text = tf.convert_to_tensor(text, tf.string if isinstance(text, list) and not text else None)
        if text.dtype != tf.string or text.shape.rank != 1:
            raise Error(f"SentenceSplitter.split: text is {text.dtype.name} of shape {text.shape}; expected "
                        "strings of shape (B,). Put a single text into a list.")
        return self._split(text)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def _split(self, text):
        clean = tf.strings.regex_replace(text, f"[{BEGIN}{MAYBE}]", STAND_IN)
        pieces = tf.strings.split(_mark(clean, self.newline), BEGIN)
        changed = tf.reduce_any(tf.not_equal(clean, text))
        flat = tf.cond(changed, lambda: _cut(text, pieces), lambda: pieces.flat_values)
        size = tf.strings.length(flat)
        bare = tf.strings.regex_replace(flat, rf"^{SPACE}+", "")
        lead = size - tf.strings.length(bare)
        bare = tf.strings.regex_replace(bare, rf"{SPACE}+$", "")
        before = tf.concat([[0], tf.cumsum(tf.cast(size, tf.int64))], 0)
        first = tf.gather(before, tf.gather(pieces.row_splits, pieces.value_rowids()))
        start = tf.cast(before[:-1] - first, tf.int32) + lead
        keep = pieces.with_flat_values(tf.strings.length(bare) > 0)
        rows = lambda values: tf.ragged.boolean_mask(pieces.with_flat_values(values), keep)  # noqa: E731
        return {"sentences": rows(bare), "start": rows(start), "end": rows(start + tf.strings.length(bare))}

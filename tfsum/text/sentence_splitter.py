r"""Sentence boundaries inside the graph: byte-exact, linear in the text, of core TensorFlow ops alone.

The way (measured for this project; the idea of proposing and then withdrawing is our own): 1-byte marks are
written into the text where a sentence may begin, a fixed sequence of regular-expression replacements withdraws
those that are none, and the text is split at the marks that stay. A mark is no byte of a piece, so the lengths
of the pieces are the text's own and their running sum gives the offsets. RE2 has neither look-ahead nor
overlapping matches; the mark itself is the anchor that replaces both.

Python's `re` never sees these patterns, RE2 does: `\b \w \s` know ASCII only, hence `SPACE`.
"""

import tensorflow as tf

from tfsum.errors import Error

BEGIN, MAYBE = "\x01", "\x02"  # marks: a sentence begins here; it does if a frequent first word follows
STAND_IN = "\x03"  # takes the place of a mark byte that the text itself holds, while boundaries are looked for
SPACE = r"[\s\x0b\p{Z}]"
END = r"[.!?…‽⁇⁈⁉]"  # these need white space after them, the next two do not
CJK_END = r"[。！？｡]"
SCRIPT_END = r"[؟۔।॥።။។։]"  # Arabic, Urdu, Devanagari, Ethiopic, Burmese, Khmer, Armenian
CLOSE = r"""(?:["'”’»)\]」』》〉】）］]|\[[0-9, ]{1,12}\])"""
OPEN = r"""["'“‘«‹„(\[「『《〈【（［]"""
CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
BULLET = r"[•⁃◦▪‣●·*]"

TITLES = (  # never the end of a sentence
    r"Mr|Mrs|Ms|Mx|Messrs|Dr|Drs|Prof|Gen|Maj|Col|Lt|Capt|Cpl|Sgt|Pvt|Pfc|Spc|Cmdr|Adm|Brig|Sen|Sens|Rep|Reps|Gov|Govs|"
    r"Pres|Supt|Det|Insp|Rev|Fr|Hon|Amb|Atty|Asst|Assoc|Mt|Ft|Sra|Srta|Dra|Mme|Mlle|vs|v|cf|viz|[ei]\.[eg]|z\.B|d\.h|bzw"
)
NUMBERED = r"[Nn]os?|N°|[Pp]{1,2}|[Ff]igs?|[Vv]ols?|[Cc]h|[Cc]hap|[Aa]rts?|[Ss]ecs?|[Pp]ts?|[Ee]q|[Nn]r|c|ca|approx|[Tt]el|[Ee]xt"
ROMAN_NUMBERED = r"[Pp]p?|[Ff]ig|[Vv]ol|[Cc]h|[Cc]hap|[Aa]rt|[Ss]ec|[Pp]t|[Bb]k"
AMBIGUOUS = (  # the end of a sentence only before a frequent first word
    r"[Cc]o|Inc|Corp|Ltd|Bros|Cos|Jr|Sr|Esq|St|Ste|Ave|Blvd|Rd|Dept|Univ|Assn|Mfg|al|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|"
    r"Oct|Nov|Dec|Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Ala|Ariz|Ark|Calif|Colo|Conn|Del|Fla|Ga|Ill|Ind|Kan|Ky|La|Mass|Md|"
    r"Mich|Minn|Miss|Mo|Mont|Neb|Nev|Okla|Ore|Pa|Penn|Tenn|Tex|Va|Vt|Wash|Wis|Wyo|Ph\.D|Ed\.D|[MB]\.Sc|"
    r"[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]"
)
NAMES_WITH_MARK = r"Yahoo|Jeopardy|E"  # the exclamation mark is part of the name
LETTERED = r"[Vv]itamin|[Hh]epatitis|[Pp]lan|[Tt]ype|[Cc]lass|[Gg]rade|[Gg]roup|[Ss]chedule|[Aa]ppendix|[Ee]xhibit|War"
FREQUENT = (  # first words that hardly ever go on with a name
    r"The|A|An|It|It's|He|She|They|We|I|I'm|You|This|That|These|Those|There|Here|But|And|Or|Nor|So|Yet|If|In|On|At|As|By|For|"
    r"From|With|Without|To|Of|When|While|What|Where|Who|Whose|Which|Why|How|Whether|Is|Are|Was|Were|Be|Do|Does|Did|Has|"
    r"Have|Had|Can|Could|Would|Should|Must|Might|Please|Let|His|Her|Its|Their|Our|My|Your|One|Two|Three|Some|Many|Most|"
    r"Much|More|All|Any|No|Not|None|Nothing|Now|Then|After|Before|Since|Until|During|However|Although|Though|Because|Even|"
    r"Also|Still|Once|Only|Just|Such|Each|Every|Both|Either|Neither|Another|Other|Others|About|Between|Through|Among|"
    r"According|Meanwhile|Later|Earlier|Instead|Despite|Like|Nobody|Everyone|Everybody|Someone|Something|Several|Few|Again|"
    r"Perhaps|Maybe|Yes|Today|Yesterday|Tomorrow|Too|Thus|Therefore|Moreover|Furthermore|Additionally|Back|Well|Two-thirds"
)
MONTHS = r"Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
AFTER_HOUR = (
    r"[A-Z]{2,5}\b|Eastern|Central|Pacific|Mountain|Greenwich|Local|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|June?|July?|"
    r"Aug|Sep|Oct|Nov|Dec"
)
PARTICLES = r"と|って|とか|という|、|，|的|の|を|が|は|も|に|で|など|や|です|だ"

PROPOSE = (
    (rf"({END}+{CLOSE}*{SPACE}+)", rf"\1{BEGIN}"),
    (rf"((?:{CJK_END}+{CLOSE}*)+[\p{{Zs}}\t]*)", rf"\1{BEGIN}"),
    (rf"((?:[{SCRIPT_END[1:-1]}]+[!?]*{CLOSE}*)+{SPACE}*)", rf"\1{BEGIN}"),
    (rf"({CJK}[!?]+{CLOSE}*)({OPEN}*{CJK})", rf"\1{BEGIN}\2"),
    (rf"((?:다|요|까|죠|음|함|임)\.|\p{{Hangul}}[!?]+)({OPEN}*\p{{Hangul}})", rf"\1{BEGIN}\2"),  # the space was forgotten
    (rf"([^{CJK[1:-1]}\d]．)([^\d])", rf"\1{BEGIN}\2"),
    (rf"({CJK}．{CLOSE}*)([^\d])", rf"\1{BEGIN}\2"),
    (r"([.!?…][”»]+)([“«„])", rf"\1{BEGIN}\2"),
    (rf"([a-z]{{2}}[.?!][\"”]?)((?:{FREQUENT}) )", rf"\1{BEGIN}\2"),  # "he said.The next day"
)
WITHDRAW = (
    (rf"([」』”’）\"][\p{{Zs}}\t]*){BEGIN}({PARTICLES})", r"\1\2"),
    (rf"({SPACE}){BEGIN}((?:{OPEN}|[-–—]+{SPACE}*)*\p{{Ll}}(?:[^\p{{Lu}}]|$))", r"\1\2"),  # a lower-case letter, but not iPhone
    (rf"{BEGIN}([”)\]»]+{SPACE}+)", rf"\1{BEGIN}"),  # "he said . ” Then": a closing mark set apart
    (rf"{BEGIN}([,;:%&、，；：])", r"\1"),
    (rf"{BEGIN}(\.(?:{SPACE}|{CLOSE}|$))", r"\1"),  # spaced dots: only the mark after the last stays
    (rf"([^\s.{BEGIN}]\.{SPACE})(\.{SPACE}\.{SPACE}\.{SPACE}){BEGIN}", rf"\1{BEGIN}\2"),  # word. | . . . Next
    (rf"([^\s.{BEGIN}]{SPACE}\.{SPACE}\.{SPACE}\.{SPACE}+){BEGIN}", r"\1"),  # word . . . Next
    (rf"([\[(](?:\.\.\.|…)[\])]{CLOSE}*{SPACE}+){BEGIN}", r"\1"),  # [...]
    (rf"(\b(?:{TITLES})\.{SPACE}+){BEGIN}", r"\1"),
    (rf"((?:^|[^\p{{L}}\p{{M}}])(?:[\p{{Cyrillic}}\p{{Greek}}\p{{Arabic}}]|डॉ|प्रो|श्री)\.{SPACE}+){BEGIN}", r"\1"),
    (rf"((?:^|[^\p{{L}}\p{{N}}])(?:{NUMBERED})\.{SPACE}*){BEGIN}(\d)", r"\1\2"),
    (rf"(\b(?:{ROMAN_NUMBERED})\.{SPACE}*){BEGIN}([IVXLC]+\b)", r"\1\2"),
    (rf"(\b\d{{4}}\.{SPACE}){BEGIN}(\d{{1,2}}\.{SPACE}){BEGIN}(\d{{1,2}}\.{SPACE}*){BEGIN}?", r"\1\2\3"),  # 2024. 3. 15.
    (rf"(\b\d{{1,2}}\.{SPACE}){BEGIN}({MONTHS})", r"\1\2"),
)
DECIDE = (
    (rf"(\b[AaPp]\.[Mm]\.{SPACE}+){BEGIN}({AFTER_HOUR})", r"\1\2"),
    (rf"((?:^|[\n{BEGIN}]){OPEN}*(?:At|By|On|Around|About|Before|After|From|Until|Since)\b[^,.\n{BEGIN}]{{1,30}}"
     rf"[AaPp]\.[Mm]\.{SPACE}+){BEGIN}", r"\1"),  # an hour that opens the sentence
    (rf"(\b(?:{AMBIGUOUS})\.{SPACE}+){BEGIN}", rf"\1{MAYBE}"),
    (rf"(\b(?:{NAMES_WITH_MARK})!{SPACE}+){BEGIN}", rf"\1{MAYBE}"),
    (rf"(\b[AaPp]\.[Mm]\.{SPACE}+){MAYBE}({OPEN}*[A-Z])", rf"\1{BEGIN}\2"),
    (rf"(\b(?:{LETTERED}){SPACE}[A-Z]\.{SPACE}+){MAYBE}", rf"\1{BEGIN}"),
    (rf"{MAYBE}({OPEN}*(?:{FREQUENT})(?:[,'’]|{SPACE}|$))", rf"{BEGIN}\1"),
    (MAYBE, ""),
    (rf"((?:^|[\n{BEGIN}]){SPACE}*(?:{BULLET}{SPACE}*)?(?:\d{{1,3}}|[A-Za-z]|[ivx]{{1,4}})\.\)?{SPACE}+){BEGIN}", r"\1"),
)
NEWLINES = {
    "sentence": ((r"([\n\r\x0b\f\x{85}\x{2028}\x{2029}])", rf"\1{BEGIN}"),),
    "paragraph": ((r"(\n[\p{Zs}\t\r]*\n|\r\r|\f|\x{2029})", rf"\1{BEGIN}"),),
    "space": (),
}
LISTS = (  # (a line of this form, its items after the first): "1) a 2) b", "• a • b", "a. x b. y", "i. x ii. y"
    (rf"{SPACE}*{BULLET}?{SPACE}*1[.)]+{SPACE}.*[\s{BEGIN}]2[.)]+{SPACE}.*", rf"({SPACE})(\d{{1,2}}[.)]+{SPACE})"),
    (rf"{SPACE}*[•⁃◦▪‣●].*{SPACE}[•⁃◦▪‣●].*", rf"({SPACE})([•⁃◦▪‣●])"),
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
        flat = tf.where(tf.strings.regex_full_match(flat, line), _replace(flat, [(item, rf"\1{BEGIN}\2")]), flat)
    return tf.strings.reduce_join(lines.with_flat_values(flat), axis=-1, separator="\n")


def _cut(text: tf.Tensor, pieces: tf.RaggedTensor) -> tf.Tensor:
    """Cuts `text` (B,) into the lengths of `pieces` (B, S) byte by byte: for texts that hold mark bytes, which are rare."""
    letters = tf.strings.bytes_split(text).flat_values
    owner = tf.repeat(tf.range(tf.size(pieces.flat_values)), tf.strings.length(pieces.flat_values))
    return tf.strings.unsorted_segment_join(letters, owner, tf.size(pieces.flat_values))


class SentenceSplitter(tf.Module):
    """Cuts texts into sentences with exact byte offsets, in eager mode, in `tf.data` and in an exported graph.

    Every byte that is no white space belongs to exactly one sentence; a text has the same sentences alone and in
    any batch. Very long sentences are not cut here.

    Args:
        newline: what a new line means: "sentence" (it ends one), "paragraph" (a blank line does) or "space" (nothing).

    Raises:
        Error: if `newline` is none of the three.
    """

    def __init__(self, newline: str = "sentence"):
        super().__init__(name="sentence_splitter")
        if newline not in NEWLINES:
            raise Error(f"SentenceSplitter: newline is {newline!r}; expected one of {', '.join(map(repr, NEWLINES))}.")
        self.newline = newline

    def split(self, text) -> dict[str, tf.RaggedTensor]:
        """Splits each text into its sentences.

        Args:
            text: (B,) strings, UTF-8 (bytes that are not are kept as they are).

        Returns:
            A dict of ragged tensors (B, S): `sentences` string, `start` and `end` int32 byte offsets into the text.

        Raises:
            Error: if `text` is not a vector of strings.
        """
        text = tf.convert_to_tensor(text)
        if text.dtype != tf.string or text.shape.rank != 1:
            raise Error(f"SentenceSplitter.split: text is {text.dtype.name} of shape {text.shape}; expected strings of "
                        "shape (B,). Put a single text into a list.")
        return self._split(text)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def _split(self, text):
        clean = tf.strings.regex_replace(text, f"[{BEGIN}{MAYBE}]", STAND_IN)
        pieces = tf.strings.split(self._mark(clean), BEGIN)
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

    def _mark(self, text: tf.Tensor) -> tf.Tensor:
        text = _replace(text, PROPOSE + WITHDRAW)
        listed = tf.reduce_any(tf.strings.regex_full_match(text, HAS_LIST))
        text = tf.cond(listed, lambda: _mark_lists(text), lambda: text)
        return _replace(text, DECIDE + NEWLINES[self.newline])

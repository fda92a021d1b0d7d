"""The rules that split sentences, in the order in which they run, each with a text that needs it.

`SentenceSplitter` writes `BEGIN` wherever a sentence may begin (the rules under "propose",
"ideographic" and "korean") and removes the marks where none does. RE2 has neither look-ahead nor
overlapping matches; the mark replaces both.
"""

import dataclasses

from tfsum.text.splitting_words import (
    AFTER_HOUR,
    AMBIGUOUS,
    BEGIN,
    BLANK,
    BULLET,
    CHINESE_CLAUSE,
    CHINESE_CONTINUES,
    CHINESE_OPENERS,
    CHINESE_REPORT,
    CJK,
    CJK_END,
    CLOSE,
    CLOSE_QUOTE,
    COMPANIES_AND_PLACES,
    DOTS,
    END,
    FREQUENT,
    JAPANESE_FINAL,
    JAPANESE_OPENERS,
    JAPANESE_PARTICLES,
    KOREAN_FINAL,
    KOREAN_HESITATION,
    KOREAN_QUOTATIVES,
    LETTERED,
    MAYBE,
    MONTH_ABBREVIATIONS,
    NUMBERED,
    OPEN,
    QUOTE,
    QUOTES,
    SCRIPT_END,
    SPACE,
    START,
    TITLES,
)


@dataclasses.dataclass(frozen=True)
class Rule:
    r"""A regular expression, its replacement, and a text that is split wrongly without it.

    Args:
        name: The name of the rule.
        why: What the rule is for.
        pattern: An RE2 pattern.
        rewrite: What replaces each match, with `\1` for the first group.
        example: A text with "|" where its sentences begin.
        times: How often the rule runs; matches that touch need a second time.
        line: If not empty, the rule applies only to lines that match this pattern.

    Example:
        >>> Rule("semicolon", "It ends a clause here.", "(; )", r"\1\x01", "One; |two.").times
        1
    """

    name: str
    why: str
    pattern: str
    rewrite: str
    example: str
    times: int = 1
    line: str = ""


RULES: dict[str, tuple[Rule, ...]] = {
    "propose": (
        Rule(
            "full stop",
            "A full stop and white space end a sentence; German closes quotes with “ and «.",
            rf"({END}+(?:{CLOSE}|[“‘«])*{SPACE}+)",
            rf"\1{BEGIN}",
            "It rained. |We stayed.",
        ),
        Rule(
            "full stop of other scripts",
            "The danda and its like need no white space.",
            rf"((?:{SCRIPT_END}[؟!?]*{CLOSE}*)+{SPACE}*)",
            rf"\1{BEGIN}",
            "यह एक है।|यह दो है।",
        ),
        Rule(
            "space forgotten",
            "A frequent first word after a full stop begins a sentence.",
            rf"([a-z]{{2}}[.?!][\"”]?)((?:{FREQUENT}) )",
            rf"\1{BEGIN}\2",
            "It rained.|The game was off.",
        ),
        Rule(
            "quotes that touch",
            "A quote follows a quote.",
            r"([.!?…][”»]+)([“«„])",
            rf"\1{BEGIN}\2",
            "“Who is it?”|“It's me.”",
        ),
    ),
    "ideographic": (  # only on texts with Chinese or Japanese
        Rule(
            "ideographic full stop",
            "An ideographic full stop needs no white space.",
            rf"((?:{CJK_END}+{CLOSE}*)+{BLANK}*)",
            rf"\1{BEGIN}",
            "我去。|他不去。",
        ),
        Rule(
            "ASCII mark between ideographs",
            "Between ideographs an ASCII mark needs no white space.",
            rf"({CJK}[!?]+{CLOSE}*)({OPEN}*{CJK})",
            rf"\1{BEGIN}\2",
            "ありがとう!|またね!",
        ),
        Rule(
            "full-width dot",
            "It is a full stop, unless a digit follows.",
            rf"({CJK}．{CLOSE}*)([^\d])",
            rf"\1{BEGIN}\2",
            "彼は行った．|私は残った．",
        ),
        Rule(
            "Chinese ellipsis",
            "After a whole clause an ellipsis ends a sentence if a word follows that opens one.",
            rf"({CHINESE_CLAUSE}{DOTS})({CHINESE_OPENERS})",
            rf"\1{BEGIN}\2",
            "没有人知道……|也许永远不会知道。",
        ),
        Rule(
            "Japanese ellipsis",
            "After a final form an ellipsis ends a sentence if a word follows that opens one.",
            rf"({CJK}{JAPANESE_FINAL}(?:{DOTS}|・・・+))({JAPANESE_OPENERS})",
            rf"\1{BEGIN}\2",
            "誰も知らない……|たぶん永遠に分からない。",
        ),
        Rule(
            "ellipsis in a quote",
            "A quote may end with an ellipsis.",
            rf"((?:{CJK}|{START}[“「『]){DOTS}[」』”’]+)({OPEN}?{CJK})",
            rf"\1{BEGIN}\2",
            "「まさか……」|彼は言葉を失った。",
        ),
        Rule(
            "quote after a colon",
            "A quote that a colon introduces is complete at its end.",
            rf"([:：]{BLANK}*{QUOTES}{BLANK}*){BEGIN}(\p{{Han}})",
            rf"\1{MAYBE}\2",
            "他问：“去吗？”|说完，他走了。",
        ),
        Rule(
            "Japanese particle after a quote",
            "A particle after a quote continues the sentence.",
            rf"({CLOSE_QUOTE}{BLANK}*){BEGIN}({JAPANESE_PARTICLES})",
            r"\1\2",
            "「行きます。」と彼は言った。",
        ),
        Rule(
            "Chinese report",
            "A short clause with a verb of speech belongs to the quote.",
            rf"({CLOSE_QUOTE}{BLANK}*){BEGIN}({CHINESE_REPORT})",
            r"\1\2",
            "“你是谁？”他问。|没有人回答。",
        ),
        Rule(
            "Chinese word after a quote",
            "Some words show that the quote is a part of the sentence.",
            rf"({CLOSE_QUOTE}){BEGIN}({CHINESE_CONTINUES})",
            r"\1\2",
            "“你好吗？”是最常见的问候语。",
        ),
        Rule(
            "quote after a noun",
            "A quote that no verb of speech precedes is a part of the sentence.",
            rf"((?:[^\P{{Han}}说說道问問答喊叫想曰写寫唱念]|の){QUOTE}){BEGIN}({CJK})",
            r"\1\2",
            "一声“站住！”打破了夜的寂静。",
        ),
        Rule(
            "quote in a quote",
            "A quote inside a quote does not end the outer sentence, unless a colon precedes it.",
            rf"(「[^「」『』]*『[^「」『』{BEGIN}]*』|“[^“”‘’]*‘[^“”‘’{BEGIN}]*’){BEGIN}",
            r"\1",
            "「他說『快走！』然後就不見了。」|我不信。",
        ),
        Rule(
            "end of a quote after a colon",
            "The marks that were kept are marks again.",
            MAYBE,
            BEGIN,
            "他问：“去吗？”|她没有回答。",
        ),
        Rule(
            "title of a work",
            "A title with a mark is a part of the sentence.",
            rf"([》〉】]){BEGIN}({CJK})",
            r"\1\2",
            "他写了《你好！》这本书。",
        ),
        Rule(
            "remark",
            "A remark in parentheses does not end the sentence around it.",
            rf"([^。！？｡\s{BEGIN}]（[^（）{BEGIN}]{{0,80}}）){BEGIN}",
            r"\1",
            "这本书（很旧。）是我的。",
        ),
        Rule(
            "name with a full stop",
            "No sentence begins with の or を and a noun.",
            rf"{BEGIN}([のを][\p{{Han}}\p{{Katakana}}])",
            r"\1",
            "モーニング娘。のコンサートに行った。",
        ),
        Rule(
            "source of a quote",
            "A dash after a quote names its source.",
            rf"([」』”]){BEGIN}(—)",
            r"\1\2",
            "“知识就是力量。”——培根",
        ),
        Rule(
            "laughter",
            "（笑） belongs to the sentence before.",
            rf"{BEGIN}([（(](?:笑|泣|涙|汗|苦笑|爆笑|怒)[）)]{BLANK}*)",
            rf"\1{BEGIN}",
            "楽しかった。（笑）|また行きたい。",
        ),
    ),
    "korean": (  # only on texts with Hangul
        Rule(
            "Korean space forgotten",
            "A final ending and a full stop end a sentence; a straight quote that "
            "touches it closes.",
            r"((?:다|요|까|죠|음|함|임)\.|\p{Hangul}[!?]+)([“‘「『(]?\p{Hangul})",
            rf"\1{BEGIN}\2",
            "비가 왔다.|우산이 없다.",
        ),
        Rule(
            "Korean ellipsis",
            "An ellipsis after a final ending ends a sentence, without a space too.",
            rf"({KOREAN_FINAL}{DOTS})([“‘「『(]?[가-힣])",
            rf"\1{BEGIN}\2",
            "정말 모르겠다…|그는 고개를 저었다.",
        ),
        Rule(
            "Korean particle after a quote",
            "A particle after a quote continues the sentence, with a space before it too.",
            rf"({CLOSE_QUOTE}{SPACE}*){BEGIN}({KOREAN_QUOTATIVES})",
            r"\1\2",
            '"집에 간다." 라고 말했다.',
        ),
        Rule(
            "Korean ending after an ellipsis",
            "An ending after an ellipsis continues the sentence.",
            rf"({KOREAN_FINAL}{DOTS}){BEGIN}(라|고|며|는|면서)",
            r"\1\2",
            "그는 모르겠다…라고 말했다.",
        ),
        Rule(
            "Korean hesitation",
            "An ellipsis after a particle or a conjunction does not end a sentence.",
            rf"({KOREAN_HESITATION}(?:…+|\.\.+){SPACE}+){BEGIN}(\p{{Hangul}})",
            r"\1\2",
            "그는… 떠났다.",
        ),
        Rule(
            "Korean remark",
            "A remark in parentheses does not end the sentence around it.",
            rf"([^\P{{Hangul}}다요까죠] ?\([^(){BEGIN}]{{0,80}}[.!?…]+\){SPACE}+)"
            rf"{BEGIN}(\p{{Hangul}})",
            r"\1\2",
            "그는 (아무도 모르게.) 떠났다.",
        ),
    ),
    "tidy": (
        Rule(
            "closing mark set apart",
            "A closing mark after white space belongs to the sentence before.",
            rf"{BEGIN}((?:''|[”)\]»]+)(?:{SPACE}+|$))",
            rf"\1{BEGIN}",
            "`` It is a lie . '' |She left .",
        ),
        Rule(
            "end of the text",
            "No sentence begins there, so that spaced dots end one.",
            rf"{BEGIN}+$",
            "",
            "The end. . . . ",
        ),
    ),
    "cased": (
        Rule(
            "lower case",
            "A lower-case letter continues the sentence, but iPhone may begin one.",
            rf"({SPACE}){BEGIN}((?:{OPEN}|[-–—]+{SPACE}*)*\p{{Ll}}(?:[^\p{{Lu}}]|$))",
            r"\1\2",
            '"Is it over?" she asked. |iPhones rang.',
        ),
    ),
    "uncased": (  # for texts in lower case all through, where case is no sign
        Rule(
            "quote or ellipsis in lower case",
            "What follows mostly reports the quote.",
            rf"((?:{CLOSE}|\.\.|…){SPACE}+){BEGIN}({OPEN}*\p{{Ll}})",
            r"\1\2",
            '"is it over?" she asked. |nobody knew.',
        ),
        Rule(
            "title in lower case",
            "A title never ends a sentence.",
            rf"((?i)\b(?:{TITLES})\.{SPACE}+){BEGIN}",
            r"\1",
            "we met mr. smith.",
        ),
        Rule(
            "abbreviation in lower case",
            "It may end a sentence.",
            rf"((?i)\b(?:{COMPANIES_AND_PLACES}|{MONTH_ABBREVIATIONS}"
            rf"|[a-z]|(?:[a-z]\.)+[a-z])\.{SPACE}+){BEGIN}",
            rf"\1{MAYBE}",
            "he sold ford inc. shares.",
        ),
        Rule(
            "frequent word in lower case",
            "After an abbreviation it begins a sentence.",
            rf"{MAYBE}({OPEN}*(?i:{FREQUENT})(?:[,'’]|{SPACE}|$))",
            rf"{BEGIN}\1",
            "he sold ford inc. |the plant closed.",
        ),
    ),
    "withdraw": (
        Rule(
            "ellipsis without case",
            "In scripts without capitals an ellipsis mostly does not end a sentence.",
            rf"((?:\.\.\.+|…+){SPACE}+){BEGIN}([\p{{Arabic}}\p{{Hebrew}}])",
            r"\1\2",
            "ذهب ... ثم عاد.",
        ),
        Rule(
            "comma next",
            "No sentence begins with a comma or a colon.",
            rf"{BEGIN}([,;:%&、，；：])",
            r"\1",
            "“走吧！”，他说。",
        ),
        Rule(
            "spaced dots",
            "Of spaced dots only the last ends a sentence.",
            rf"{BEGIN}(\.(?:{SPACE}|{CLOSE}|$))",
            r"\1",
            "He said . . . . |Nothing more.",
        ),
        Rule(
            "full stop and spaced dots",
            "The dots begin the next sentence.",
            rf"([^\s.{BEGIN}]\.{BLANK})(\.{BLANK}\.{BLANK}\.{BLANK}){BEGIN}",
            rf"\1{BEGIN}\2",
            "He left. |. . . She stayed.",
        ),
        Rule(
            "three spaced dots",
            "They do not end a sentence.",
            rf"([^\s.{BEGIN}]{SPACE}\.{SPACE}\.{SPACE}\.{SPACE}+){BEGIN}",
            r"\1",
            "He met . . . Smith.",
        ),
        Rule(
            "omission",
            "Dots in brackets do not end a sentence.",
            rf"([\[(](?:\.\.\.|…)[\])]{CLOSE}*{SPACE}+){BEGIN}",
            r"\1",
            "He met [...] Smith.",
        ),
        Rule(
            "title",
            "A title never ends a sentence.",
            rf"(\b(?:{TITLES})\.{SPACE}+){BEGIN}",
            r"\1",
            "We met Mr. Smith.",
        ),
        Rule(
            "title or initial of other scripts",
            "It never ends a sentence; initials may touch.",
            rf"((?:^|[^\p{{L}}\p{{M}}])"
            rf"(?:[\p{{Cyrillic}}\p{{Greek}}\p{{Arabic}}]|डॉ|प्रो|श्री)\.{SPACE}+){BEGIN}",
            r"\1",
            "А. С. Пушкин жил.",
            times=2,
        ),
        Rule(
            "numbered",
            "An abbreviation before a number does not end a sentence.",
            rf"((?:^|[^\p{{L}}\p{{N}}])(?:{NUMBERED})\.{SPACE}*){BEGIN}(\d)",
            r"\1\2",
            "See No. 5.",
        ),
        Rule(
            "unit",
            "A unit between two numbers does not end a sentence.",
            rf"(\d{SPACE}?(?:ft|in|lbs?|oz|min|hrs?|h|sec|sq|km|cm|kg)\.{SPACE}){BEGIN}(\d)",
            r"\1\2",
            "He is 6 ft. 2 in. tall.",
        ),
        Rule(
            "Roman number",
            "An abbreviation before a Roman number does not end a sentence.",
            r"(\b(?:[Pp]p?|[Ff]ig|[Vv]ol|[Cc]h|[Cc]hap|[Aa]rt|[Ss]ec|[Pp]t|[Bb]k)"
            rf"\.{SPACE}*){BEGIN}([IVXLC]+\b)",
            r"\1\2",
            "See vol. IV again.",
        ),
        Rule(
            "Korean date",
            "Its full stops do not end a sentence.",
            rf"(\b\d{{4}}\.{SPACE}){BEGIN}(\d{{1,2}}\.{SPACE}){BEGIN}(\d{{1,2}}\.{SPACE}*){BEGIN}?",
            r"\1\2\3",
            "2024. 3. 15. 회의가 열렸다.",
        ),
        Rule(
            "German date",
            "The day does not end a sentence.",
            rf"(\b\d{{1,2}}\.{SPACE}){BEGIN}(Januar|Februar|März|April|Mai|Juni|Juli|August"
            r"|September|Oktober|November|Dezember)",
            r"\1\2",
            "Er kam am 3. Oktober an.",
        ),
    ),
    "lists": (
        Rule(
            "list of numbers",
            "Its items in one line are sentences.",
            rf"({SPACE})(\d{{1,2}}[.)]+{SPACE})",
            rf"\1{BEGIN}\2",
            "1) eggs |2) milk |3) bread",
            line=rf"{SPACE}*{BULLET}?{SPACE}*1[.)]+{SPACE}.*[\s{BEGIN}]2[.)]+{SPACE}.*",
        ),
        Rule(
            "list of bullets",
            "Its items in one line are sentences.",
            rf"({SPACE})({BULLET})",
            rf"\1{BEGIN}\2",
            "• One thing |• Another thing",
            line=rf"{SPACE}*{BULLET}.*{SPACE}{BULLET}.*",
        ),
        Rule(
            "list of letters",
            "Its items in one line are sentences.",
            rf"({SPACE})([b-z][.)]+{SPACE})",
            rf"\1{BEGIN}\2",
            "a) the cat |b) the dog |c) the bird",
            line=rf"{SPACE}*a[.)]+{SPACE}.*[\s{BEGIN}]b[.)]+{SPACE}.*",
        ),
        Rule(
            "list of Roman numbers",
            "Its items in one line are sentences.",
            rf"({SPACE})([ivx]{{1,4}}[.)]+{SPACE})",
            rf"\1{BEGIN}\2",
            "i) the cat |ii) the dog",
            line=rf"{SPACE}*i[.)]+{SPACE}.*[\s{BEGIN}]ii[.)]+{SPACE}.*",
        ),
    ),
    "decide": (
        Rule(
            "time zone",
            "A time zone, a day or a month after an hour continues the sentence.",
            rf"(\b[AaPp]\.[Mm]\.{SPACE}+){BEGIN}({AFTER_HOUR})",
            r"\1\2",
            "It starts at 9 a.m. EST.",
        ),
        Rule(
            "hour that opens",
            "An hour that opens a sentence does not end it.",
            rf"({START}{OPEN}*"
            r"(?:At|By|On|Around|About|Before|After|From|Until|Since)"
            rf"\b[^,.\n{BEGIN}]{{1,30}}[AaPp]\.[Mm]\.{SPACE}+){BEGIN}",
            r"\1",
            "At 5 a.m. Mr. Smith went.",
        ),
        Rule(
            "abbreviation",
            "It may end a sentence.",
            rf"(\b(?:{AMBIGUOUS})\.{SPACE}+){BEGIN}",
            rf"\1{MAYBE}",
            "He joined the U.S. Army.",
        ),
        Rule(
            "name with a mark",
            "The mark may end a sentence.",
            rf"(\b(?:Yahoo|Jeopardy|E)!{SPACE}+){BEGIN}",
            rf"\1{MAYBE}",
            "She works for Yahoo! Inc.",
        ),
        Rule(
            "hour",
            "A capital after an hour begins a sentence.",
            rf"(\b[AaPp]\.[Mm]\.{SPACE}+){MAYBE}({OPEN}*[A-Z])",
            rf"\1{BEGIN}\2",
            "We met at 5 p.m. |Smith left.",
        ),
        Rule(
            "letter that is no initial",
            "It ends a sentence: vitamin C, so do I, 20 C.",
            rf"((?:\b(?:{LETTERED}){SPACE}[A-Z]|\b[a-z]+{SPACE}I"
            rf"|[\d°]{SPACE}[A-Z])\.{SPACE}+){MAYBE}",
            rf"\1{BEGIN}",
            "Take vitamin C. |Doctors do.",
        ),
        Rule(
            "frequent word",
            "After an abbreviation it begins a sentence.",
            rf"{MAYBE}({OPEN}*(?:{FREQUENT})(?:[,'’]|{SPACE}|$))",
            rf"{BEGIN}\1",
            "He left the U.S. |The army stayed.",
        ),
        Rule(
            "other word",
            "After an abbreviation it continues the sentence.",
            MAYBE,
            "",
            "He joined the U.S. Army.",
        ),
        Rule(
            "dots that open",
            "Dots that open a sentence do not end it.",
            rf"({START}{OPEN}*(?:\.\.\.+|…+){SPACE}+){BEGIN}",
            r"\1",
            "... Nobody knew.",
        ),
        Rule(
            "number that opens",
            "A number or a letter that opens a sentence does not end it.",
            rf"({START}{SPACE}*(?:[{BULLET[1:-1]}·*-]{SPACE}*)?"
            rf"(?:\d{{1,3}}|[A-Za-z]|[ivx]{{1,4}})\.\)?{SPACE}+){BEGIN}",
            r"\1",
            "1. The first item",
        ),
    ),
}
NEWLINES: dict[str, tuple[Rule, ...]] = {
    "sentence": (
        Rule(
            "new line",
            "A new line ends a sentence.",
            rf"([\n\r\x0b\f\x{{85}}\x{{2028}}\x{{2029}}]{SPACE}*)",
            rf"\1{BEGIN}",
            "A headline\n|The text",
        ),
    ),
    "paragraph": (
        Rule(
            "blank line",
            "A blank line ends a sentence.",
            r"(\n[\p{Zs}\t\r]*\n|\r\r|\f|\x{2029})",
            rf"\1{BEGIN}",
            "A hard\nwrapped line\n\n|The text",
        ),
    ),
    "space": (),
}

"""Whether a text is in a language: by its script, or by its common words against English ones."""

import re
from collections.abc import Sequence

CYRILLIC = "\u0400-\u04ff"
ARABIC = "\u0600-\u06ff\ufb50-\ufdff\ufe70-\ufeff"
KANA = "\u3040-\u30ff"
SCRIPTS = {
    "ar": ARABIC,
    "bg": CYRILLIC,
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "fa": ARABIC,
    "he": "\u0590-\u05ff",
    "hi": "\u0900-\u097f",
    "ja": KANA + "\u3400-\u9fff",
    "ko": "\uac00-\ud7a3",
    "ru": CYRILLIC,
    "th": "\u0e00-\u0e7f",
    "uk": CYRILLIC,
    "zh": "\u3400-\u9fff",
}
FAR_EASTERN = ("ja", "ko", "zh")  # a character says more; Latin names take more of the letters
LETTERS = (  # what tells languages of a script apart: least and most of these in a character
    ("ar", "پچژگک", 0, 0.01),
    ("bg", "іїєґ", 0, 0.005),
    ("bg", "ыэ", 0, 0.003),
    ("fa", "پچژگکی", 0.03, 1),
    ("ru", "іїєґ", 0, 0.005),
    ("ru", "ыэё", 1e-9, 1),
    ("uk", "іїєґ", 0.01, 1),
    ("zh", KANA, 0, 0.05),
)
COMMON = {
    "en": (
        "the of and to in is that it for you with this on are be as by or can not from an have "
        "will your at if which when we all use"
    ),
    "cs": (
        "a je se v na že to s z do pro jsou jako které by nebo i ale o k pokud může byl aby při "
        "od tento této podle pomocí není"
    ),
    "da": (
        "og i at det er en til af på som med for den der de ikke et kan du har om eller fra "
        "hvis skal vil også hvor når blev efter"
    ),
    "de": (
        "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch "
        "es an werden aus er hat dass sie nach"
    ),
    "es": (
        "de la que el en y a los se del las un por con no una su para es al lo como más o pero "
        "sus le ya este si porque son"
    ),
    "fi": (
        "ja on ei se että oli joka kun myös tai mutta voi sen ovat hän niin jos kuin tämä voit "
        "ne olla sekä käyttää siitä mukaan"
    ),
    "fr": (
        "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce "
        "il sont avec vous ou cette être"
    ),
    "hu": (
        "a az és hogy nem is egy ez meg csak de vagy van volt mint el ha már azt ki fel lehet "
        "kell ezt minden ezek akkor amely"
    ),
    "id": (
        "yang dan di untuk dengan ini dari pada dalam tidak akan adalah itu ke anda atau dapat "
        "juga oleh sebagai kami bisa ada telah kita mereka saya pun serta"
    ),
    "it": (
        "di e il la che in a per un è del non sono una le con i si da dei della come nel al più "
        "alla questo o anche se gli"
    ),
    "nb": (
        "og i det er en til av på som med for den at de ikke et kan du har om eller fra hvis "
        "skal vil også hvor når ble etter jeg"
    ),
    "nl": (
        "de van het een en in is dat op te zijn met voor niet aan die er om ook als bij of door "
        "maar worden kan deze wordt naar je"
    ),
    "nn": (
        "og i det er ein til av på som med for den at dei ikkje eit kan du har om eller frå ho "
        "han eg vil også korleis vart kva så seg"
    ),
    "pl": (
        "i w na z się do że nie to jest jak o za od po co ale przez dla są lub który które oraz "
        "może jego tym można przy aby ten"
    ),
    "pt": (
        "de a o que e do da em um para é com não uma os no se na por mais as dos como mas ao "
        "ele das tem você ou pode ser são este"
    ),
    "ro": (
        "de și în a la cu pe nu să se care este un din o pentru ca sau mai că sunt prin le "
        "acest această dacă poate fi au ale către"
    ),
    "sv": (
        "och i att det som en på är av för med till den har de inte om ett kan du eller från "
        "men när ska vi så var också hur sig"
    ),
    "tr": (
        "ve bir bu için ile da de olarak daha çok en gibi kadar olan sonra ne her veya bunu "
        "değil var ise olduğu tarafından kullanarak"
    ),
    "vi": (
        "và của là có trong cho không được với các một này để người những từ khi đó bạn đã như "
        "thể về sẽ trên ra vào hoặc"
    ),
}
COMMON_WORDS = {language: frozenset(words.split()) for language, words in COMMON.items()}
NEIGHBOURS = {
    "da": ("en", "nb", "sv"),
    "es": ("en", "pt"),
    "nb": ("en", "nn", "da", "sv"),
    "nn": ("en", "nb", "da", "sv"),
    "pt": ("en", "es"),
    "sv": ("en", "nb", "da"),
}
VIETNAMESE = re.compile("[ăâđêôơưạ-ỹ]")
NO_LETTERS = re.compile(r"[\W\d_]+")


def number_of(characters: str, text: str) -> int:
    """How often one of these characters stands in a text."""
    return len(re.findall(f"[{characters}]", text))


def script_share(text: str, language: str) -> float:
    """The share of the letters that are of the script of a language."""
    letters = NO_LETTERS.sub("", text)
    return number_of(SCRIPTS[language], letters) / max(1, len(letters))


def word_share(words: Sequence[str], language: str) -> float:
    """The share of words that are common ones of a language."""
    return sum(word in COMMON_WORDS[language] for word in words) / max(1, len(words))


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())


def is_foreign(line: str, language: str) -> bool:
    """Whether a line is in another language, mostly English; a short one is not."""
    if len(NO_LETTERS.sub("", line)) < 12:
        return False
    if language in SCRIPTS:
        return script_share(line, language) <= (0.25 if language in FAR_EASTERN else 0.45)
    words = words_of(line)
    if len(words) < 6:
        return False
    if language == "vi" and not VIETNAMESE.search(line.lower()):
        return True
    english = word_share(words, "en")
    return english > word_share(words, language) and english > 0.15


def is_in(text: str, language: str) -> bool:
    """Whether a text is in a language rather than in one that is like it."""
    if language not in SCRIPTS:
        words = words_of(text)
        share = word_share(words, language)
        others = NEIGHBOURS.get(language, ("en",))
        return share >= 0.08 and all(word_share(words, other) <= share for other in others)

    if script_share(text, language) < (0.35 if language in FAR_EASTERN else 0.55):
        return False
    if language == "ja" and number_of(KANA, text) < 0.15 * number_of("\u3040-\u9fff", text):
        return False
    return all(
        least * len(text) <= number_of(letters, text) <= most * len(text)
        for name, letters, least, most in LETTERS
        if name == language
    )


def lines_in(lines: Sequence[str], language: str) -> list[str]:
    """The lines of a document without foreign ones; none if too many are."""
    kept = [line for line in lines if not is_foreign(line, language)]
    size, size_kept = sum(map(len, lines)), sum(map(len, kept))
    if size - size_kept > 0.4 * size or not is_in(" ".join(kept), language):
        return []
    return kept

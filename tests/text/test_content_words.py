"""Words that can be keywords, by language."""

import re
import unicodedata

import pytest
import tensorflow as tf

from tfsum.text.content_words import content_words
from tfsum.text.keywords import words_of
from tfsum.text.rows import Rows
from tfsum.text.splitting_rules import MOST_GROUPS, load_tables


def found(*texts):
    """The words of texts that can be keywords."""
    parts = words_of(tf.constant(texts))
    words, can_be = content_words(parts, Rows(parts.sentence, tf.constant(len(texts), tf.int64)))
    data = [text.encode() for text in texts]
    rows = [[] for _ in texts]
    for word, row, start in zip(*(tf.boolean_mask(values, can_be).numpy() for values in words)):
        assert data[row][start : start + len(word)] == word
        rows[row].append(word.decode())
    return rows


@pytest.mark.parametrize(
    "text, expected",
    [
        ("연구진은 쥐의 고환 크기가 줄었다고 밝혔다.", "연구진 쥐 고환 크기"),
        (
            "전라남도는 5일 장성에서 착공식을 개최하고 국무회의에 보고했다.",
            "전라남도 장성 착공식 국무회의",
        ),
        ("어린이가 고속도로와 도서관으로 갔습니다.", "어린이 고속도로 도서관"),
        ("주민들에게는 새로운 시설이 있다.", "주민 시설"),
        (
            "공장이 멈춘다고 한다. 르완다와 캐나다에서 판다가 바다를 꿈꾼다.",
            "공장 르완다 캐나다 판다 바다",
        ),
        # particles, also several, and after one syllable
        (
            "빵은 쌀가루만으로, 배우들은 화면으로만, 정부로부터 폐에 끝까지",
            "빵 쌀가루 배우 화면 정부 폐 끝",
        ),
        # nouns that end as if they had one
        (
            "불만 낭만 미만 이승만 코로나가 우크라이나와 내란 사랑 전공의 벨기에 큰아들이 항만을",
            "불만 낭만 미만 이승만 코로나 우크라이나 내란 사랑 전공의 벨기에 큰아들 항만",
        ),
        (
            "동기 인기 경기 시기 무기 분위기 이야기 읽기 쓰기",
            "동기 인기 경기 시기 무기 분위기 이야기 읽기 쓰기",
        ),
        # verbs by their final consonant, and adverbs
        ("먹는 뒤덮고 찾아 낮게 알려 이용해 하지만 좋지만 스스로 얼마나 오랜만에", ""),
        ("NHK가 AI를 도입하였으며 김영록 지사도 참석하지 않았다.", "NHK AI 김영록 지사도"),
        ("Die Stadt hat ein neues Projekt, das die Regierung zahlt.", "Stadt Projekt Regierung"),
        ("L’ail cru serait-il dans la soupe de l'Eurovision ?", "ail cru soupe Eurovision"),
        ("Les enquêteurs ont noté qu'il y avait une somme.", "enquêteurs noté somme"),
        ("He said that the war in the city was over, and it wasn’t.", "war city"),
        ("Era il sindaco della città, e l'isola è sua.", "sindaco città isola"),
        ("El alcalde de la ciudad dijo que no hay puente.", "alcalde ciudad puente"),
        ("De brug over de rivier is niet open.", "brug rivier open"),
        ("Mer om broen og havet i den byen er ikke her.", "broen havet byen"),
        ("Мэр города сказал, что мост не был открыт.", "Мэр города мост открыт"),
        ("Dr. Holt and Mr. Roe met in April.", "Holt Roe met"),
        ("Frau Dr. Weber kam im März mit der Bahn.", "Weber Bahn"),
        ("قال الوزير إن الجسر في المدينة تم بناؤه من قبل.", "الوزير الجسر المدينة بناؤه"),
        ("شهردار گفت که پل شهر در این سال باز شد.", "شهردار پل شهر باز"),
        ("ראש העיר אמר כי הגשר של העיר לא היה פתוח.", "ראש העיר הגשר העיר פתוח"),
        ("मेयर ने कहा कि शहर का पुल बंद है।", "मेयर शहर पुल बंद"),
        ("Belediye başkanı bu köprü için çok para var dedi.", "Belediye başkanı köprü para"),
        ("Jembatan di kota itu tidak akan dibuka.", "Jembatan kota dibuka"),
        ("Cây cầu của thành phố không được mở.", "Cây cầu thành phố mở"),
        ("Ο δήμαρχος είπε ότι η γέφυρα δεν είναι ανοιχτή.", "δήμαρχος είπε γέφυρα ανοιχτή"),
        ("Starosta řekl, že most ve městě je zavřený.", "Starosta řekl most městě zavřený"),
    ],
)
def test_words(text, expected):
    assert found(text) == [expected.split()]


def test_the_language_is_that_of_each_text():
    """A word is empty in one language and not in another: `war` is a form of to be in German."""
    german, english = "Es war die Stadt und das war der Krieg.", "It was the war of the city."
    assert found(german, english, "") == [["Stadt", "Krieg"], ["war", "city"], []]


@pytest.mark.parametrize("table", load_tables("keywords"))
def test_tables(table):
    words = table.get("empty", "").split()
    assert words == sorted(set(words))
    assert table.get("endings", "").count("(") - table.get("endings", "").count("(?") <= MOST_GROUPS
    # the vowel signs of Devanagari are marks and no letters
    letters = ["".join(c for c in word if unicodedata.category(c)[0] != "M") for word in words]
    assert all(re.fullmatch(r"[^\W\d_]+(?:['-][^\W\d_]+)*", word) for word in letters)

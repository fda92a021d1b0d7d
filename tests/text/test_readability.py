"""Datelines and the faults of sentences."""

import collections
import itertools
import pathlib

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from tfsum.evaluation.readability import fault_shares, repeated_pairs
from tfsum.text.english import is_english
from tfsum.text.readability import (
    antecedents,
    faults,
    names_in_full,
    opens_with_anaphor,
    without_dateline,
)
from tfsum.text.rows import Rows
from tfsum.text.selection import is_notice, may_be_chosen


def _faults(sentence, english):
    """The names of a sentence's faults."""
    found = faults(tf.constant([sentence]), tf.constant([english]))
    return [name for name, flags in found.items() if flags.numpy()[0]]


@pytest.mark.parametrize(
    "sentence, rest",
    [
        ("(CNN) -- A ship sank.", "A ship sank."),
        ("LONDON, England (CNN) -- A ship sank.", "A ship sank."),
        ("(CNN)A ship sank.", "A ship sank."),
        ("HARLOW BAY (Coastal Post) -- A ship sank.", "A ship sank."),
        ("Seoul (AP) — A ship sank.", "A ship sank."),
        ("U.S. (CNN Student News) -- A ship sank.", "A ship sank."),
        ("(The Frisky) -- A ship sank.", "A ship sank."),
        ("london (cnn) -- a ship sank.", "a ship sank."),
        ("(서울=연합뉴스) 김하나 기자 = 배가 가라앉았다.", "배가 가라앉았다."),
        ("[부산=뉴시스] 김하나·박둘 기자 = 배가 가라앉았다.", "배가 가라앉았다."),
        ("(부산=뉴스1) 김하나 기자, 박둘 인턴기자 = 배가 가라앉았다.", "배가 가라앉았다."),
        ("[항구신문 김하나 기자] 배가 가라앉았다.", "배가 가라앉았다."),
        ("【東京＝山田太郎】船が沈んだ。", "船が沈んだ。"),
        ("本报讯（记者 王明 通讯员 李娜）船沉了。", "船沉了。"),
        ("新华社北京1月2日电（记者王明）船沉了。", "船沉了。"),
        ("Madrid, 12 ene (EFE).- Un barco se hundió.", "Un barco se hundió."),
        ("HARLOW BAY, Maine — A ship sank.", "A ship sank."),
        ("LONDON — The ship sank.", "The ship sank."),
        ("NASA — the agency for space — launched it.", None),
        ("IBM — Armonk's largest employer — left.", None),
        ("新华社记者看到船沉了。", None),
        ("【高松】船が沈んだ。", None),
        ("(재)항만재단은 배를 샀다.", None),
        ("(CNN) --", "(CNN) --"),
        ("The Ministry of Health (MOH) -- the body for it -- said so.", None),
        ("He (Smith) - the boss - left.", None),
        ("(a) - the first item", None),
        ("A ship sank (CNN).", None),
        ("", None),
    ],
)
def test_datelines(sentence, rest):
    given = without_dateline(tf.constant([sentence])).numpy()[0].decode()
    assert given == (sentence if rest is None else rest)


@pytest.mark.parametrize(
    "sentence, expected",
    [
        ("The ship with forty men sank.", []),
        ("She's the owner of the ship.", ["pronoun"]),
        ("“Its owner lives in the town.”", ["pronoun"]),
        ("Item one of the ship's long list.", []),
        ("He-man was on the big ship.", []),
        ("But the ship did not sink.", ["connective"]),
        ("That's why the ship did not sink.", ["connective"]),
        ("Butter was on the big ship.", []),
        ('The owner said "the ship sank.', ["quotes"]),
        ('The owner said "the ship sank."', []),
        ("The owner said “the ship sank.", ["quotes"]),
        ("The ship with forty men sank", ["no_end_mark"]),
        ("The ship sank.", ["short"]),
        ("배가 항구에서 가라앉았다고 선주가 월요일에 말했다.", []),
        ("", ["no_end_mark", "short"]),
    ],
)
def test_faults(sentence, expected):
    assert _faults(sentence, english=True) == expected


def test_shares():
    """A pronoun whose predecessor is there is no fault; a summary counts once."""
    summaries = [
        ["(CNN) -- The ship with forty men sank.", "It was an old and slow ship."],
        ["It was an old and slow ship.", "But it was a good one once."],
        [],
        ["It was old", "It sank"],
    ]
    shares = fault_shares(summaries, [[True, True], [False, True], [], [False, False]])
    expected = {"dateline": 1, "pronoun": 2, "connective": 0, "no_end_mark": 1, "short": 1}
    assert shares == {"quotes": 0.0, **{name: n / 4 for name, n in expected.items()}}
    assert set(fault_shares([], []).values()) == {0.0}


@pytest.mark.parametrize(
    "sentence, expected",
    [
        ("It's old.", True),
        ("“Their ship sank.”", True),
        ("Anna Holt: This is old.", True),
        ("Item one.", False),
        ("The ship: it sank at noon.", False),
        ("Il a coulé.", True),
        ("Il ponte era chiuso.", False),
        ("Cela coûte cher.", True),
        ("Dies kostet viel.", True),
        ("Die Stadt zahlt.", False),
        ("Este puente es viejo.", True),
        ("Это дорого.", True),
        ("그는 떠났다.", True),
        ("이 회사는 문을 닫았다.", True),
        ("이상한 일이다.", False),
        ("그리고 떠났다.", False),
        ("彼は去った。", True),
        ("他们走了。", True),
        ("其实不是。", False),
        ("", False),
    ],
)
def test_anaphors(sentence, expected):
    assert opens_with_anaphor(tf.constant([sentence])).numpy().tolist() == [expected]


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), max_size=4))
def test_repeated_pairs(summary):
    pairs = [pair for words in summary for pair in itertools.pairwise(words)]
    repeated = sum(count - 1 for count in collections.Counter(pairs).values())
    found = repeated_pairs([" ".join(words) for words in summary])
    assert found == pytest.approx(repeated / max(1, len(pairs)))


def test_notes_and_appeals_are_not_chosen():
    texts = [
        "Editor's note: Ann Lee writes about ships.",
        "The ship with forty men sank.",
        "Click here for more!",
        "CNN's Ann Lee and Bob Roe contributed to this report.",
        "Photos by Ann Lee.",
        "Photosynthesis needs light.",
        "The opinions expressed in this commentary are solely those of Ann Lee.",
        "Readers follow us everywhere.",
    ]
    chosen = may_be_chosen(tf.ragged.constant([texts])).numpy()
    assert np.flatnonzero(chosen).tolist() == [1, 5, 7]


@pytest.mark.parametrize(
    "notice, sentence",
    [
        ("Subscribe to our weekly newsletter.", "Subscribe rates rose in the spring."),
        ("© 2024 Harbour Post.", "The mark © stands for a right."),
        ("By Jane Doe, Staff Writer", "By Friday Boston fell."),
        ("Par Jean Dupont avec AFP", "Par Jean Dupont, la ville a vendu le pont."),
        ("VON HANS MEIER", "Von Wien nach Graz fahren Züge"),
        ("All rights reserved.", "All rights were sold to a publisher."),
        ("RELATED: Why ships sink", "Related families live in the town."),
        ("안나 기자 anna@example.org", "기자 두 명이 항구에 왔다."),
        ("리스본=홍길동 특파원", "특파원은 항구에 살았다."),
        ("입력 2024-03-14 09:12", "입력 자료가 모두 사라졌다."),
        ("<저작권자 ⓒ 항구신문, 무단 전재 금지>", "저작권자가 동의하면 쓸 수 있다."),
        ("안녕하세요, 총무팀 홍길동입니다.", "안녕하세요라는 말은 인사다."),
        ("情報システム部の鈴木です。", "この部の新しい仕事は海の調査です。"),
        ("いつもお世話になっております。", "彼は港で世話になった。"),
        ("责任编辑：李娜", "编辑部在港口。"),
        ("未经授权，不得转载。", "未经许可进入港口要罚款。"),
        ("Lesen Sie auch: Warum Schiffe sinken", "Lesen lernen alle in der Schule."),
        ("Vielen Dank für Ihre Nachricht vom 7. Mai.", "Vielen Dank schuldet ihm die Stadt."),
        ("Lire aussi : le port", "Lire un livre prend du temps."),
        ("Suscríbete a nuestro boletín", "Más información llegó ayer."),
        ("Читайте также: порт", "Читайте книги каждый день."),
        ("ТВЕРЬ, 12 июня — РИА Новости.", "Тверь — город на Волге."),
        ("اقرأ أيضا: الميناء", "قرأ الكاتب كتابا."),
        ("यह भी पढ़ें: बंदरगाह", "यह किताब पुरानी है।"),
        ("สงวนลิขสิทธิ์", "เรือจมที่ท่าเรือ"),
    ],
)
def test_notices_of_languages(notice, sentence):
    assert is_notice(tf.constant([notice, sentence])).numpy().tolist() == [True, False]


def test_the_tables_of_notices_leave_re2_room(capfd):
    """Where its automaton has none, it says so and takes a slower one."""
    text = (pathlib.Path(__file__).parents[2] / "examples" / "article.txt").read_text("utf-8")
    assert not is_notice(tf.constant(text.split("\n\n") * 9)).numpy().any()
    assert "out of memory" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "sentences, pairs",
    [
        (["It rained.", "It froze."], [(1, 0)]),
        (["Mayor Anna Holt spoke.", "Rain fell.", "Rain hit Holt."], [(2, 0)]),
        (["Anna Holt spoke.", "Anna Holt left."], []),
        (["Holt spoke.", "Anna Holt left."], []),
        (["Anna Holt spoke.", "Bob Roe heard Holt's men."], [(1, 0)]),
        (["Anna Holt spoke.", "“Holt left,” Anna Holt said."], []),
        (["On Monday, Holt spoke.", "Monday was wet."], []),
        (["anna holt spoke.", "holt left."], []),
        (["Anna", "Holt spoke.", "Holt left."], []),
        ([""], []),
        ([], []),
    ],
)
def test_antecedents(sentences, pairs):
    """Alone and behind another document, whose names are not these."""
    other = ["Bob Roe met Ada Monday.", "Rain fell."]
    texts = tf.ragged.constant([other, sentences, [], sentences], ragged_rank=1, dtype=tf.string)
    offsets = (2, 2 + len(sentences))
    expected = sorted((a + o, b + o) for o in offsets for a, b in pairs)
    english = tf.fill(tf.shape(texts.flat_values), True)
    found = faults(texts.flat_values, english)
    opens, documents = found["pronoun"] | found["connective"], Rows.of(texts)
    given = antecedents(documents, opens, names_in_full(texts, english))
    assert sorted(map(tuple, given.numpy().tolist())) == expected
    assert not antecedents(documents, ~english, names_in_full(texts, ~english)).shape[0]


@pytest.mark.parametrize(
    "sentence, expected",
    [
        ("Davon sind dreißig Schiffe im Hafen.", ["pronoun"]),
        ("Allerdings sank kein Schiff im Hafen.", ["connective"]),
        ("Still lag das Schiff im alten Hafen.", []),
        ("Este modelo es del año dos mil.", ["pronoun"]),
        ("Sin embargo, el barco no se hundió.", ["connective"]),
        ("En el puerto se hundió un barco.", []),
        ("En effet, le navire a sombré hier.", ["connective"]),
        ("En mer, le navire a sombré hier.", []),
        ("Кроме того, корабль затонул в порту вчера.", ["connective"]),
        ("Номер корабля был написан на борту.", []),
        ("ولكن الحكومة رفضت ذلك في يوم الاثنين.", ["connective"]),
        ("Ancak gemi limanda batmadı, dedi sahibi dün.", ["connective"]),
        ("Namun kapal itu tidak tenggelam kemarin malam.", ["connective"]),
        ("또한 배는 월요일에 항구에서 가라앉지 않았다.", ["connective"]),
        ("또렷한 소리가 월요일에 항구에서 크게 들렸다.", []),
        ("しかし、船は港で沈まなかったと船主は言う。", ["connective"]),
        ("然而，船没有在港口沉没，船主星期一说。", ["connective"]),
        ("但丁的诗写于十四世纪初的意大利。", []),
    ],
)
def test_faults_by_the_tables_of_languages(sentence, expected):
    assert _faults(sentence, english=False) == expected


def test_rules_of_english_are_for_english():
    """A German text, in which "still" means quiet, a Japanese one, whose words have no spaces."""
    german = ["Still lag das Schiff mit vierzig Mann.", "Niemand fuhr so weit noch hinaus."]
    japanese = ["月曜日に港で古い船が沈んだと言う。", "古い。"]
    texts = tf.ragged.constant([german, ["So the old ship sank with its owner."], japanese])
    english = is_english(texts)
    assert english.numpy().tolist() == [False, False, True, False, False]
    found = faults(texts.flat_values, english)
    assert found["connective"].numpy().tolist() == english.numpy().tolist()
    assert found["short"].numpy().tolist() == [False, False, False, False, True]

"""Files after public reports, from a folder beside the checkout: every document is read, and only
sentences may be chosen.

Their siblings are in the other tests of this folder, and need no such folder.
"""

import itertools

import pytest
import tensorflow as tf

from tfsum.inputs.sources import read_content
from tfsum.text.query import SharedWords
from tfsum.text.repeats import repeats
from tfsum.text.selection import may_be_chosen
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.word_piece import WordPiece

# Name of the file -> documents with a text, a sentence of theirs, and what none may hold.
CASES = {
    "array.json": (2, "It is free.", "{"),
    "box.mbox": (2, "The roof will be done in autumn.", "Subject"),
    "box_signature.mbox": (2, "The roof will be done in autumn.", "Okafor"),
    "captions.srt": (1, "A group of residents hopes to run the pool itself from April.", "-->"),
    "captions_youtube.vtt": (1, "", "-->"),
    "chat_whatsapp.txt": (1, "Ben: oh no 😱", "encrypted"),
    "headers_footers.pdf": (
        1,
        "Parents gathered outside the town hall to protest against the decision.",
        "Page",
    ),
    "hidden_text.docx": (1, "Parents protested outside the town hall.", "draft"),
    "hyphens.pdf": (
        1,
        "The well-known club has 900 members and wants a re-election of the board.",
        "swim-",
    ),
    "hyphens.txt": (
        1,
        "The well-known club has 900 members and wants a re-election of the board.",
        "gov-",
    ),
    "legal.txt": (
        1,
        "See Doe v. Roe, 410 F. Supp. 2d 113, 118 (D. Mass. 1973); Smith v. Jones Ferry Co., 93 S."
        " Ct. 705, 35 L. Ed. 2d 147 (1973).",
        "§§",
    ),
    "mail_apple_parts.eml": (1, "It costs 300,000 pounds.", "Subject"),
    "mail_blank_plain.eml": (1, "It costs 300,000 pounds.", "<"),
    "mail_forward.eml": (1, "Please tell the builders by Friday.", "Original"),
    "mail_html_gmail.eml": (1, "Please tell the builders by Friday.", "want to know"),
    "mail_outlook.eml": (1, "The roof will be done in autumn, after the season.", "want to know"),
    "mail_wrong_charset.eml": (1, "It costs £300.", "\ufffd"),
    "page_aside.html": (1, "Parents gathered outside the town hall to protest.", "cookie"),
    "page_br.html": (
        1,
        "Heating the building costs 400,000 pounds a year, and the roof must be replaced before"
        " next winter.",
        "\n",
    ),
    "paper.txt": (
        1,
        "We show that the mean delay is E[D] = 3.1 ± 0.4 min. (p < .001; see Eq. (2) and Fig. 3b).",
        "Introduction",
    ),
    "release_notes.md": (1, "Drops Python 3.8.", "Client("),
    "report_table.txt": (
        1,
        "The Board has kept the interim dividend at 4.0p per share.",
        "   ",
    ),
    "rows_cut.jsonl": (2, "It is free.", "Cut off"),
    "smart_tag_field.docx": (1, "The pool in Harlow Bay will close, the council said.", "MERGE"),
    "table_ragged.csv": (2, "The wind was strong.", ";"),
    "tracked.docx": (1, "Heating the building costs 400,000 pounds a year.", "Sunday"),
    "wiki_copy.txt": (1, "Its only ship has cracks in the hull.[note 1]", "¹ A"),
    "zero_width.txt": (1, "The council will discuss the offer next week.\u200b", ". "),
}


@pytest.fixture(scope="module")
def candidates(shared):
    """Name of a file -> its documents' sentences that may be chosen, each once."""
    splitter = SentenceSplitter("auto")

    def read(name):
        data = (shared / "cases" / name).read_bytes()
        field = "text" if name.endswith((".jsonl", ".csv", ".json")) else None
        documents = [document.text for document in read_content(data, name, field)]
        sentences = splitter.split([text for text in documents if text])["sentences"]
        chosen = may_be_chosen(sentences)
        chosen &= ~repeats(sentences, tf.zeros(tf.size(chosen)), chosen)
        kept = tf.ragged.boolean_mask(sentences, sentences.with_values(chosen)).to_list()
        return [[sentence.decode() for sentence in one] for one in kept]

    return read


@pytest.mark.parametrize("name", CASES)
def test_a_file_has_its_sentences_and_nothing_else(candidates, name):
    documents, sentence, no_prose = CASES[name]
    if name.endswith((".docx", ".pdf", ".html", ".md", ".eml")):
        pytest.importorskip("trafilatura", reason="needs the extra `documents`")
    found = candidates(name)
    assert len(found) == documents and all(found)
    joined = [
        " ".join(one.split()) if name == "hyphens.txt" else one for one in itertools.chain(*found)
    ]
    assert any(one.startswith(sentence) for one in joined)
    assert not any(no_prose in one for one in joined)


def test_a_sentence_that_is_repeated_is_there_once(candidates):
    assert len(candidates("repeated.txt")[0]) == 1


def test_plain_letters_find_ligatures(candidates):
    (sentences,) = candidates("ligature_query.txt")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "sold", "finance", "office", "fleet"]
    for ops in ("core", None):
        word_piece = WordPiece(vocabulary, ops=ops)
        pieces = tf.RaggedTensor.from_row_lengths(word_piece.tokenize(sentences), [len(sentences)])
        query = word_piece.tokenize(["finance office fleet"])
        found, _ = SharedWords(vocabulary)(query, pieces)
        assert sentences[found.numpy().argmax()] == "The ﬁnance oﬃce sold the ﬂeet."

"""What the reader of an answer should know: codes with values, and their sentences in English and
Korean.

A warning is a dict: its `code`, and shares from 0 to 1 by name, such as
`{"code": "language", "known": 0.02}`. Programs read the code; its sentence is made where it is
shown.
"""

from typing import TypeAlias

AnswerWarning: TypeAlias = dict[str, str | float]

# Language -> code -> sentence; a name in braces is a share, which is written in percent.
SENTENCES = {
    "en": {
        "empty": "there is no word in the text",
        "none": "no sentence was chosen",
        "language": (
            "only {known} of the words are in the model's vocabulary: the text seems to be in a"
            " language or script that the model was not trained on, and the answer means little"
        ),
        "words": (
            "only {frequent} of the words are frequent ones of the training corpus, which has"
            " {expected}: the text seems to be in a language that the model was not trained on, and"
            " the choice of sentences means little"
        ),
        "unpunctuated": (
            "the text has hardly any full stop, so it was split by conjunctions and by length"
        ),
        "long_sentences": (
            "the model read {coverage} of the text: sentences longer than its window were cut"
        ),
        "long_text": ("the model read {coverage} of the text: what is beyond its length was cut"),
        "unended": (
            "the answer is as long as this export lets it be, and stops there: it may lack its end"
        ),
    },
    "ko": {
        "empty": "본문에 단어가 없습니다",
        "none": "선택된 문장이 없습니다",
        "language": (
            "모델이 아는 단어가 {known}뿐입니다. 다른 언어로 학습한 모델이므로 결과를 신뢰하기"
            " 어렵습니다"
        ),
        "words": (
            "학습 데이터에 자주 나오는 단어가 {frequent}뿐입니다(학습 데이터는 {expected}). 다른"
            " 언어로 학습한 모델이므로 결과를 신뢰하기 어렵습니다"
        ),
        "unpunctuated": "마침표가 거의 없어 접속사와 길이를 기준으로 문장을 나누었습니다",
        "long_sentences": "모델이 본문의 {coverage}만 읽었습니다. 윈도보다 긴 문장은 잘렸습니다",
        "long_text": "모델이 본문의 {coverage}만 읽었습니다. 최대 길이를 넘는 부분은 잘렸습니다",
        "unended": "결과가 이 모델의 최대 길이에 이르러 끝부분이 잘렸을 수 있습니다",
    },
}


def warning_of(code: str, **shares: float) -> AnswerWarning:
    """A warning; shares are rounded to four digits.

    Args:
        code: Code of the warning, of `SENTENCES`.
        **shares: Shares from 0 to 1 that its sentence names.

    Example:
        >>> warning_of("language", known=1 / 3)
        {'code': 'language', 'known': 0.3333}
    """
    return {"code": code, **{name: round(float(share), 4) for name, share in shares.items()}}


def sentence_of(warning: AnswerWarning, language: str = "en") -> str:
    """The sentence of a warning, without a full stop.

    Args:
        warning: Warning of an answer.
        language: "en" or "ko".

    Example:
        >>> sentence_of({"code": "long_text", "coverage": 0.125})
        'the model read 12.5% of the text: what is beyond its length was cut'
        >>> sentence_of({"code": "none"}, "ko")
        '선택된 문장이 없습니다'
    """
    shares = {
        name: f"{round(100 * float(share), 1):g}%"  # one digit behind the point at most
        for name, share in warning.items()
        if name != "code"
    }
    return SENTENCES[language][str(warning["code"])].format(**shares)

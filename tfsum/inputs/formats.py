"""The readers of the formats, imported where a file needs them; the extra `documents` has them."""

from collections.abc import Callable

from tfsum.errors import DataError, install_extra
from tfsum.inputs.content import Content
from tfsum.inputs.kinds import WORDS, decode


def contents_of(kind: str, data: bytes, name: str, encoding: str | None = None) -> list[Content]:
    """The texts of a document: one, or those of all mails in a mailbox.

    Args:
        kind: A kind of `tfsum.inputs.kinds.READ`, but not "text" or "rows".
        data: Content of the file.
        name: Name of the file in messages.
        encoding: Python's name of the encoding of a file of text; None recognizes it.

    Raises:
        DataError: It is damaged or holds no text, or the library that reads it is not installed.

    Example:
        >>> mail = b"From: Anna\\nSubject: Rain\\n\\nIt rained.\\n> Did it rain?\\n"
        >>> [content.text for content in contents_of("mail", mail, "a.eml")]
        ['It rained.']
    """
    try:
        if kind in ("markdown", "latex", "notebook"):
            text, notes = decode(data, name, encoding)
            content = _text_reader(kind)(text)
            contents = [Content(content.text, [*notes, *content.notes])]
        elif kind == "mail":
            from tfsum.inputs.mail import mail_content, split_mailbox

            contents = [mail_content(mail) for mail in split_mailbox(data)]
        else:
            contents = [_reader(kind)(data)]
    except (DataError, MemoryError):
        raise
    except ImportError:
        raise DataError(
            f"{name}: is {WORDS[kind]}, which is read with the extra `documents`:"
            f" {install_extra('documents')}"
        ) from None
    except Exception as error:  # the libraries' own errors, which have no base class
        reason = (str(error) or "damaged").splitlines()[0]
        raise DataError(
            f"{name}: cannot be read as {WORDS[kind]} ({type(error).__name__}: {reason}); the file"
            " seems to be damaged, or is protected by a password"
        ) from None

    if not any(content.text.strip() for content in contents):
        why = "; its pages may be images, which need a program for text recognition"
        raise DataError(f"{name}: no text was found in {WORDS[kind]}{why if kind == 'pdf' else ''}")
    return contents


def _text_reader(kind: str) -> Callable[[str], Content]:
    from tfsum.inputs import marked_up

    readers = {
        "markdown": marked_up.markdown_content,
        "latex": marked_up.latex_content,
        "notebook": marked_up.notebook_content,
    }
    return readers[kind]


def _reader(kind: str) -> Callable[[bytes], Content]:
    if kind == "html":
        from tfsum.inputs.web_page import page_content

        return page_content
    if kind == "pdf":
        from tfsum.inputs.pdf import pdf_content

        return pdf_content
    if kind == "docx":
        from tfsum.inputs.word import word_content

        return word_content
    from tfsum.inputs import books

    readers = {
        "epub": books.epub_content,
        "odt": books.odt_content,
        "rtf": books.rtf_content,
    }
    return readers[kind]

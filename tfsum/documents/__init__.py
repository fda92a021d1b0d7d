"""Documents as people have them: files of any kind, folders and addresses, read as text or refused by their name."""

from tfsum.documents.sources import Document, Source, find_sources, read_plain, read_source

__all__ = ["Document", "Source", "find_sources", "read_plain", "read_source"]

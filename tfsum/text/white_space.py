"""White space for RE2, whose `\\s` is ASCII's alone: that at which `str.split` parts words."""

IN_CLASS = r"\s\x0b\x1c-\x1f\x{85}\p{Z}"  # between the brackets of a class of characters
WHITE_SPACE = f"[{IN_CLASS}]+"
WORD = f"[^{IN_CLASS}]+"
# the scripts that are written without it, between the brackets of a class of characters
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"

"""The words by which a text is known as English; needs no TensorFlow."""

# "a" is as common in Hungarian and Portuguese.
COMMON = frozenset(
    "the of and to in that is was for it on with he said are as his be by have from at an this they"
    " not but were has had she her will who".split()
)
LEAST = 0.15  # of the words of an English text are common ones

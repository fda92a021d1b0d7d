"""Control characters, and the marks that turn the direction of writing: on a terminal they move the
cursor, hide or forge, and browsers drop them."""

CONTROLS = (
    *(set(range(32)) - {9, 10}),
    *range(127, 160),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
# Those of ASCII as pictures, U+2400 and following.
PICTURES = {code: 0x2400 + code for code in CONTROLS if code < 32 and code != 13} | {127: 0x2421}

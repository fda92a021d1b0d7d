"""How good answers are, beside other programs."""

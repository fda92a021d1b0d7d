"""How fast models are, beside other programs."""

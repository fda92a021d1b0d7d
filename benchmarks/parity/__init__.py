"""Whether two versions of tfsum give the same."""

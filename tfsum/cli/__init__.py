"""The command line: one file a verb; parses, calls one function of the library, prints."""

"""Documents as people have them: files of any kind, folders and addresses, read as text."""

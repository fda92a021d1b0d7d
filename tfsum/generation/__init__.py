"""What all writers share: the exported search, the Python callable, attention, the report."""

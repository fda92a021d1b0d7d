"""From a corpus file to batches: readers, oracle labels, TFRecords, token-budget batches."""

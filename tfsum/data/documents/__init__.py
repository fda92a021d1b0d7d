"""What documents with summaries need in any model: records, windows, batches, oracle labels."""

"""Other people's files, both ways: Hugging Face, Google, BertSum and PreSumm."""

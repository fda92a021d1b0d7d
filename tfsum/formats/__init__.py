"""Files of models and tokenizers: safetensors, torch, Google, Hugging Face, BertSum, lists of word pieces."""

"""Files of models and tokenizers: safetensors, torch, Google, Hugging Face, vocabularies."""

"""Measures of summaries: ROUGE in every script, BLEU, bootstrap intervals."""

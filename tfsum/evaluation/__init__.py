"""How good summaries are: ROUGE in every script, baselines, bootstrap intervals, the report."""

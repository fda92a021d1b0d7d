"""Training: the exact step, schedules, recipes, checkpoints and resume."""

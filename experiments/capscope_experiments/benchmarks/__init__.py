"""Measurements of speed and of error rates, each a script: `python -m` and its name."""

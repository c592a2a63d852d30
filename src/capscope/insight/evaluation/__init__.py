"""How good a learned model is: against the exact truth, and against independent samples."""

"""The experiments: each question of the paper is one command that anyone can rerun."""

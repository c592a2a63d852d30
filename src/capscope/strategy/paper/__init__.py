"""The strategies of the paper: one policy from one start, executed many times."""

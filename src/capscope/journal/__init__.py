"""What was observed: the journal of a run, and the one table of executions read from it."""

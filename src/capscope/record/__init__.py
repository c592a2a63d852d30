"""What was seen: the multiset of transitions, and the durable record of a run."""

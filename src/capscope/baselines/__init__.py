"""Other ways to learn a capability model, for comparison."""

"""Other methods on the same agents."""


class BudgetSpent(Exception):  # noqa: N818 - it ends a run, it is not an error
    """Raised at the execution that the budget does not allow; names what is spent."""

"""Errors whose message is for the user: what is wrong, where, and what to do about it.

The command line prints such an error as one line and exits with code 2; anything else that
escapes is a defect of capscope and keeps its traceback.
"""


class CapscopeError(Exception):
    """Report a mistake the user can mend; the message says how."""


class VocabularyError(CapscopeError):
    """Report an atom, object or predicate that the vocabulary does not declare."""


class ProblemError(CapscopeError):
    """Report a problem that cannot be loaded or whose parts break their contract."""


class SimulatorError(ProblemError):
    """Report a simulator or abstraction that raised: what it reports can no longer be trusted."""


class DomainFileError(ProblemError):
    """Report a mistake in a PPDDL file, with its path and line."""


class LayoutError(ProblemError):
    """Report a mistake in the file of a grid, with its path, line and column."""


class LlmError(ProblemError):
    """Report a language model that cannot be asked: nothing that the agent did or failed to do."""


class RunError(CapscopeError):
    """Report a run directory that cannot be read, started or resumed."""


class JournalError(RunError):
    """Report a journal that cannot be written or is not intact."""


class SampleError(CapscopeError):
    """Report an evaluation dataset that cannot be read or written."""

"""A simulator or abstraction that raises: what it reports can no longer be trusted.

Unlike an agent's failure this is not an outcome. The run stops with one line; everything before is
in the journal, and the run continues once the problem is fixed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from capscope.errors import CapscopeError, SimulatorError
from capscope.problem import Problem
from capscope.problem.attempt import is_exit


@contextmanager
def report_simulator_errors(problem: Problem, doing: str) -> Iterator[None]:
    """Turn what the parts of a problem raise into an error that says when it happened."""
    try:
        yield
    except CapscopeError:
        raise
    except BaseException as error:
        if not (isinstance(error, Exception) or is_exit(error)):
            raise
        raise simulator_error(problem, error, doing) from error


def simulator_error(problem: Problem, error: BaseException, doing: str) -> SimulatorError:
    """Describe what was raised, and when."""
    return SimulatorError(
        f"the simulator or abstraction of {problem.name} raised {type(error).__name__}: {error} "
        f"{doing}; fix it"
    )

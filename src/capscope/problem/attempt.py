"""One attempt of the agent at an intent, from the simulator's current position.

However an attempt ends, its last state is an outcome: an agent that raises or chooses an invalid
action has failed, and failures are data; so is a conversation that the language model's server
refuses while it answers others. An exception of the simulator or abstraction is an error,
because it can no longer be trusted; so is a language model that cannot be reached, because then the
agent was not tested.
"""

import os
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import NamedTuple, NoReturn

from capscope.errors import CapscopeError, ConversationRefused, ProblemError, SimulatorError
from capscope.logic import Intent, State
from capscope.problem.actions import AS_THEY_ARE, WrittenAction, written
from capscope.problem.problem import (
    Action,
    Allowance,
    AllowanceSpent,
    Attempting,
    InvalidAction,
    Observation,
    Problem,
)

_MOST_TOKENS = 1 << 40
_CAPSCOPE = Path(__file__).parents[1]
_LIBRARIES = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))


class Ending(StrEnum):
    """Why an attempt ended."""

    STOPPED = "agent stopped"
    CHANGED = "state changed"
    HORIZON = "horizon reached"
    WORLD_ENDED = "world ended"
    AGENT_RAISED = "agent raised"
    INVALID_ACTION = "invalid action"
    CUT = "budget spent"
    REFUSED = "conversation refused"


class Position(NamedTuple):
    """The simulator's current observation and its symbolic state."""

    observation: Observation
    state: State


class Attempt(NamedTuple):
    """What happened in an attempt."""

    trajectory: tuple[State, ...]
    """Symbolic states from the first to the last, without consecutive repeats."""
    simulator_steps: int
    ending: Ending
    llm_tokens: int = 0
    detail: str = ""
    """The message of the agent's failure, if it failed."""
    transcript: str = ""
    """The agent's transcript; stored in the journal, and not read back with the attempt."""
    actions: tuple[WrittenAction, ...] = ()
    """One for each simulator step; like the transcript, not read back with the attempt."""


def pursue(
    problem: Problem,
    intent: Intent,
    start: Position,
    seed: int,
    max_steps: int | None = None,
    allowance: Allowance | None = None,
) -> tuple[Attempt, Position]:
    """Let the agent pursue an intent; return what happened and the position at the end.

    `max_steps` and `allowance` are what the budget allows; an attempt that needs more ends as CUT.
    """
    limits = problem.limits
    horizon = limits.horizon if max_steps is None else min(limits.horizon, max_steps)
    observation, state = start
    changes_left = limits.temporal_length or 0
    trajectory = [state]
    steps = 0
    actions: list[WrittenAction] = []
    detail = ""
    attempting: Attempting | None = None
    try:
        attempting = problem.agent.begin(intent, seed)
        # Checking for the protocol would be slow, and this is done for every execution.
        if allowance is not None and hasattr(attempting, "spend_from"):
            attempting.spend_from(allowance)
        while True:
            if not _actions(problem):
                ending = Ending.WORLD_ENDED
                break
            # The agent acts before the horizon is checked: stopping needs no step.
            action = attempting.act(observation)
            if action is None:
                ending = Ending.STOPPED
                break
            if steps >= horizon:
                ending = Ending.HORIZON if steps >= limits.horizon else Ending.CUT
                break
            # Before the step: a tool may keep and change the arguments that it is given.
            actions.append(action if type(action) in AS_THEY_ARE else written(action))
            observation, after = _step(problem, intent, action)
            steps += 1
            if after != state:
                state = after
                trajectory.append(after)
                changes_left -= 1
                if not changes_left:
                    ending = Ending.CHANGED
                    break
    except InvalidAction as error:
        ending, detail = Ending.INVALID_ACTION, str(error)
    except ConversationRefused as error:
        ending, detail = Ending.REFUSED, str(error)
    except AllowanceSpent:
        ending = Ending.CUT
    except ProblemError:
        raise
    except Exception as error:
        ending, detail = Ending.AGENT_RAISED, _described(error)
    except BaseException as error:
        if not is_exit(error):
            raise
        raise ProblemError(
            f"the agent of {problem.name} tried to end the program for intent {intent} "
            f"({_described(error)}); the draw was not recorded, earlier ones are kept: let the "
            "agent raise an exception, or return None to stop"
        ) from error
    finally:
        if attempting is not None and hasattr(attempting, "end"):
            attempting.end()
    tokens, transcript = _told(problem, attempting)
    taken = tuple(actions[:steps])  # without one that was not available
    attempt = Attempt(tuple(trajectory), steps, ending, tokens, detail, transcript, taken)
    return attempt, Position(observation, state)


def is_exit(error: BaseException) -> bool:
    """Return whether foreign code tried to end the program, by `sys.exit` or the like.

    Ctrl-C is the user's, and what capscope itself raises to stop something is not meant.
    """
    own = type(error).__module__.partition(".")[0] == "capscope"
    ours = isinstance(error, Exception | KeyboardInterrupt | GeneratorExit)
    return not (own or ours)


def _described(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # its own text raises
        text = "(without a message)"
    return f"{type(error).__name__}{error_location(error)}: {text}"


def _told(problem: Problem, attempting: Attempting | None) -> tuple[int, str]:
    """Return the tokens and the transcript of an attempt."""
    tokens = getattr(attempting, "llm_tokens", 0)
    transcript = getattr(attempting, "transcript", "")
    if type(tokens) is not int or not 0 <= tokens <= _MOST_TOKENS:
        raise ProblemError(
            f"llm_tokens of an attempt of {problem.name} is {tokens!r:.60}, not a count; make it "
            "an int"
        )
    if not isinstance(transcript, str):
        raise ProblemError(
            f"the transcript of an attempt of {problem.name} is {type(transcript).__name__}, not "
            "text; make it a str"
        )
    return tokens, transcript


def observed_state(problem: Problem, observation: Observation) -> State:
    """Return the symbolic state of an observation; raise if it is none of the vocabulary."""
    state = problem.abstraction(observation)
    # A state with bits that stand for no atom would be recorded, and could never be read.
    if type(state) is not int or state < 0 or state >> len(problem.vocabulary.atoms):
        raise ProblemError(
            f"the abstraction of {problem.name} returned {state!r:.60}, which is not a state over "
            f"the {len(problem.vocabulary.atoms)} atoms of its vocabulary; return "
            "vocabulary.state([...])"
        )
    return state


def _actions(problem: Problem) -> Sequence[Action]:
    try:
        return problem.simulator.actions()
    except Exception as error:
        raise simulator_error(problem, error, "in actions()") from error


def _step(problem: Problem, intent: Intent, action: Action) -> Position:
    try:
        observation = problem.simulator.step(action)
        return Position(observation, observed_state(problem, observation))
    except (InvalidAction, ProblemError):
        raise
    except Exception as error:
        doing = f"on action {action} for intent {intent}"
        otherwise = "raise capscope.problem.InvalidAction for an action that is not available"
        raise simulator_error(problem, error, doing, f", or {otherwise}") from error


def error_location(error: BaseException) -> str:
    """Return the last line of the user's own code in a traceback, or else of a library's.

    Only the file's name is given, so that records do not depend on its folder.
    """
    frames = traceback.walk_tb(error.__traceback__)
    places = [(Path(frame.f_code.co_filename), line) for frame, line in frames]
    foreign = [place for place in places if not place[0].is_relative_to(_CAPSCOPE)]
    own = [place for place in foreign if not any(map(place[0].is_relative_to, _LIBRARIES))]
    if not foreign:
        return ""
    path, line = (own or foreign)[-1]
    return f" ({path.name}, line {line})"


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


def simulator_error(
    problem: Problem, error: BaseException, doing: str, otherwise: str = ""
) -> SimulatorError:
    """Describe what was raised, and when."""
    return SimulatorError(
        f"the simulator or abstraction of {problem.name} raised {type(error).__name__}: {error} "
        f"{doing}; fix it{otherwise}"
    )


_end_process = os._exit
_lock = Lock()
_guarded = 0
"""How many blocks are guarded; runs may be nested, and made in several threads."""
_process = 0
"""The process that is guarded."""


def _exit(status: int) -> NoReturn:
    if not _guarded or os.getpid() != _process:
        _end_process(status)
    raise SystemExit(f"os._exit({status})")


@contextmanager
def only_by_itself() -> Iterator[None]:
    """Turn what would end the program in the block into an error.

    `os._exit(0)` in an agent would end it without a word and with the exit code of success, so that
    a check in CI passes. While a run is under way it raises `SystemExit` instead, as `sys.exit`
    does, and that is an error of the run. In a forked child it does what it always did.
    """
    _guard(1)
    try:
        yield
    except SystemExit as error:
        raise ProblemError(
            f"code of the problem tried to end the program (SystemExit: {error}); everything "
            "observed is kept: let it raise an exception instead"
        ) from error
    finally:
        _guard(-1)


def _guard(more: int) -> None:
    global _guarded, _process
    with _lock:
        _guarded += more
        _process = os.getpid()
        os._exit = _exit if _guarded else _end_process

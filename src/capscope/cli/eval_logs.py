"""`capscope diff A.eval B.eval`: two eval logs of inspect, compared sample by sample."""

from collections.abc import Sequence

import typer

from capscope.cli.output import phases, print_with_page
from capscope.errors import CapscopeError
from capscope.logic import to_json

_CODES = {"unchanged": 0, "changed": 1, "undecided": 3}


def is_log(path: str) -> bool:
    """Return whether a path is that of an eval log rather than of a run."""
    return path.endswith((".eval", ".json"))


def diff_logs(
    logs: Sequence[str], error_rate: float, margin: float, html: str | None, json: bool
) -> None:
    """Compare two eval logs; the exit code says whether anything changed."""
    if len(logs) != 2 or not all(map(is_log, logs)):
        raise CapscopeError("eval logs are compared two at a time, the baseline first")
    if html is not None:
        raise CapscopeError("there is no page for eval logs; leave out --html")
    with phases("diff"):
        from capscope.adapters.inspect import compare_logs

        found = compare_logs(*logs, margin=margin, error_rate=error_rate)
    print_with_page(json, {"verdict": found.verdict, **to_json(found)}, found.lines(), None)
    raise typer.Exit(_CODES[found.verdict])

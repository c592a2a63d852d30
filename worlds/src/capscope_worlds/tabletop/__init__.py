"""A robot at a table with four blocks and a cup: contact physics, and eyes that make mistakes.

`mujoco` is an extra, imported when the first simulator is made; skills and predicates do not need
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capscope.errors import ProblemError
from capscope_worlds import install_hint
from capscope_worlds.tabletop.poses import BLOCKS, CUP, THINGS
from capscope_worlds.tabletop.predicates import TableAbstraction, table_vocabulary
from capscope_worlds.tabletop.skills import SKILLS, TABLE, Skill

if TYPE_CHECKING:
    from capscope_worlds.tabletop.simulator import TabletopSimulator

__all__ = [
    "BLOCKS",
    "CUP",
    "SKILLS",
    "TABLE",
    "THINGS",
    "Skill",
    "TableAbstraction",
    "table_vocabulary",
    "tabletop_simulator",
]


def tabletop_simulator() -> TabletopSimulator:
    """Make the simulator; raise `ProblemError` if MuJoCo is not installed."""
    try:
        from capscope_worlds.tabletop.simulator import TabletopSimulator
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mujoco":
            raise
        raise ProblemError(f"the table needs mujoco: {install_hint('tabletop')}") from error
    return TabletopSimulator()

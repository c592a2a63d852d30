"""The skills of the robot: put a block on another block, into the cup or on the table.

A skill is known by its description, which is also what a language model reads.
"""

from collections.abc import Mapping
from typing import NamedTuple

from capscope_worlds.tabletop.poses import BLOCKS, CUP

TABLE = "table"


class Skill(NamedTuple):
    """What to pick up, and where to put it: a thing or the table.

    >>> str(Skill("red", "cup"))
    'put the red block in the cup'
    """

    block: str
    target: str

    def __str__(self) -> str:
        where = {CUP: "in the cup", TABLE: "on the table"}
        return f"put the {self.block} block {where.get(self.target, f'on the {self.target} block')}"

    @property
    def intent(self) -> str:
        """What it is for, in the words of the table."""
        return (
            f"on-table({self.block})" if self.target == TABLE else f"on({self.block},{self.target})"
        )


SKILLS: Mapping[str, Skill] = {
    str(skill): skill
    for skill in (
        Skill(block, target)
        for block in BLOCKS
        for target in (*BLOCKS, CUP, TABLE)
        if target != block
    )
}
"""All skills by their descriptions."""

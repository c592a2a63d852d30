"""Train the grid agent; without arguments, recreate the values that come with capscope.

python scripts/train_grid_q.py [LAYOUT.txt VALUES.npz] [--episodes N] [--seed N]
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import fields
from pathlib import Path

from capscope.agents.grid_q import FOUR_QUADRANTS_VALUES, Training, train
from capscope.environments.minigrid import (
    FOUR_QUADRANTS,
    GridAbstraction,
    grid_simulator,
    read_layout,
)
from capscope.errors import CapscopeError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layout", nargs="?", type=Path, default=FOUR_QUADRANTS)
    parser.add_argument("values", nargs="?", type=Path)
    for field in fields(Training):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    given = parser.parse_args()
    if given.values is None and given.layout != FOUR_QUADRANTS:
        parser.error("give the file to write, too: LAYOUT.txt VALUES.npz")
    training = Training(**{field.name: getattr(given, field.name) for field in fields(Training)})
    try:
        layout = read_layout(given.layout)
        simulator = grid_simulator(layout)
    except CapscopeError as error:
        parser.error(str(error))
    start = time.perf_counter()
    values = train(simulator, GridAbstraction(layout), training, layout.fingerprint)
    path = given.values or FOUR_QUADRANTS_VALUES
    values.save(path)
    rows, goals, _ = values.table.shape
    seconds = time.perf_counter() - start
    print(
        f"{path}: {rows} positions, {goals} goals, {training.episodes:,} episodes, {seconds:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Worlds for measuring how well a model generalizes, with exact truth.

Planning problems are PPDDL files in `pddl/`: other instances of the domains that come with
capscope, and domains made for this. Worlds in Python are functions of `tabulated.py`. Agents whose
bugs or honesty are known are in `files.py`, `mail.py`, `desk.py`, `habits.py` and `honest.py`.
"""

import re
from pathlib import Path

from capscope.adapters.pddl import SHIPPED_PROBLEMS, shipped_files
from capscope_experiments.worlds import tabulated

_PLANNING = Path(__file__).parent / "pddl"


def source_of(name: str) -> str:
    """Return the source by which a world of this package is loaded.

    Args:
        name: A planning problem in `pddl/`, a function of `tabulated.py`, or any other source.

    Returns:
        What `load_problem` and `assess` take.
    """
    problem = _PLANNING / f"{name}.pddl"
    if problem.is_file():
        (domain,) = re.findall(r"\(:domain ([\w-]+)\)", problem.read_text())
        shipped = domain in SHIPPED_PROBLEMS
        path = shipped_files(domain)[0] if shipped else _PLANNING / f"{domain}-domain.pddl"
        return f"{path}:{problem}"
    function = name.replace("-", "_")
    return f"{tabulated.__file__}:{function}" if hasattr(tabulated, function) else name

"""Where an agent's exception came from, in few words.

A traceback is long, and most of it is capscope's own or a library's. What helps is the last line of
the user's own code: that is where to look. Its file is told by name only, so that a record does not
depend on where the file lies.
"""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_OURS = Path(__file__).parents[1]
_LIBRARIES = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))


def error_location(error: BaseException) -> str:
    """Name the file and the line, in parentheses; empty where all of it is capscope's own.

    An agent that is installed like a library is looked for after the user's own files.
    """
    frames = traceback.walk_tb(error.__traceback__)
    places = [(Path(frame.f_code.co_filename), line) for frame, line in frames]
    foreign = [place for place in places if not place[0].is_relative_to(_OURS)]
    own = [place for place in foreign if not any(map(place[0].is_relative_to, _LIBRARIES))]
    if not foreign:
        return ""
    path, line = (own or foreign)[-1]
    return f" ({path.name}, line {line})"

"""Where an agent's exception was raised.

Most of a traceback is in capscope or in libraries; the last line of the user's own code is what
helps. Only the file's name is given, so that records do not depend on its folder.
"""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_CAPSCOPE = Path(__file__).parents[1]
_LIBRARIES = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))


def error_location(error: BaseException) -> str:
    """Return the file and the line in parentheses; empty if all code is capscope's.

    Code in libraries is considered only if no other is in the traceback.
    """
    frames = traceback.walk_tb(error.__traceback__)
    places = [(Path(frame.f_code.co_filename), line) for frame, line in frames]
    foreign = [place for place in places if not place[0].is_relative_to(_CAPSCOPE)]
    own = [place for place in foreign if not any(map(place[0].is_relative_to, _LIBRARIES))]
    if not foreign:
        return ""
    path, line = (own or foreign)[-1]
    return f" ({path.name}, line {line})"

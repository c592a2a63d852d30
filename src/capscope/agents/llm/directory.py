"""Where answers and weights are kept: the user's cache directory, or wherever CAPSCOPE_CACHE says.

Nothing in it is lost for good when it is deleted, but answers are paid for again.
"""

from __future__ import annotations

import os
from pathlib import Path

from capscope.errors import LlmError


def cache_directory() -> Path:
    """Return the directory, whether or not it exists yet."""
    given = os.environ.get("CAPSCOPE_CACHE")
    if given:
        return Path(given).expanduser()
    # By the XDG rules a relative path is to be ignored.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "capscope"


def make_directory(path: Path) -> Path:
    """Make a directory and those above it, or say why it cannot be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LlmError(
            f"cannot make the cache directory {path}: {error.strerror}; set CAPSCOPE_CACHE to one "
            "that can be written"
        ) from error
    return path

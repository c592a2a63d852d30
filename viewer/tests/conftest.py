"""A server of the local page, on a free port of this machine, and the command line."""

from contextlib import ExitStack

import pytest

from capscope_view.server import serving
from support.command_line import capscope, refusal

__all__ = ["capscope", "refusal"]


@pytest.fixture
def served():
    """Return a function that serves a folder until the end of the test; it returns the server."""
    with ExitStack() as stack:
        yield lambda root, **options: stack.enter_context(serving(root, **options))

"""A server of the local page, on a free port of this machine."""

from contextlib import ExitStack

import pytest

from capscope_view.server import serving


@pytest.fixture
def served():
    """Return a function that serves a folder until the end of the test; it returns the server."""
    with ExitStack() as stack:
        yield lambda root, **options: stack.enter_context(serving(root, **options))

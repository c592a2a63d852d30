"""The small language model, if it is installed and its weights have been fetched."""

import importlib.util

import pytest

from capscope_worlds.local_llm import weights_path

SMALL_MODEL_PATH = weights_path()  # before a test gets its own cache
_INSTALLED = all(importlib.util.find_spec(name) for name in ("xllamacpp", "openai"))
needs_the_small_model = pytest.mark.skipif(
    not (_INSTALLED and SMALL_MODEL_PATH.is_file()),
    reason="needs the extra local-llm and `capscope llm fetch`",
)

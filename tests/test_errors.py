import importlib.metadata
import json

import pytest

from capscope.errors import install_hint


@pytest.fixture
def installed(monkeypatch):
    """Pretend that capscope was installed with this text in `direct_url.json`."""

    def pretend(text):
        class Installed:
            def read_text(self, name):
                return text if name == "direct_url.json" else None

        monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed())

    return pretend


GIT = {"vcs": "git", "commit_id": "abc"}


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (
            {"url": "file:///home/me/my%20clone", "dir_info": {"editable": True}},
            "pip install -e '/home/me/my clone[llm]'",
        ),
        ({"url": "file:///clone", "dir_info": {}}, "pip install '/clone[llm]'"),
        (
            {"url": "https://host/capscope.git", "vcs_info": GIT},
            "pip install 'capscope[llm] @ git+https://host/capscope.git'",
        ),
        (
            {"url": "https://host/all.git", "subdirectory": "sub"}
            | {"vcs_info": {**GIT, "requested_revision": "v1"}},
            "pip install 'capscope[llm] @ git+https://host/all.git@v1#subdirectory=sub'",
        ),
        (
            {"url": "https://host/capscope.whl", "archive_info": {}},
            "pip install 'capscope[llm] @ https://host/capscope.whl'",
        ),
    ],
)
def test_an_extra_is_installed_from_where_capscope_was_installed_from(installed, origin, command):
    installed(json.dumps(origin))
    assert install_hint("llm") == command


@pytest.mark.parametrize("text", [None, "", "{}", "not JSON"])
def test_an_extra_of_a_release_is_installed_by_name(installed, text):
    installed(text)
    assert install_hint("minigrid,llm") == "pip install 'capscope[minigrid,llm]'"


def test_without_metadata_an_extra_is_installed_by_name(monkeypatch):
    def not_found(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", not_found)
    assert install_hint("llm") == "pip install 'capscope[llm]'"

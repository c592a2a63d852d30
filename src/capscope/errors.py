"""Errors whose message is for the user: what is wrong, where, and what to do about it.

The command line prints such an error as one line and exits with code 2. Any other exception that
escapes is a bug in capscope and keeps its traceback.
"""

import json


class CapscopeError(Exception):
    """Report a mistake the user can fix; the message says how."""


class VocabularyError(CapscopeError):
    """Report an atom, object or predicate that the vocabulary does not declare."""


class ProblemError(CapscopeError):
    """Report a problem that cannot be loaded, or whose files or parts break their contract."""


class SimulatorError(ProblemError):
    """Report a simulator or abstraction that raised: its results can no longer be trusted."""


class LlmError(ProblemError):
    """Report a language model that cannot be asked, through no fault of the agent."""


class ConversationRefused(CapscopeError):  # noqa: N818 - it says what happened to the conversation
    """Report that a language model's server refuses one conversation and answers others.

    It ends the attempt, not the run; an agent may catch it and go on, for example with less text.
    """


class RunError(CapscopeError):
    """Report a run directory or dataset that cannot be read or written."""


class JournalError(RunError):
    """Report a journal that cannot be written or is not intact."""


def install_hint(extra: str, name: str = "capscope") -> str:
    """Return the pip command that adds an extra to a distribution as it was installed.

    A name alone would make pip look for a release, although it may come from a directory or a
    URL. pip records that in `direct_url.json` (PEP 610).
    """
    # Imported here because both take long to import and are rarely needed.
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.request import url2pathname

    try:
        recorded = distribution(name).read_text("direct_url.json")
        origin = json.loads(recorded) if recorded else {}
    except (PackageNotFoundError, ValueError):
        origin = {}
    url, subdirectory = origin.get("url"), origin.get("subdirectory")
    if not url:
        return f"pip install '{name}[{extra}]'"
    if "dir_info" in origin:
        flag = "-e " if origin["dir_info"].get("editable") else ""
        return f"pip install {flag}'{url2pathname(url.removeprefix('file://'))}[{extra}]'"
    if version_control := origin.get("vcs_info"):
        revision = version_control.get("requested_revision")
        url = f"{version_control['vcs']}+{url}" + (f"@{revision}" if revision else "")
    place = f"#subdirectory={subdirectory}" if subdirectory else ""
    return f"pip install '{name}[{extra}] @ {url}{place}'"

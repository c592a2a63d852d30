"""Demonstration worlds and agents for capscope."""

from capscope import errors


def install_hint(extra: str) -> str:
    """Return the pip command that adds an extra to this package as it was installed."""
    return errors.install_hint(extra, "capscope-worlds")

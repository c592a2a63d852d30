"""What was said and done in an attempt, as text."""

from __future__ import annotations


class Transcript:
    """Headings, and what belongs to them indented, so that no answer can imitate a heading."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def note(self, heading: str, text: str) -> None:
        """Add a part."""
        self._parts.append(f"{heading}:")
        self._parts.extend(f"  {line}" for line in text.splitlines() or ["(nothing)"])

    def __str__(self) -> str:
        return "\n".join(self._parts)

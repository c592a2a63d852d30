"""Positions with a name: two snapshots may differ and yet describe one position.

A snapshot that says how to get somewhere (a seed and the actions after it) is another one for each
way there. Which draws began alike could then never be told: nor where a run began, nor whether two
runs asked in the same position. Such a snapshot carries a name of the position in front, and what
has none is its own name. No restore rests on names: they are taken off before it.
"""

from __future__ import annotations

import hashlib
import re

from capscope.world.contracts import Snapshot

_DIGITS = 32
# Exact to the digits: a snapshot of somebody else's may well begin with this word.
_NAME = re.compile(rb"position [0-9a-f]{%d} " % _DIGITS)


def named(snapshot: Snapshot, description: bytes) -> Snapshot:
    """Put the name of a position in front of a snapshot; the same description, the same name."""
    name = hashlib.blake2b(description, digest_size=_DIGITS // 2).hexdigest()
    return b"position %b %b" % (name.encode(), snapshot)


def name_of(snapshot: Snapshot) -> bytes:
    """Return what positions are told apart by.

    >>> there, back = named(b"left, right", b"at 0"), named(b"up, down", b"at 0")
    >>> name_of(there) == name_of(back) != name_of(named(b"left", b"at -1"))
    True
    >>> name_of(b"at 0")
    b'at 0'
    """
    name = _NAME.match(snapshot)
    return name[0] if name else snapshot


def without_name(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot as it was before it was named.

    >>> without_name(named(b"left", b"at -1"))
    b'left'
    """
    name = _NAME.match(snapshot)
    return snapshot[name.end() :] if name else snapshot

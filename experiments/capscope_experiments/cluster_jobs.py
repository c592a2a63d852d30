"""Jobs of a bench in a Ray cluster: each in a fresh actor, which takes one CPU.

Jobs read and write run directories, so their folder has to be one that all nodes see. That, and
whether the nodes have the same version of capscope, is checked before the first job.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from capscope.assessment.worker_links import RayCluster, first_line
from capscope.errors import CapscopeError
from capscope.journal.run_directory import versions

_SECONDS_TO_CHECK = 120.0


@contextmanager
def connected_cluster(
    address: str | None, workers: int, folder: Path, files: Sequence[Path] = ()
) -> Iterator[RayCluster]:
    """Connect to a cluster whose nodes see a folder and have these files."""
    # The nodes of a cluster that is started here import the experiments from where they are.
    known = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, known))
    cluster = RayCluster(address, workers)
    try:
        check_nodes(cluster.ray, folder, files)
        yield cluster
    finally:
        cluster.close()


def check_nodes(ray: Any, folder: Path, files: Sequence[Path]) -> None:
    """Raise if a node does not see the folder, or has other files or another capscope."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder.resolve() / f".cluster-{secrets.token_hex(4)}"
        mark.write_text(secrets.token_hex(8), encoding="utf-8")
    except OSError as error:
        raise CapscopeError(f"cannot write to {folder}: {error.strerror}") from error
    try:
        for node in ray.nodes():
            if node["Alive"]:
                _check_node(ray, node, mark, files)
    finally:
        mark.unlink(missing_ok=True)


def _check_node(ray: Any, node: dict[str, Any], mark: Path, files: Sequence[Path]) -> None:
    strategy = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], False)
    look = ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=strategy)(_seen)
    where = f"the node {node['NodeManagerAddress']} of the cluster"
    try:
        found = ray.get(look.remote((mark, *files)), timeout=_SECONDS_TO_CHECK)
    except ray.exceptions.RayError as error:
        raise CapscopeError(f"{where} cannot run the experiments: {first_line(error)}") from error
    here = _seen((mark, *files))
    if found[mark] != here[mark]:
        raise CapscopeError(
            f"{where} does not see {mark.parent}; choose --runs in a folder that all nodes share"
        )
    if found != here:
        other = next(what for what in here if found[what] != here[what])
        raise CapscopeError(f"{where} has no {other} or another one; install the same everywhere")


def _seen(files: Sequence[Path]) -> dict[str | Path, str]:
    """Return what a node has: the digests of files, and the version of capscope."""
    found: dict[str | Path, str] = {"capscope of this version": versions()["capscope"]}
    for file in files:
        found[file] = sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    return found

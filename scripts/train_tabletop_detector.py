"""Train the detector of the tabletop robot on rendered pictures.

python scripts/train_tabletop_detector.py [WEIGHTS.npz] [--pictures N] [--seed N]

Without arguments, this recreates the weights that come with capscope, in about a minute.

Each picture shows the things in other places, some of them stacked, in the cup or gone, in another
light. The network learns from some pixels of each which thing a pixel shows: rare things as often
as common ones. It is never told which colours are similar; that is what the pictures show.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capscope.seeds import child_seed
from capscope_worlds.tabletop.camera import NOTHING, Camera
from capscope_worlds.tabletop.detector import (
    DETECTOR_WEIGHTS,
    PATCH,
    Detector,
    Floats,
    patches_of,
)
from capscope_worlds.tabletop.gripper import table_model
from capscope_worlds.tabletop.poses import BLOCK_WIDTH, BLOCKS, PoseArray, random_layout

CLASSES = NOTHING + 1


@dataclass(frozen=True)
class Training:
    """Hyperparameters of the training."""

    pictures: int = 1500
    pixels_of_each: int = 6
    """Pixels of each picture and class that are learned from."""
    hidden: int = 24
    epochs: int = 8
    batch: int = 256
    learning_rate: float = 2e-3
    seed: int = 0


def scene(seed: int) -> PoseArray:
    """Draw a table: some blocks turned, some stacked, some gone."""
    poses, rng = random_layout(seed), random.Random(child_seed(seed, 1))
    for block in range(len(BLOCKS)):
        angle = rng.uniform(-0.4, 0.4)
        poses[block, 3:] = np.cos(angle), 0.0, 0.0, np.sin(angle)
    for block in rng.sample(range(len(BLOCKS)), rng.choice((0, 0, 1, 2))):
        other = rng.choice([n for n in range(len(BLOCKS) + 1) if n != block])
        aside = np.array([rng.gauss(0, 0.004), rng.gauss(0, 0.004)])
        poses[block, :2] = poses[other, :2] + aside
        poses[block, 2] = poses[other, 2] + (BLOCK_WIDTH if other < len(BLOCKS) else 0.026)
    if rng.random() < 0.1:
        poses[rng.randrange(len(BLOCKS)), 2] = -1.0
    return poses


def examples(training: Training) -> tuple[Floats, np.ndarray]:
    """Render pictures and cut patches out of them, as many of each class as there are."""
    camera, border = Camera(table_model()), PATCH // 2
    patches, labels = [], []
    for number in range(training.pictures):
        seed = child_seed(training.seed, number)
        pixels, shown = camera.view(scene(seed), child_seed(seed, 2))
        rng = np.random.default_rng(child_seed(seed, 3))
        inner = shown[border:-border, border:-border].ravel()
        all_patches = patches_of(pixels)
        for label in range(CLASSES):
            where = np.flatnonzero(inner == label)
            chosen = rng.permutation(where)[: training.pixels_of_each]
            patches.append(all_patches[chosen])
            labels.append(inner[chosen])
    return np.concatenate(patches), np.concatenate(labels)


def train(training: Training) -> Detector:
    """Learn by stochastic gradient descent (Adam) on the cross entropy."""
    patches, labels = examples(training)
    rng = np.random.default_rng(child_seed(training.seed, training.pictures))
    inputs, units = patches.shape[1], training.hidden
    weights = [
        (rng.standard_normal((inputs + 1, units)) * np.sqrt(2 / inputs)).astype(np.float32),
        (rng.standard_normal((units + 1, CLASSES)) * np.sqrt(2 / units)).astype(np.float32),
    ]
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    for step, chosen in enumerate(_batches(len(labels), training, rng), start=1):
        gradients = _gradients(weights, patches[chosen], labels[chosen])
        for w, g, m, v in zip(weights, gradients, first, second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            scale = training.learning_rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            w -= (scale * m / (np.sqrt(v) + 1e-8)).astype(np.float32)
    return Detector(*weights)


def _batches(count: int, training: Training, rng: np.random.Generator) -> Iterator[np.ndarray]:
    for _ in range(training.epochs):
        order = rng.permutation(count)
        yield from (order[i : i + training.batch] for i in range(0, count, training.batch))


def _gradients(weights: list[Floats], patches: Floats, labels: np.ndarray) -> list[Floats]:
    hidden, output = weights
    units = np.maximum(0, patches @ hidden[:-1] + hidden[-1])
    error = Detector(hidden, output).probabilities(patches)
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    back = (error @ output[:-1].T) * (units > 0)
    return [
        np.concatenate([patches.T @ back, back.sum(axis=0, keepdims=True)]),
        np.concatenate([units.T @ error, error.sum(axis=0, keepdims=True)]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("weights", nargs="?", type=Path, default=DETECTOR_WEIGHTS)
    parser.add_argument("--pictures", type=int, default=Training.pictures)
    parser.add_argument("--seed", type=int, default=Training.seed)
    given = parser.parse_args()
    began = time.process_time()
    detector = train(Training(pictures=given.pictures, seed=given.seed))
    detector.save(given.weights)
    seconds = time.process_time() - began
    print(f"{given.weights}: {given.pictures} pictures, {seconds:.0f} s of CPU")


if __name__ == "__main__":
    main()

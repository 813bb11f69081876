"""Runs `experiments.benchmarks.gpu_cifar` on made images; prints the record.

python -m scripts.run_gpu_cifar FOLDER
"""

import pathlib
import sys

import numpy as np

from experiments.benchmarks import gpu_cifar


def load(folder):
    labels = np.arange(60) % 10
    images = np.random.default_rng(0).integers(
        0, 256, (60, 32, 32, 3), dtype="uint8"
    )
    return (images[:30], labels[:30]), (images[30:], labels[30:])


def main(folder):
    folder = pathlib.Path(folder)
    words = ["made", "--depth", "8", "--epochs", "3", "--batch_size", "10"]
    words += ["--num_views", "2", "--out", str(folder / "out")]
    gpu_cifar.main([*words, "--limit", "30"], load=load)
    (path,) = (folder / "out").glob("*.json")
    print(path.read_text().replace("\n", " "))


if __name__ == "__main__":
    main(*sys.argv[1:])

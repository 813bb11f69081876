"""Runs `experiments.benchmarks.gpu_cifar` on made images; prints the record.

python -m scripts.run_gpu_cifar FOLDER whole|interrupted
"""

import pathlib
import sys

import numpy as np

from experiments.benchmarks import gpu_cifar
from experiments.benchmarks import jax_training


def load(folder):
    labels = np.arange(60) % 10
    images = np.random.default_rng(0).integers(
        0, 256, (60, 32, 32, 3), dtype="uint8"
    )
    return (images[:30], labels[:30]), (images[30:], labels[30:])


def main(folder, how):
    folder = pathlib.Path(folder)
    words = ["made", "--depth", "8", "--epochs", "3", "--batch_size", "10"]
    words += ["--num_views", "2", "--out", str(folder / "out")]
    words += ["--work_dir", str(folder / "work"), "--limit", "30"]
    gpu_cifar.SECONDS_BETWEEN_SAVES = 0
    if how == "interrupted":
        save, saves = jax_training.save, []

        def save_and_fail(*arguments):
            save(*arguments)
            saves.append(arguments)
            if len(saves) == 2:
                raise KeyboardInterrupt

        jax_training.save = save_and_fail
        try:
            gpu_cifar.main(words, load=load)
        except KeyboardInterrupt:
            jax_training.save = save
    gpu_cifar.main(words, load=load)
    (path,) = (folder / "out").glob("*.json")
    print(path.read_text().replace("\n", " "))


if __name__ == "__main__":
    main(*sys.argv[1:])

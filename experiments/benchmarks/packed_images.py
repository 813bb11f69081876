"""CIFAR in small files, for machines that have no TFDS.

    python -m experiments.benchmarks.packed_images packed --data_dir DATA

The first file has the test set as well. Training images are sorted by the hash
of their pixels: `cifar.balanced_subset` chooses the same few from the first
file as from all of them.
"""

import argparse
import hashlib
import pathlib

import numpy as np

from examples import cifar

# Training images of a file, of at most 60 MiB.
PART = 12_500


def pack(train_set, test_set, folder, part: int = PART) -> list[pathlib.Path]:
    """Write the files; each set is `(images, labels)`.

    Args:
        train_set: Uint8 `(n, height, width, 3)` and integer labels.
        test_set: The same.
        folder: Where to write `0.npz`, `1.npz`, ...
        part: Number of training images in a file.
    """
    images, labels = train_set
    hashes = [hashlib.sha256(image.tobytes()).hexdigest() for image in images]
    order = np.argsort(hashes, kind="stable")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths, test = [], {"test_images": test_set[0], "test_labels": test_set[1]}
    for number, start in enumerate(range(0, len(order), part)):
        chosen = order[start : start + part]
        paths.append(folder / f"{number}.npz")
        sets = {"images": images[chosen], "labels": labels[chosen]}
        np.savez_compressed(paths[-1], **sets, **({} if number else test))
    return paths


def load(folder) -> tuple:
    """Training and test set, as far as the files in `folder` have them."""
    paths = sorted(pathlib.Path(folder).glob("*.npz"))
    if not paths:
        raise FileNotFoundError(
            "`folder` must hold files that "
            "`experiments.benchmarks.packed_images` wrote. "
            f"Received: {str(folder)!r}"
        )
    parts = [dict(np.load(path)) for path in paths]
    train_set = tuple(
        np.concatenate([part[name] for part in parts])
        for name in ("images", "labels")
    )
    return train_set, (parts[0]["test_images"], parts[0]["test_labels"])


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.packed_images",
        description=__doc__.partition("\n")[0],
    )
    parser.add_argument("folder", help="where to write the files")
    parser.add_argument("--dataset", choices=cifar.CLASSES, default="cifar10")
    parser.add_argument("--data_dir", help="TFDS folder; else download")
    args = parser.parse_args(argv)
    sets = cifar.load(args.dataset, args.data_dir)
    for path in pack(*sets, args.folder):
        print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()

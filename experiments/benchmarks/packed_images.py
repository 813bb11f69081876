"""CIFAR in two small files, for machines that have no TFDS.

    python -m experiments.benchmarks.packed_images packed --data_dir DATA

Images are tiles of large lossless WebP pictures, which takes half the room of
the pixels. The first file has the test set and a class-balanced part of the
training set, the second one has the rest. Training images are sorted by the
hash of their pixels: `cifar.balanced_subset` chooses the same ones from
the first file as from the whole.
"""

import argparse
import hashlib
import io
import pathlib
import zipfile

import numpy as np

from examples import cifar

SIDE = 40
# Images of the first file that are training images.
FIRST = 20_000


def pack(train_set, test_set, folder, first: int = FIRST) -> list[pathlib.Path]:
    """Write the two files; each set is `(images, labels)`.

    Args:
        train_set: uint8 `(n, height, width, 3)` and integer labels.
        test_set: the same.
        folder: where to write `0.zip` and `1.zip`.
        first: number of training images in the first file.
    """
    images, labels = train_set
    hashes = [hashlib.sha256(image.tobytes()).hexdigest() for image in images]
    order = np.argsort(hashes, kind="stable")
    images, labels = images[order], labels[order]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "0.zip", folder / "1.zip"]
    with zipfile.ZipFile(paths[0], "w") as file:
        _write(file, "test", *test_set)
        _write(file, "train", images[:first], labels[:first])
    with zipfile.ZipFile(paths[1], "w") as file:
        _write(file, "train", images[first:], labels[first:])
    return paths


def load(folder) -> tuple:
    """Training and test set, as far as the files in `folder` have them."""
    parts = {"train": [], "test": []}
    paths = sorted(pathlib.Path(folder).glob("*.zip"))
    if not paths:
        raise FileNotFoundError(
            "`folder` must hold files that "
            "`experiments.benchmarks.packed_images` wrote. "
            f"Received: {str(folder)!r}"
        )
    for path in paths:
        with zipfile.ZipFile(path) as file:
            for split in {name.split("/")[0] for name in file.namelist()}:
                parts[split].append(_read(file, split))
    return tuple(
        tuple(np.concatenate(arrays) for arrays in zip(*found, strict=True))
        for found in (parts["train"], parts["test"])
    )


def _write(file, split, images, labels):
    from PIL import Image

    for start in range(0, len(images), SIDE**2):
        tiles = images[start : start + SIDE**2]
        height, width = tiles.shape[1:3]
        rows = -(-len(tiles) // SIDE)
        empty = np.zeros((rows * SIDE - len(tiles), *tiles.shape[1:]), "uint8")
        picture = np.concatenate([tiles, empty])
        picture = picture.reshape(rows, SIDE, height, width, 3)
        picture = picture.swapaxes(1, 2).reshape(-1, SIDE * width, 3)
        data = io.BytesIO()
        Image.fromarray(picture).save(
            data, "WEBP", lossless=True, quality=100, method=6
        )
        file.writestr(f"{split}/{start:06}.webp", data.getvalue())
    data = io.BytesIO()
    np.savez_compressed(
        data, labels=labels.astype("uint8"), shape=images.shape[1:3]
    )
    file.writestr(f"{split}/labels.npz", data.getvalue())


def _read(file, split):
    from PIL import Image

    with np.load(io.BytesIO(file.read(f"{split}/labels.npz"))) as found:
        labels, (height, width) = found["labels"], found["shape"]
    images = []
    names = sorted(file.namelist())
    for name in names:
        if name.startswith(split) and name.endswith(".webp"):
            picture = Image.open(io.BytesIO(file.read(name)))
            tiles = np.asarray(picture.convert("RGB"))
            tiles = tiles.reshape(-1, height, SIDE, width, 3).swapaxes(1, 2)
            images.append(tiles.reshape(-1, height, width, 3))
    images = np.concatenate(images)[: len(labels)]
    return images, labels.astype("int64")


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks.packed_images",
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("folder", help="where to write the two files")
    parser.add_argument("--dataset", choices=cifar.CLASSES, default="cifar10")
    parser.add_argument(
        "--data_dir", help="TFDS folder that has the data; else download"
    )
    args = parser.parse_args(argv)
    sets = cifar.load_tfds(args.dataset, args.data_dir)
    for path in pack(*sets, args.folder):
        print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()

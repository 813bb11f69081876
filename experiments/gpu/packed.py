r"""What travels: arrays, wheels, and what TensorFlow makes of the tests' cases.

    python -m experiments.gpu pack --data_dir DATA --masked_lm BERT_TINY

Ten minutes on two CPU cores. CIFAR is losslessly compressed, 1.6 kB an
image: a set is two folders of less than 60 MB, `base` is with each of them.
"""

import io
import json
import os
import pathlib
import subprocess
import sys

import numpy as np

from examples import cifar
from experiments import records

MOST_BYTES = 60_000_000
TASKS = ("sst2", "cola", "mrpc", "rte")
# What keras_mmel needs of PyPI beside JAX.
WHEELS = ("keras", "keras-hub", "namex", "optree", "kagglehub", "kagglesdk")
VIEWS, LONGEST = 5, 128
# Images of one WebP file, one below the other.
STRIP = 100
# Images of a folder; CIFAR has 1.65 kB each in it.
PART = 30_000


# Images


def encode_images(images: np.ndarray) -> list[bytes]:
    """Lossless WebP files of `STRIP` images each."""
    from PIL import Image

    files = []
    for start in range(0, len(images), STRIP):
        strip = images[start : start + STRIP].reshape(-1, *images.shape[2:])
        file = io.BytesIO()
        options = {"lossless": True, "quality": 75, "method": 4}
        Image.fromarray(strip).save(file, "WEBP", **options)
        files.append(file.getvalue())
    return files


def decode_images(files: list[bytes], height: int = 32) -> np.ndarray:
    """The images of `encode_images`, uint8 `(n, height, width, 3)`."""
    from PIL import Image

    strips = [np.asarray(Image.open(io.BytesIO(file))) for file in files]
    whole = np.concatenate(strips)
    return whole.reshape(-1, height, *whole.shape[1:])


def pack_images(sets, folder, dataset: str, part: int = PART) -> None:
    """Write the test set, then the training set, into folders.

    Args:
        sets: Training and test set, each uint8 `(n, 32, 32, 3)` and labels.
        folder: Of all that is packed; gets `DATASET-0`, `DATASET-1`, ...
        dataset: Its name.
        part: Images of a folder.
    """
    (images, labels), (test_images, test_labels) = sets
    images = np.concatenate([test_images, images])
    labels = np.concatenate([test_labels, labels]).astype("uint8")
    starts = range(0, len(images), part)
    for number, start in enumerate(starts):
        chosen = slice(start, start + part)
        files = encode_images(images[chosen])
        path = pathlib.Path(folder) / f"{dataset}-{number}" / "images.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            path,
            bytes=np.frombuffer(b"".join(files), "uint8"),
            sizes=np.array([len(file) for file in files]),
            labels=labels[chosen],
            parts=len(starts),
            tests=len(test_images),
        )


def datasets(folder) -> list[str]:
    """Names of the sets of images that are there.

    Raises:
        FileNotFoundError: If there is none.
    """
    there = pathlib.Path(folder)
    found = [name for name in cifar.CLASSES if (there / f"{name}-0").exists()]
    if not found:
        raise FileNotFoundError(
            "`--data` must hold what `experiments.gpu pack` wrote. "
            f"Received: {str(folder)!r}"
        )
    return found


def load_images(folder, dataset: str, whole: bool = True) -> tuple:
    """Training and test set, each images and labels.

    Args:
        folder: Of all that is packed.
        dataset: Its name.
        whole: Whether a folder of it may not be missing.

    Raises:
        FileNotFoundError: If there is too little of it.
    """
    paths = sorted(pathlib.Path(folder).glob(f"{dataset}-*/images.npz"))
    images, labels, parts, tests = [], [], 1, 0
    for path in paths:
        with np.load(path) as file:
            ends = np.cumsum(file["sizes"])
            together, parts = file["bytes"], int(file["parts"])
            tests = int(file["tests"])
            labels.append(file["labels"].astype("int64"))
        files = np.split(together, ends[:-1])
        images.append(decode_images([one.tobytes() for one in files]))
    names = [path.parent.name for path in paths]
    if f"{dataset}-0" not in names or (whole and len(paths) < parts):
        raise FileNotFoundError(
            f"`--data` must hold all folders {dataset}-0 to "
            f"{dataset}-{parts - 1}. Received: {names} in {str(folder)!r}"
        )
    images, labels = np.concatenate(images), np.concatenate(labels)
    return (images[tests:], labels[tests:]), (images[:tests], labels[:tests])


# Text


def pack_groups(path, batches) -> None:
    """Write groups of token ids, padded to the longest.

    Args:
        path: Of the file.
        batches: What `keras_mmel.text.read_augmented` gives.
    """
    arrays = {"token_ids": [], "segment_ids": [], "padding_mask": []}
    masks, labels = [], []
    for x, y in batches:
        views = {name: np.asarray(x["views"][name]) for name in arrays}
        shape = views["token_ids"].shape
        masks.append(np.asarray(x.get("mask", np.ones(shape[:2], bool))))
        labels.append(np.asarray(y))
        short = [(0, 0), (0, 0), (0, LONGEST - shape[2])]
        for name, values in views.items():
            arrays[name].append(np.pad(values, short))
    joined = {name: np.concatenate(parts) for name, parts in arrays.items()}
    used = joined["padding_mask"].any(axis=(0, 1)).sum()
    small = {
        name: values[..., :used].astype(
            "uint16" if name == "token_ids" else "uint8"
        )
        for name, values in joined.items()
    }
    np.savez_compressed(
        path, mask=np.concatenate(masks), y=np.concatenate(labels), **small
    )


def load_groups(folder, task: str) -> tuple:
    """Groups as `MMELModel.fit` takes them: x, with a mask, and labels."""
    with np.load(pathlib.Path(folder) / "base" / f"{task}.npz") as file:
        found = {name: file[name] for name in file.files}
    y, mask = found.pop("y"), found.pop("mask")
    views = {name: values.astype("int32") for name, values in found.items()}
    return {"views": views, "mask": mask}, y


def _pack_text(args, base):
    """The first examples of each task and their samples of a masked LM."""
    from experiments.training import glue_tasks
    from keras_mmel import text

    augmenter = text.MaskedLMAugmenter(
        text.load_masked_lm(args.masked_lm), VIEWS - 1, max_length=LONGEST
    )
    for name in TASKS:
        source = glue_tasks.source(
            glue_tasks.TASKS[name], "train", args.data_dir, args.examples
        )
        written = base.parent / "text" / f"{name}-{args.examples}"
        text.write_augmented(written, source, augmenter)
        batches = text.read_augmented(
            written,
            num_views=VIEWS,
            batch_size=50,
            seed=0,
            shuffle=False,
            max_length=LONGEST,
            drop_remainder=False,
        )
        pack_groups(base / f"{name}.npz", batches)


# All


def add_options(parser):
    add = parser.add_argument
    add("folder", nargs="?", default="runs/gpu/pack", help="where to write")
    add("--data_dir", help="TFDS folder; else download")
    add("--masked_lm", help="a small masked LM; no text without")
    add("--examples", type=int, default=1000, help="of a task of GLUE")
    names = [*cifar.CLASSES]
    add("--datasets", nargs="+", choices=names, default=names[:1])
    add("--python", default="3.12", help="of the machine with the GPU")


def _pack_wheels(args, folder):
    """The same versions as here, for Linux on x86-64."""
    from importlib.metadata import version

    platforms = [f"manylinux_2_{n}_x86_64" for n in (28, 27, 17)]
    platforms += ["manylinux2014_x86_64"]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version", args.python]
    command += [word for p in platforms for word in ("--platform", p)]
    wheels = [f"{name}=={version(name)}" for name in WHEELS]
    subprocess.run([*command, "-d", folder, *wheels], check=True)


def sizes(folder) -> dict[str, int]:
    """Bytes of every folder that travels."""
    return {
        part.name: sum(one.stat().st_size for one in part.iterdir())
        for part in sorted(pathlib.Path(folder).iterdir())
        if part.is_dir() and part.name != "text"
    }


def say_sizes(folder) -> None:
    """Print what to carry together; raise where that is too much."""
    found = sizes(folder)
    base = found.pop("base") + found.pop("wheels", 0)
    print(f"with every command: base, wheels: {base / 1e6:.1f} MB")
    for name, size in found.items():
        print(f"and once: {name}: {size / 1e6:.1f} MB")
        if base + size > MOST_BYTES:
            raise ValueError(
                f"What is carried together must be at most {MOST_BYTES} "
                f"bytes. Received: {name} and base with {base + size}"
            )


def main(args):
    folder = pathlib.Path(args.folder)
    base = folder / "base"
    base.mkdir(parents=True, exist_ok=True)
    facts = records.environment()
    (base / "pack.json").write_text(json.dumps(facts, indent=2))
    _pack_wheels(args, folder / "wheels")
    from experiments.gpu import core

    # In a process of its own: what TensorFlow gives for the tests' cases.
    subprocess.run(
        [*core.CASES_COMMAND, base / "expected.npz"],
        env=os.environ | {"KERAS_BACKEND": "tensorflow"},
        cwd=records.ROOT,
        check=True,
    )
    if args.masked_lm:
        _pack_text(args, base)
    for dataset in args.datasets:
        sets = cifar.load(dataset, args.data_dir)
        pack_images(sets, folder, dataset)
    say_sizes(folder)

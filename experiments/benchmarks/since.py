"""What a step, making views and reading text cost beside an earlier commit.

    python -m experiments.benchmarks.since --masked_lm DIR

Measures this code and that of an earlier commit in turns, each in a new process
(`measured`): a step of a tiny network, views by `crop_and_flip`, by RandAugment
of Keras and of a folder of made JPEGs, samples by a BERT-base of random weights
(DIR has its tokenizer), `load_table` on files of made sentences, a saved table
of the size of MNLI, and the memory of `read_augmented`. Prints medians with the
ratio to the earlier commit and writes them to
experiments/results/benchmarks/since.json. About 30 minutes on two cores, with
8 GB of memory.
"""

import functools
import json
import os
import pathlib
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

from experiments.benchmarks import earlier
from experiments.benchmarks.earlier import BEFORE
from experiments.benchmarks.earlier import NOW
from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write
from experiments.benchmarks.text_generation import write_base
from keras_mmel.text.files import Record
from keras_mmel.text.files import View
from keras_mmel.text.files import write_records

VIEWS = ("2", "5", "10", "20")
# Examples and tokens of a row; 840 MB of ids each.
READERS = (("400000", "25"), ("1000000", "10"))
MNLI = ("392702", "25")


class Made:
    """Pairs of made sentences with 20 views, as a source."""

    num_texts, label_kind, label_names = 2, "class", None

    def __init__(self, count: int):
        self.count = count

    def __len__(self) -> int:
        return self.count

    def read(self, start: int, stop: int):
        """Reads as `Source` says."""
        for number in range(start, min(stop, self.count)):
            random = np.random.default_rng(number)
            size = int(random.integers(12, 40))
            words = " ".join(f"word{i}" for i in random.integers(0, 99, size))
            texts = (words[: len(words) // 2], words[len(words) // 2 :])
            ids = random.integers(1000, 30000, (21, size))
            ids[:, 0], ids[:, [size // 2, -1]] = 101, 102
            own, *others = map(tuple, ids.tolist())
            views = tuple(View(texts, view, (1, 2, 3, 4)) for view in others)
            yield Record(str(number), texts, number % 3, own, views)

    def describe(self) -> dict:
        """Describes as `Source` says."""
        return {"made": self.count}


def measure(package: pathlib.Path, *words: str) -> dict[str, float]:
    """Figures of a package by `measured`."""
    printed, _ = earlier.start(package, *words).communicate()
    return json.loads(printed.splitlines()[-1])


def write_files(folder: pathlib.Path, examples: int) -> str:
    """Writes files of made examples, as an augmenter would."""
    write_records(
        folder,
        Made(examples),
        lambda records: records,
        made={"augmenter": {"tokenizer": "made"}},
        num_shards=2,
        progress=False,
    )
    return str(folder)


def write_photographs(folder: pathlib.Path, count: int) -> str:
    """Writes JPEGs of 500 x 375 pixels: smooth, as photographs are."""
    for number in range(count):
        random = np.random.default_rng(number)
        coarse = random.uniform(0, 255, (12, 16, 3))
        image = tf.image.resize(coarse, (375, 500), "bicubic").numpy()
        image += random.normal(0, 8, image.shape)
        path = folder / f"class_{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        keras.utils.save_img(path, np.clip(image, 0, 255), scale=False)
    return str(folder)


def compare(found: dict[str, list[dict]]) -> dict:
    """For each figure its quartiles now, before, and their ratio."""
    figures = {}
    for case, arm in (name.rsplit(" ", 1) for name in found):
        for figure in found[f"{case} {arm}"][0]:
            values = [one[figure] for one in found[f"{case} {arm}"]]
            figures.setdefault(figure, {})[arm] = np.array(values)
    return {
        figure: {arm: quartiles(values) for arm, values in arms.items()}
        | (
            {"ratio": quartiles(arms[NOW] / arms[BEFORE])}
            if BEFORE in arms
            else {}
        )
        for figure, arms in figures.items()
    }


def main() -> None:
    parser = make_parser(__doc__, "since", 3)
    add = parser.add_argument
    add("--masked_lm", required=True, help="directory in Hugging Face layout")
    add("--commit", default=earlier.COMMIT, help="the earlier commit")
    add("--examples", type=int, default=60_000, help="in the files")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as temporary,
        earlier.packages(args.commit) as packages,
    ):
        folder = pathlib.Path(temporary)
        small = write_files(folder / "small", 1000)
        files = write_files(folder / "files", args.examples)
        measure(packages[NOW], "saving", str(folder / "table"), *MNLI)
        photos = write_photographs(folder / "photos", 256)
        base = str(folder / "base")
        write_base(pathlib.Path(base), pathlib.Path(args.masked_lm))
        cases = {
            "steps": ("100",),
            "crops": VIEWS,
            "layers": ("5",),
            "photographs": (photos, "5"),
            "augmenting": (base,),
            "loading": (small, files),
        }
        cases |= {f"reading {n}": (n, length) for n, length in READERS}
        arms = {
            f"{case} {arm}": functools.partial(
                measure, package, case.split()[0], *words
            )
            for case, words in cases.items()
            for arm, package in packages.items()
        }
        only_now = {
            "saved": ("saved", str(folder / "table")),
            "augmenting bfloat16": ("augmenting", base, "bfloat16"),
        }
        for name, words in only_now.items():
            arms[f"{name} {NOW}"] = functools.partial(
                measure, packages[NOW], *words
            )
        figures = compare(in_turns(arms, args.rounds))
    for name, of_arms in figures.items():
        medians = {arm: f"{one['median']:.3g}" for arm, one in of_arms.items()}
        print(f"{name:60}{medians}")
    write(
        args,
        earlier_commit=args.commit,
        examples=args.examples,
        saved_examples=int(MNLI[0]),
        figures=figures,
    )


if __name__ == "__main__":
    main()

"""Augmenting text in bfloat16 beside float32: speed, and what changes.

    python -m experiments.benchmarks.text_precision --masked_lm DIR \
        --data_dir TFDS_DIR

Augments sentences of GLUE with the masked LM in DIR ("tiny") and with a
BERT-base of random weights, four samples each, as
`experiments.benchmarks.text_generation` does, with either `dtype` in turns.
Writes the sentences per CPU-second, their ratio, and the share of the samples
that are others, of the real masked LM alone, to experiments/results/benchmarks.
About 5 minutes on two cores.
"""

import functools
import os
import pathlib
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write
from experiments.benchmarks.text_generation import MASK_RATIO
from experiments.benchmarks.text_generation import NUM_AUGMENTED
from experiments.benchmarks.text_generation import read_sentences
from experiments.benchmarks.text_generation import write_base
from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm

TYPES = ("float32", "bfloat16")
SIZES = {"tiny": 512, "base": 12}  # sentences


def measure(size: str, directory: pathlib.Path, texts: list, rounds: int):
    """Sentences per CPU-second of both types, interleaved."""
    masked_lm = load_masked_lm(directory)
    settings = NUM_AUGMENTED, MASK_RATIO
    augmenters = {
        dtype: MaskedLMAugmenter(masked_lm, *settings, dtype=dtype)
        for dtype in TYPES
    }

    def turn(augmenter):
        start = time.process_time()
        augmenter.augment(texts)
        return len(texts) / (time.process_time() - start)

    samples = {
        dtype: [
            one.token_ids
            for of_text in augmenter.augment(texts)
            for one in of_text
        ]
        for dtype, augmenter in augmenters.items()
    }
    turns = {d: functools.partial(turn, a) for d, a in augmenters.items()}
    spent = in_turns(turns, rounds, f"{size}: ")
    pairs = zip(*samples.values(), strict=True)
    return {
        "sentences": len(texts),
        "rounds": rounds,
        "sentences_per_cpu_second": {d: quartiles(spent[d]) for d in TYPES},
        "bfloat16_to_float32": quartiles(
            np.divide(spent["bfloat16"], spent["float32"])
        ),
        "other_samples": float(np.mean([one != other for one, other in pairs])),
    }


def main() -> None:
    parser = make_parser(__doc__, "text_precision", 5)
    add = parser.add_argument
    add("--masked_lm", required=True, help="directory in Hugging Face layout")
    add("--data_dir", help="TFDS directory that holds GLUE")
    args = parser.parse_args()
    sizes = {}
    with tempfile.TemporaryDirectory() as temporary:
        base = pathlib.Path(temporary) / "bert_base"
        tiny = pathlib.Path(args.masked_lm)
        write_base(base, tiny)
        for size, directory in (("tiny", tiny), ("base", base)):
            texts = read_sentences(args.data_dir, SIZES[size])
            sizes[size] = measure(size, directory, texts, args.rounds)
    # Words that random weights find as likely say nothing.
    del sizes["base"]["other_samples"]
    for size, found in sizes.items():
        print(size, found)
    write(args, sizes=sizes)


if __name__ == "__main__":
    main()

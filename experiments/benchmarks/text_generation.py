"""Sentences per CPU-second: our augmenter beside the plain ways.

    python -m experiments.benchmarks.text_generation --masked_lm DIR \
        --data_dir TFDS_DIR --peer_python PYTHON

Augments sentences of GLUE with the masked LM in DIR (a BERT in Hugging Face
layout, "tiny" in what follows) and with a BERT-base of random weights and the
same tokenizer, four samples each, 40% of the tokens masked:

    ours               `MaskedLMAugmenter`
    keras_loop         algorithm 2 as written down: one sentence and one mask
                       at a time through the Keras model
    transformers_loop  the same through `transformers.BertForMaskedLM`
    nlpaug             `ContextualWordEmbsAug`, n=4

The last two run in the environment of PYTHON, which needs torch, transformers
and nlpaug; without `--peer_python` they are left out. The arms take turns. The
slow ones get every n-th sentence of those that ours gets, sorted by length.
The loops fill the masks that ours chose, and their words are compared.

Prints medians of sentences per CPU-second (all threads counted), and of the
ratio of ours to each; writes both to experiments/results/benchmarks.
About 25 minutes on two cores.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from safetensors.numpy import save_file

from examples import records
from experiments import RESULTS
from experiments.benchmarks.rounds import order
from experiments.benchmarks.rounds import quartiles
from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm

NUM_AUGMENTED = 4
MASK_RATIO = 0.4
SOURCES = (("cola", "sentence"), ("mrpc", "sentence1"))
PEERS = ("transformers_loop", "nlpaug")
SIZES = {
    # name: (sentences of ours, of the slow arms, rounds)
    "tiny": (512, 16, 5),
    "base": (32, 2, 3),
}


def read_sentences(data_dir: str, count: int) -> list[str]:
    """As many sentences of each source, the same every time."""
    found = []
    for config, column in SOURCES:
        dataset = tfds.load(
            f"glue/{config}",
            split=f"train[:{-(-count // len(SOURCES))}]",
            data_dir=data_dir,
            download=False,
        )
        found.append([row[column].decode() for row in tfds.as_numpy(dataset)])
    # In turns, so that every prefix is a mixture.
    return [one for pair in zip(*found, strict=True) for one in pair][:count]


def write_base(directory: pathlib.Path, tokenizer_of: pathlib.Path) -> None:
    """A BERT-base of random weights in Hugging Face layout."""
    config = json.loads((tokenizer_of / "config.json").read_text())
    config |= {
        "num_hidden_layers": 12,
        "hidden_size": 768,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
    }
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if (tokenizer_of / name).exists():
            shutil.copy(tokenizer_of / name, directory / name)
    random = np.random.default_rng(0)

    def normal(*shape):
        return 0.02 * random.standard_normal(shape, "float32")

    weights = {}

    def dense(name, out, into):
        weights[f"{name}.weight"] = normal(out, into)
        weights[f"{name}.bias"] = normal(out)

    def norm(name):
        weights[f"{name}.weight"] = 1 + normal(768)
        weights[f"{name}.bias"] = normal(768)

    words = config["vocab_size"]
    embeddings = "bert.embeddings"
    for name, rows in (
        ("word", words),
        ("position", 512),
        ("token_type", config.get("type_vocab_size", 2)),
    ):
        weights[f"{embeddings}.{name}_embeddings.weight"] = normal(rows, 768)
    norm(f"{embeddings}.LayerNorm")
    for i in range(12):
        layer = f"bert.encoder.layer.{i}"
        for part in ("query", "key", "value"):
            dense(f"{layer}.attention.self.{part}", 768, 768)
        dense(f"{layer}.attention.output.dense", 768, 768)
        norm(f"{layer}.attention.output.LayerNorm")
        dense(f"{layer}.intermediate.dense", 3072, 768)
        dense(f"{layer}.output.dense", 768, 3072)
        norm(f"{layer}.output.LayerNorm")
    dense("cls.predictions.transform.dense", 768, 768)
    norm("cls.predictions.transform.LayerNorm")
    weights["cls.predictions.bias"] = normal(words)
    save_file(weights, directory / "model.safetensors")


class KerasLoop:
    """Algorithm 2 as it is written down, through the Keras model."""

    def __init__(self, masked_lm):
        self.call = tf.function(masked_lm, reduce_retracing=True)

    def run(self, job):
        found = []
        for one in job["sentences"]:
            samples = []
            for rank in range(job["num_augmented"]):
                ids = np.array([one["token_ids"]], "int32")
                ids[0, one["positions"]] = job["mask_id"]
                for number, position in enumerate(one["positions"]):
                    logits = self.logits(ids)[0, position]
                    logits[job["banned"]] = -np.inf
                    order = np.argpartition(-logits, rank)[: rank + 1]
                    order = order[np.argsort(-logits[order])]
                    ids[0, position] = order[0 if number else rank]
                samples.append(ids[0].tolist())
            found.append(samples)
        return found

    def logits(self, ids):
        inputs = {
            "token_ids": ids,
            "segment_ids": np.zeros_like(ids),
            "padding_mask": np.ones_like(ids),
            "mask_positions": np.arange(ids.shape[1], dtype="int32")[None],
        }
        inputs = {name: tf.constant(array) for name, array in inputs.items()}
        return self.call(inputs).numpy()


class Peers:
    """The process in the other environment."""

    def __init__(self, python):
        worker = pathlib.Path(__file__).with_name("text_peers.py")
        self.process = subprocess.Popen(
            [python, str(worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Progress bars; what goes wrong comes back as JSON.
            stderr=subprocess.DEVNULL,
            # Threads that wait would count as work on a busy machine.
            env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"},
            text=True,
        )
        self.versions = {}

    def run(self, job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(f"{job['arm']}: {answer['error']}")
        self.versions = answer["versions"]
        return answer["cpu_seconds"], answer["samples"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(size: str, directory: pathlib.Path, texts, peers, args) -> dict:
    """Sentences per CPU-second of every arm, interleaved."""
    masked_lm = load_masked_lm(directory)
    _, few, rounds = SIZES[size]
    few, rounds = args.few or few, args.rounds or rounds
    augmenter = MaskedLMAugmenter(masked_lm, NUM_AUGMENTED, MASK_RATIO)
    tokenizer = masked_lm.tokenizer
    samples = augmenter.augment(texts)
    encoded = [one.token_ids for one in tokenizer.encode(texts)]
    by_length = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
    chosen = by_length[len(texts) // few // 2 :: len(texts) // few][:few]
    job = {
        "directory": str(directory),
        "num_augmented": NUM_AUGMENTED,
        "mask_ratio": MASK_RATIO,
        "mask_id": tokenizer.mask_id,
        "banned": tokenizer.banned_ids.tolist(),
        "sentences": [
            {
                "text": texts[i],
                "token_ids": encoded[i],
                "positions": samples[i][0].positions,
            }
            for i in chosen
        ],
    }
    expected = [[one.token_ids for one in samples[i]] for i in chosen]
    keras_loop = KerasLoop(masked_lm)
    arms = {
        "ours": lambda: _timed(augmenter.augment, texts),
        "keras_loop": lambda: _timed(keras_loop.run, job),
    }
    for name in PEERS if peers else ():
        arms[name] = lambda name=name: peers.run(job | {"arm": name})
    spent, same = {name: [] for name in arms}, {}
    for round_ in range(-1, rounds):
        # The first round compiles and warms up. A different order each time.
        for name in order(arms, round_):
            seconds, found = arms[name]()
            count = len(texts) if name == "ours" else few
            if round_ >= 0:
                spent[name].append(count / seconds)
            if name.endswith("loop"):
                same[name] = _agreement(found, expected)
            print(
                f"{size} round {round_ + 1} of {rounds}: {name:18}"
                f"{count / seconds:10.2f} sentences per CPU-second",
                flush=True,
            )
    ours = np.array(spent["ours"])
    return {
        "sentences": {"ours": len(texts), "others": few},
        "tokens_per_sentence": float(np.mean([len(e) - 2 for e in encoded])),
        "masks_per_sentence": float(
            np.mean([len(one[0].positions) for one in samples])
        ),
        "rounds": rounds,
        "arms": {
            name: {
                "sentences_per_cpu_second": quartiles(values),
                "ours_to_this": quartiles(ours / values),
            }
            | ({"same_samples": same[name]} if name in same else {})
            for name, values in spent.items()
        },
    }


def _timed(function, argument):
    start = time.process_time()
    result = function(argument)
    return time.process_time() - start, result


def _agreement(found, expected):
    pairs = [
        (tuple(a), tuple(b))
        for one, other in zip(found, expected, strict=True)
        for a, b in zip(one, other, strict=True)
    ]
    return sum(a == b for a, b in pairs) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example: python -m experiments.benchmarks.text_generation "
        "--masked_lm models/bert_tiny_mlm --data_dir data/tfds --sizes tiny",
    )
    parser.add_argument(
        "--masked_lm", required=True, help="directory in Hugging Face layout"
    )
    parser.add_argument("--data_dir", help="TFDS directory that holds GLUE")
    parser.add_argument(
        "--peer_python", help="a Python with torch, transformers and nlpaug"
    )
    parser.add_argument(
        "--sizes", nargs="+", choices=list(SIZES), default=list(SIZES)
    )
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--few", type=int, help="sentences of the slow arms")
    parser.add_argument(
        "--out", default=f"{RESULTS}/benchmarks/text_generation.json"
    )
    args = parser.parse_args()
    start = time.time()
    peers = Peers(args.peer_python) if args.peer_python else None
    sizes = {}
    with tempfile.TemporaryDirectory() as temporary:
        directories = {"tiny": pathlib.Path(args.masked_lm)}
        if "base" in args.sizes:
            directories["base"] = pathlib.Path(temporary) / "bert_base"
            write_base(directories["base"], directories["tiny"])
        for size in args.sizes:
            texts = read_sentences(args.data_dir, SIZES[size][0])
            sizes[size] = measure(size, directories[size], texts, peers, args)
    for size, figures in sizes.items():
        for name, arm in figures["arms"].items():
            speed, ratio = arm["sentences_per_cpu_second"], arm["ours_to_this"]
            print(
                f"{size:5}{name:18}{speed['median']:9.2f} sentences per "
                f"CPU-second   ours is x {ratio['median']:.1f}"
                f"  ({ratio['q25']:.1f} to {ratio['q75']:.1f})"
            )
    records.write_record(
        args.out,
        {
            "command": records.command_line(),
            "settings": {
                "num_augmented": NUM_AUGMENTED,
                "mask_ratio": MASK_RATIO,
                "sources": [list(source) for source in SOURCES],
            },
            "sizes": sizes,
            "peers": peers.versions if peers else None,
            "environment": records.environment(),
            "hours": (time.time() - start) / 3600,
        },
    )
    if peers:
        peers.close()
    print(f"wrote {args.out}")


if __name__ == "__main__":
    sys.exit(main())

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

import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds
from safetensors.numpy import save_file

from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write
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
    width, words = 768, config["vocab_size"]
    config |= {
        "num_hidden_layers": 12,
        "hidden_size": width,
        "num_attention_heads": 12,
        "intermediate_size": 4 * width,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
    }
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if (tokenizer_of / name).exists():
            shutil.copy(tokenizer_of / name, directory / name)
    # Shapes of the kernels; a number has a bias of that size beside it.
    square, names = (width, width), {}
    for i in range(12):
        layer = f"bert.encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            names[f"{layer}.attention.{part}"] = square
        names[f"{layer}.attention.output.LayerNorm"] = (width,)
        names[f"{layer}.intermediate.dense"] = (4 * width, width)
        names[f"{layer}.output.dense"] = (width, 4 * width)
        names[f"{layer}.output.LayerNorm"] = (width,)
    names["cls.predictions.transform.dense"] = square
    names["cls.predictions.transform.LayerNorm"] = (width,)
    names["bert.embeddings.LayerNorm"] = (width,)
    random = np.random.default_rng(0)
    weights = {"cls.predictions.bias": np.zeros(words, "float32")}
    for name, shape in names.items():
        kernel = 0.02 * random.standard_normal(shape, "float32")
        weights[f"{name}.weight"] = kernel + name.endswith("Norm")
        weights[f"{name}.bias"] = np.zeros(shape[0], "float32")
    types = config.get("type_vocab_size", 2)
    sizes = {"word": words, "position": 512, "token_type": types}
    for name, rows in sizes.items():
        table = 0.02 * random.standard_normal((rows, width), "float32")
        weights[f"bert.embeddings.{name}_embeddings.weight"] = table
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


def ask_peer(python: str, arm: str, job: dict) -> dict:
    """What `text_peers` answers in the other environment."""
    worker = pathlib.Path(__file__).with_name("text_peers.py")
    done = subprocess.run(
        [python, str(worker), arm],
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        check=True,
        # Threads that wait would count as work on a busy machine.
        env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"},
        text=True,
    )
    return json.loads(done.stdout)


def measure(size: str, directory: pathlib.Path, texts, args) -> dict:
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
    expected = [[list(one.token_ids) for one in samples[i]] for i in chosen]
    keras_loop, same = KerasLoop(masked_lm), {}

    def timed(name, function, count, argument):
        start = time.process_time()
        found = function(argument)
        spent = time.process_time() - start
        if isinstance(found, dict):
            spent, found = found["cpu_seconds"], found["samples"]
        if name.endswith("loop"):
            pairs = zip(sum(found, []), sum(expected, []), strict=True)
            same[name] = float(np.mean([one == other for one, other in pairs]))
        return count / spent

    ours, loop = augmenter.augment, keras_loop.run
    arms = {
        "ours": functools.partial(timed, "ours", ours, len(texts), texts),
        "keras_loop": functools.partial(timed, "keras_loop", loop, few, job),
    }
    for name in PEERS if args.peer_python else ():
        ask = functools.partial(ask_peer, args.peer_python, name)
        arms[name] = functools.partial(timed, name, ask, few, job)
    for arm in arms.values():
        arm()
    spent = in_turns(arms, rounds, f"{size}: ")
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
                "ours_to_this": quartiles(np.divide(spent["ours"], values)),
            }
            | ({"same_samples": same[name]} if name in same else {})
            for name, values in spent.items()
        },
    }


def main() -> None:
    parser = make_parser(__doc__, "text_generation", None)
    add = parser.add_argument
    add("--masked_lm", required=True, help="directory in Hugging Face layout")
    add("--data_dir", help="TFDS directory that holds GLUE")
    add("--peer_python", help="a Python with torch, transformers and nlpaug")
    add("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    add("--few", type=int, help="sentences of the slow arms")
    args = parser.parse_args()
    sizes = {}
    with tempfile.TemporaryDirectory() as temporary:
        directories = {"tiny": pathlib.Path(args.masked_lm)}
        if "base" in args.sizes:
            directories["base"] = pathlib.Path(temporary) / "bert_base"
            write_base(directories["base"], directories["tiny"])
        for size in args.sizes:
            texts = read_sentences(args.data_dir, SIZES[size][0])
            sizes[size] = measure(size, directories[size], texts, args)
    for size, figures in sizes.items():
        for name, arm in figures["arms"].items():
            speed, ratio = arm["sentences_per_cpu_second"], arm["ours_to_this"]
            print(
                f"{size:5}{name:18}{speed['median']:9.2f} sentences per "
                f"CPU-second   ours is x {ratio['median']:.1f}"
                f"  ({ratio['q25']:.1f} to {ratio['q75']:.1f})"
            )
    settings = {
        "num_augmented": NUM_AUGMENTED,
        "mask_ratio": MASK_RATIO,
        "sources": [list(source) for source in SOURCES],
    }
    write(args, settings=settings, sizes=sizes)


if __name__ == "__main__":
    main()

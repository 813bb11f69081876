"""The masked LM and algorithm 2 in plain NumPy, float64, one step at a time.

Independent of the code under test: weights come from the checkpoint's file,
every position goes through every layer, and nothing is batched.
"""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf


class PlainBert:
    """`BertForMaskedLM` of a directory in Hugging Face layout."""

    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.config = json.loads((directory / "config.json").read_text())
        weights = load_file(directory / "model.safetensors")
        self.weights = {
            name.removeprefix("bert."): array.astype("float64")
            for name, array in weights.items()
        }
        self.calls = 0

    def log_probs(self, token_ids, segment_ids, position, allowed):
        """Log-probabilities of the allowed words at one position."""
        self.calls += 1
        w = self.weights
        x = (
            w["embeddings.word_embeddings.weight"][list(token_ids)]
            + w["embeddings.position_embeddings.weight"][: len(token_ids)]
            + w["embeddings.token_type_embeddings.weight"][list(segment_ids)]
        )
        x = self._norm(x, "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            x = self._layer(x, f"encoder.layer.{i}")
        x = gelu(self._dense(x, "cls.predictions.transform.dense"))
        x = self._norm(x, "cls.predictions.transform.LayerNorm")
        decoder = w.get(
            "cls.predictions.decoder.weight",
            w["embeddings.word_embeddings.weight"],
        )
        logits = decoder @ x[position] + w["cls.predictions.bias"]
        logits = logits[allowed]
        top = logits.max()
        return logits - top - np.log(np.exp(logits - top).sum())

    def _layer(self, x, name):
        heads = self.config["num_attention_heads"]
        parts = [
            np.split(
                self._dense(x, f"{name}.attention.self.{part}"), heads, axis=1
            )
            for part in ("query", "key", "value")
        ]
        mixed = []
        for query, key, value in zip(*parts, strict=True):
            scores = query @ key.T / np.sqrt(query.shape[1])
            scores = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores /= scores.sum(axis=1, keepdims=True)
            mixed.append(scores @ value)
        mixed = np.concatenate(mixed, axis=1)
        mixed = self._dense(mixed, f"{name}.attention.output.dense")
        x = self._norm(x + mixed, f"{name}.attention.output.LayerNorm")
        inner = gelu(self._dense(x, f"{name}.intermediate.dense"))
        inner = self._dense(inner, f"{name}.output.dense")
        return self._norm(x + inner, f"{name}.output.LayerNorm")

    def _dense(self, x, name):
        w = self.weights
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def _norm(self, x, name):
        w = self.weights
        gamma = w.get(f"{name}.gamma", w.get(f"{name}.weight"))
        beta = w.get(f"{name}.beta", w.get(f"{name}.bias"))
        x = x - x.mean(axis=1, keepdims=True)
        variance = (x**2).mean(axis=1, keepdims=True)
        epsilon = self.config["layer_norm_eps"]
        return x / np.sqrt(variance + epsilon) * gamma + beta


def gelu(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def algorithm_2(bert, token_ids, segment_ids, positions, count, allowed, mask):
    """Samples of one sequence, line by line as the paper has them.

    Returns a list of (token ids, sum of log-probabilities): ranks 1 to
    `count`, where the original is left out and rank `count + 1` follows.
    """
    samples = []
    for rank in range(count + 1):
        if rank == count and len(samples) == count:
            break
        z = list(token_ids)
        for position in positions:
            z[position] = mask
        total = 0.0
        for number, position in enumerate(positions):
            log_probs = bert.log_probs(z, segment_ids, position, allowed)
            order = np.argsort(-np.round(log_probs, 9), kind="stable")
            wanted = rank if number == 0 else 0
            if wanted == len(order):
                return samples
            z[position] = int(allowed[order[wanted]])
            total += log_probs[order[wanted]]
        if z != list(token_ids):
            samples.append((z, total))
    return samples


def plain_beam(
    bert, token_ids, segment_ids, positions, count, beams, allowed, mask
):
    """Beam search over one sequence, over all words of every beam."""
    z = list(token_ids)
    for position in positions:
        z[position] = mask
    kept = [(0.0, z)]
    for position in positions:
        grown = []
        for total, z in kept:
            log_probs = bert.log_probs(z, segment_ids, position, allowed)
            before, after = tuple(z[:position]), tuple(z[position + 1 :])
            grown += [
                (total + log_prob, (*before, word, *after))
                for word, log_prob in zip(
                    allowed.tolist(), log_probs.tolist(), strict=True
                )
            ]
        grown.sort(key=lambda one: -round(one[0], 9))
        kept = [(total, list(z)) for total, z in grown[:beams]]
    others = [(z, total) for total, z in kept if z != list(token_ids)]
    return others[:count]


def allowed_ids(vocabulary):
    """Ids of all words but special and unused ones, from the spelling."""
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    return np.array(
        [
            i
            for i, piece in enumerate(vocabulary)
            if piece not in special and not piece.startswith("[unused")
        ]
    )

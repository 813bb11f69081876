"""BERT in NumPy float64, from the names of Hugging Face's tensors."""

import json

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf

ACTIVATIONS = {
    "gelu": lambda x: x * 0.5 * (1 + erf(x / np.sqrt(2))),
    "gelu_new": lambda x: (
        x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    ),
    "relu": lambda x: np.maximum(x, 0),
}


class NumpyBert:
    """A checkpoint in Hugging Face layout: one sentence at a time."""

    def __init__(self, directory):
        self.config = json.loads((directory / "config.json").read_text())
        weights = {}
        for file in directory.glob("*.safetensors"):
            weights |= load_file(file)
        renamed = {"gamma": "weight", "beta": "bias", "decoder.bias": "bias"}
        for old, new in {"bert.": "", **renamed}.items():
            weights = {k.replace(old, new): v for k, v in weights.items()}
        self.weights = {k: v.astype(np.float64) for k, v in weights.items()}

    def hidden(self, token_ids, segment_ids):
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][token_ids]
        x = x + w["embeddings.position_embeddings.weight"][: len(token_ids)]
        x = x + w["embeddings.token_type_embeddings.weight"][segment_ids]
        x = self._norm(x, "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            layer = f"encoder.layer.{i}"
            y = self._attention(x, f"{layer}.attention")
            x = self._norm(x + y, f"{layer}.attention.output.LayerNorm")
            y = self._act(self._dense(x, f"{layer}.intermediate.dense"))
            y = self._dense(y, f"{layer}.output.dense")
            x = self._norm(x + y, f"{layer}.output.LayerNorm")
        return x

    def logits(self, token_ids, segment_ids):
        return self.head(self.hidden(token_ids, segment_ids))

    def log_probs(self, token_ids, segment_ids, position, allowed):
        """Log-probabilities of the allowed words at one position."""
        x = self.hidden(list(token_ids), list(segment_ids))
        logits = self.head(x[position])[allowed]
        top = logits.max()
        return logits - top - np.log(np.exp(logits - top).sum())

    def head(self, x):
        w, head = self.weights, "cls.predictions"
        x = self._act(self._dense(x, f"{head}.transform.dense"))
        x = self._norm(x, f"{head}.transform.LayerNorm")
        matrix = w.get(
            f"{head}.decoder.weight", w["embeddings.word_embeddings.weight"]
        )
        return x @ matrix.T + w[f"{head}.bias"]

    def pooled(self, token_ids, segment_ids):
        first = self.hidden(token_ids, segment_ids)[0]
        return np.tanh(self._dense(first, "pooler.dense"))

    def _act(self, x):
        return ACTIVATIONS[self.config["hidden_act"]](x)

    def _dense(self, x, name):
        w = self.weights
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def _norm(self, x, name):
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred**2).mean(-1, keepdims=True)
        x = centred / np.sqrt(variance + self.config["layer_norm_eps"])
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _attention(self, x, name):
        heads = self.config["num_attention_heads"]
        length, width = x.shape

        def split(part):
            y = self._dense(x, f"{name}.self.{part}")
            return y.reshape(length, heads, width // heads).swapaxes(0, 1)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.swapaxes(1, 2) / np.sqrt(width // heads)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
        y = (weights @ value).swapaxes(0, 1).reshape(length, width)
        return self._dense(y, f"{name}.output.dense")

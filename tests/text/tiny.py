"""Small made checkpoints in Hugging Face layout, and their vocabulary."""

import json
import pathlib
import string

import numpy as np
from safetensors.numpy import save_file

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    "the a an this that it he she they we you i of in on at to for from with "
    "and or but not no is was are were be been has had have do did can will "
    "film movie story plot actor scene music play book song good bad great "
    "fine poor dull bright funny sad slow fast old new big small best worst "
    "very quite so too more most less really never always often man woman "
    "child people friend city house day night year time life world love like "
    "see saw watch make made take give find found tell told think feel felt "
    "know knew come came go went say said one two three cafe naive"
).split()
VOCABULARY = (
    SPECIAL
    + [f"[unused{i}]" for i in range(4)]
    + list(string.punctuation)
    + list(string.ascii_lowercase + string.digits)
    + [f"##{c}" for c in string.ascii_lowercase + string.digits]
    + ["##s", "##ing", "##ed", "##ly", "##er"][1:]
    + [w for w in WORDS if len(w) > 1]
)


def make_checkpoint(
    directory,
    *,
    head=True,
    pooler=False,
    norms="gamma",
    prefix="bert.",
    tokenizer="tokenizer.json",
    lowercase=True,
    vocabulary=None,
    decoder=None,
    dtype=np.float32,
    seed=0,
    **config,
):
    """Write a random BERT in Hugging Face layout; returns the directory.

    `norms` is "gamma" (gamma and beta) or "weight" (weight and bias), `prefix`
    "bert." or "", `tokenizer` "tokenizer.json", "vocab.txt" or `None`. As
    `decoder`, "tied" stores a copy and "untied" a matrix of its own. `config`
    has entries of `config.json`.
    """
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    pieces = VOCABULARY if vocabulary is None else vocabulary
    config = {
        "model_type": "bert",
        "architectures": ["BertForMaskedLM" if head else "BertModel"],
        "vocab_size": len(pieces),
        "num_hidden_layers": 2,
        "hidden_size": 16,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "initializer_range": 0.02,
        "tie_word_embeddings": decoder != "untied",
        **config,
    }
    (directory / "config.json").write_text(json.dumps(config))
    weights = make_weights(config, head, pooler, norms, prefix, decoder, seed)
    weights = {k: v.astype(dtype) for k, v in weights.items()}
    save_file(weights, directory / "model.safetensors")
    if tokenizer is not None:
        _save_tokenizer(directory, pieces, tokenizer, lowercase)
    return directory


def make_weights(config, head, pooler, norms, prefix, decoder, seed):
    """Random tensors under the names of Hugging Face, float32.

    Wider than an initializer's, so that the best words are told apart by
    more than rounding.
    """
    rng = np.random.default_rng(seed)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    scale, shift = {"gamma": ("gamma", "beta")}.get(norms, ("weight", "bias"))
    weights = {}

    def add(name, *shape, centre=0.0):
        values = centre + 0.2 * rng.standard_normal(shape)
        weights[name] = values.astype(np.float32)

    def add_dense(name, out, into):
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out)

    def add_norm(name):
        add(f"{name}.{scale}", hidden, centre=1.0)
        add(f"{name}.{shift}", hidden)

    embeddings = f"{prefix}embeddings"
    rows = {
        "word": config["vocab_size"],
        "position": config["max_position_embeddings"],
        "token_type": config["type_vocab_size"],
    }
    for name, count in rows.items():
        add(f"{embeddings}.{name}_embeddings.weight", count, hidden)
    add_norm(f"{embeddings}.LayerNorm")
    for i in range(config["num_hidden_layers"]):
        layer = f"{prefix}encoder.layer.{i}"
        for name in ("query", "key", "value"):
            add_dense(f"{layer}.attention.self.{name}", hidden, hidden)
        add_dense(f"{layer}.attention.output.dense", hidden, hidden)
        add_norm(f"{layer}.attention.output.LayerNorm")
        add_dense(f"{layer}.intermediate.dense", inner, hidden)
        add_dense(f"{layer}.output.dense", hidden, inner)
        add_norm(f"{layer}.output.LayerNorm")
    if pooler:
        add_dense(f"{prefix}pooler.dense", hidden, hidden)
    if head:
        predictions = "cls.predictions"
        add_dense(f"{predictions}.transform.dense", hidden, hidden)
        add_norm(f"{predictions}.transform.LayerNorm")
        add(f"{predictions}.bias", config["vocab_size"])
        name = f"{predictions}.decoder.weight"
        if decoder == "untied":
            add(name, config["vocab_size"], hidden)
        elif decoder == "tied":
            weights[name] = weights[f"{embeddings}.word_embeddings.weight"]
    return weights


def _save_tokenizer(directory, pieces, kind, lowercase):
    from keras_mmel.text.bert import tokenizer_files

    options = {"do_lower_case": lowercase}
    if kind == "vocab.txt":
        text = "".join(f"{piece}\n" for piece in pieces)
        (directory / "vocab.txt").write_text(text, encoding="utf-8")
        (directory / "tokenizer_config.json").write_text(json.dumps(options))
    else:
        text = tokenizer_files.from_vocabulary(pieces, options)
        (directory / "tokenizer.json").write_text(text)


def make_classifier(directory, classes, **config):
    """A classifier of one layer whose predictions are far from even."""
    from keras_mmel.text import load_text_classifier

    make_checkpoint(directory, pooler=True, num_hidden_layers=1, **config)
    model = load_text_classifier(directory, classes)
    kernel = model.output_dense.kernel
    kernel.assign(np.random.default_rng(1).normal(size=kernel.shape))
    return model


def make_hub_masked_lm(vocabulary_size, preprocessor=None):
    """A random masked LM by keras-hub itself, for 20 tokens."""
    from keras_hub import models

    backbone = models.BertBackbone(
        vocabulary_size, 2, 2, 16, 32, max_sequence_length=20
    )
    model = models.BertMaskedLM(backbone, preprocessor=preprocessor)
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(weight + 0.2 * rng.standard_normal(weight.shape))
    return model


def outputs_of(model, texts, max_length):
    """What a classifier predicts for texts or pairs, one by one, float64."""
    outputs = []
    for one in model.tokenizer.encode(texts, max_length):
        ids = np.array([one.token_ids])
        features = {
            "token_ids": ids,
            "segment_ids": np.array([one.segment_ids]),
            "padding_mask": np.ones_like(ids),
        }
        outputs.append(np.asarray(model(features))[0])
    return np.array(outputs, "float64")

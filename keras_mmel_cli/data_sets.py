"""The data set that `--data` names."""

import argparse
import re

from keras_mmel import extras
from keras_mmel.text.files import Source
from keras_mmel.text.files import from_csv
from keras_mmel.text.files import from_jsonl
from keras_mmel.text.files import from_tfds

GLUE_COLUMNS = {
    "glue/cola": ("sentence",),
    "glue/sst2": ("sentence",),
    "glue/mrpc": ("sentence1", "sentence2"),
    "glue/stsb": ("sentence1", "sentence2"),
    "glue/rte": ("sentence1", "sentence2"),
    "glue/wnli": ("sentence1", "sentence2"),
    "glue/qqp": ("question1", "question2"),
    "glue/mnli": ("premise", "hypothesis"),
    "glue/qnli": ("question", "sentence"),
}


def open_source(options: argparse.Namespace) -> Source:
    """The examples that the options name.

    Raises:
        ValueError: if a column is not there or a line cannot be read.
    """
    name = options.data
    columns = {"label": options.label, "id": options.id}
    if name.lower().endswith((".csv", ".tsv", ".jsonl")):
        columns["label_names"] = options.label_names
        if name.lower().endswith(".jsonl"):
            return from_jsonl(name, options.text, **columns)
        return from_csv(name, options.text, quoting=options.quoting, **columns)
    if options.label_names:
        raise ValueError(
            "--label_names are for files; TFDS has its own. "
            f"Received: --data {name}"
        )
    text = options.text
    if name in GLUE_COLUMNS and not text:
        text = GLUE_COLUMNS[name]
        columns = {"label": options.label or "label", "id": options.id or "idx"}
    if not text:
        raise ValueError(
            "--text is needed with the name of the text feature, or of both "
            f"of a pair. Received: --data {name}"
        )
    tfds = extras.need("tensorflow_datasets", "datasets")
    try:
        return from_tfds(
            name, options.split, text, data_dir=options.data_dir, **columns
        )
    except tfds.core.DatasetNotFoundError:  # its message lists all there are
        raise ValueError(
            f"--data {name}: TFDS has no data set of this name, and a file "
            "must end in .csv, .tsv or .jsonl"
        ) from None


def split_name(split: str) -> str:
    """The split that a slice such as `train[:10%]` is of."""
    return re.match(r"\w*", split)[0] or split

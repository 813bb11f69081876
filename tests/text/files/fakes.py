"""A source and an augmenter that need no model, and a look at a directory."""

import pathlib
import types

from keras_mmel.text.augmentation.augmented import Augmented
from keras_mmel.text.files import InMemory
from keras_mmel.text.files import Record
from keras_mmel.text.files import write_augmented


def make_source(length=10, num_texts=1, label_kind="class", names=None):
    """Examples made of their numbers."""
    records = []
    for number in range(length):
        texts = (f"caf\u00e9 {number}", f"\U0001f389 or {number}?")
        labels = {"class": number % 3, "value": number / 7, None: None}
        records.append(
            Record(f"id-{number}", texts[:num_texts], labels[label_kind])
        )
    facts = {"kind": "made", "length": length}
    return InMemory(records, label_kind, names, facts)


class FakeTokenizer:
    """One id for each character."""

    def encode(self, texts, max_length=None):
        return [
            types.SimpleNamespace(token_ids=tuple(map(ord, "".join(text))))
            for text in texts
        ]


class FakeAugmenter:
    """Views of an example are its texts, numbered: none for some."""

    tokenizer = FakeTokenizer()
    max_length = 512

    def __init__(self, seed=0):
        self.seed = seed

    def get_config(self):
        return {"seed": self.seed, "kind": "fake"}

    def augment_stream(self, examples):
        for example_id, texts in examples:
            yield self.views(example_id, texts)

    def views(self, example_id, texts):
        number = int(example_id.removeprefix("id-"))
        views = []
        for rank in range((number + self.seed) % 4):
            changed = tuple(f"{text} #{rank}" for text in texts)
            text = changed if len(changed) == 2 else changed[0]
            ids = (101, number, rank, 102)
            views.append(Augmented(text, ids, (2, 1), -0.5 * rank - number))
        return views


def write(directory, source=None, augmenter=None, **options):
    """Write ten made examples with their views into three files."""
    return write_augmented(
        directory,
        source or make_source(),
        augmenter or FakeAugmenter(),
        **{"num_shards": 3, "progress": False} | options,
    )


def contents(directory):
    """Name and bytes of every file, hidden ones included."""
    directory = pathlib.Path(directory)
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }

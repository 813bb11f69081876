"""A source and an augmenter that need no model, and a look at a directory."""

import pathlib
import types

from keras_mmel.text.augmentation.augmented import Augmented
from keras_mmel.text.files import Example


class MadeSource:
    """Examples made of their numbers, as many as asked for."""

    label_names = None

    def __init__(self, length=10, num_texts=1, label_kind="class"):
        self.length, self.num_texts = length, num_texts
        self.label_kind = label_kind

    def __len__(self):
        return self.length

    def read(self, start, stop):
        for number in range(start, min(stop, self.length)):
            yield self.example(number)

    def example(self, number):
        texts = (f"caf\u00e9 {number}", f"\U0001f389 or {number}?")
        labels = {"class": number % 3, "value": number / 7, None: None}
        return Example(
            f"id-{number}", texts[: self.num_texts], labels[self.label_kind]
        )

    def describe(self):
        return {"kind": "made", "length": self.length}


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

    def augment_stream(self, examples, on_progress=None):
        for example_id, texts in examples:
            yield self.views(example_id, texts)
            if on_progress is not None:
                on_progress(1)

    def views(self, example_id, texts):
        number = int(example_id.removeprefix("id-"))
        views = []
        for rank in range((number + self.seed) % 4):
            changed = tuple(f"{text} #{rank}" for text in texts)
            text = changed if len(changed) == 2 else changed[0]
            ids = (101, number, rank, 102)
            views.append(Augmented(text, ids, (2, 1), -0.5 * rank - number))
        return views


def contents(directory):
    """Name and bytes of every file, hidden ones included."""
    directory = pathlib.Path(directory)
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }

"""Records with views, as augmented files hold them, made of tiny's words."""

import numpy as np

from keras_mmel.text.files.writing import write_records
from keras_mmel.text.sources.records import InMemory
from keras_mmel.text.sources.records import Record
from keras_mmel.text.sources.records import View
from keras_mmel.text.sources.records import as_text
from tests.text import tiny


def make_records(
    count,
    tokenizer,
    *,
    pairs=False,
    views=(4, 4),
    longest=12,
    teacher=None,
    regression=False,
    seed=0,
):
    """Random records.

    Ids are stored where there is a tokenizer; `views` are the least and the
    largest number of an example's, `longest` the words of a text at most,
    `teacher` the length of its predictions.
    """
    rng = np.random.default_rng(seed)

    def texts():
        return tuple(
            " ".join(rng.choice(tiny.WORDS, rng.integers(0, longest + 1)))
            for _ in range(1 + pairs)
        )

    def prediction():
        if teacher is None:
            return ()
        if regression:
            return (float(np.float32(rng.uniform(0, 5))),)
        return tuple(map(float, rng.dirichlet(np.ones(teacher))))

    def ids(texts):
        if tokenizer is None:
            return ()
        return tokenizer.encode([as_text(texts)])[0].token_ids

    records = []
    for number in range(count):
        made = []
        for _ in range(rng.integers(views[0], views[1] + 1)):
            own = texts()
            made.append(View(own, ids(own), (), prediction()))
        own = texts()
        label = int(rng.integers(0, 3))
        records.append(
            Record(
                str(number),
                own,
                float(np.float32(label / 3)) if regression else label,
                ids(own),
                tuple(made),
                prediction(),
            )
        )
    return records


def write(directory, records, tokenizer=None, num_shards=2, names=None):
    """Write records into a directory of augmented files."""
    fingerprint = None if tokenizer is None else tokenizer.fingerprint
    label = records[0].label
    kind = "value" if isinstance(label, float) else "class"
    source = InMemory(records, None if label is None else kind, names)
    write_records(
        directory,
        source,
        lambda records: records,
        made={"augmenter": {"tokenizer": fingerprint}},
        num_shards=num_shards,
        progress=False,
    )
    return directory

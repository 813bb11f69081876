"""Examples of a TFDS data set."""

import hashlib
import os
import pathlib
from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np

from keras_mmel import extras
from keras_mmel.text.files.ids import IdHashes
from keras_mmel.text.files.records import Example

_BATCH = 1024


def from_tfds(
    name: str,
    split: str = "train",
    columns: str | Sequence[str] = ("sentence",),
    label: str | None = "label",
    id: str | None = None,
    data_dir: str | os.PathLike | None = None,
) -> "TfdsSource":
    """Examples of a TFDS data set, such as a task of GLUE.

    All examples are read and checked once, here.

    Args:
        name: of the data set, such as "glue/rte"; a path is taken for a
            directory that TFDS has prepared.
        split: a split or a part of one, such as "train" or "train[:100]".
        columns: the feature with the text, or the two of a pair.
        label: the feature with the label: integers are classes, real numbers
            values (regression); `None` for no labels.
        id: the feature with the ids, unique; the number of the example, from
            0, where it is `None`.
        data_dir: where TFDS keeps its data; prepared data is read, other
            data downloaded.

    Returns:
        A source for `write_augmented`.

    Raises:
        ValueError: where a feature is missing or of another kind, an id
            occurs twice, or bytes are not UTF-8; the example is named.

    Example:

    ```python
    from keras_mmel.text.files import from_tfds

    rte = from_tfds(
        "glue/rte", "train", ["sentence1", "sentence2"], id="idx"
    )
    ```
    """
    tfds = extras.need("tensorflow_datasets", "datasets")
    if pathlib.Path(name, "features.json").is_file():
        builder = tfds.builder_from_directory(name)
    else:
        builder = tfds.builder(name, data_dir=data_dir)
        builder.download_and_prepare()
    return TfdsSource(builder, split, columns, label, id)


class TfdsSource:
    """A checked split of a TFDS data set."""

    def __init__(self, builder, split, columns, label, id):
        self._tfds = extras.need("tensorflow_datasets", "datasets")
        self._builder, self._split = builder, split
        self._columns = (
            (columns,) if isinstance(columns, str) else tuple(columns)
        )
        self._label, self._id = label, id
        if len(self._columns) not in (1, 2):
            raise ValueError(
                "`columns` must name one or two features. "
                f"Received: columns={columns!r}"
            )
        self.num_texts = len(self._columns)
        self._check_features()
        self.label_kind, self.label_names = self._find_label_kind()
        self._length = builder.info.splits[split].num_examples
        self._sha256 = self._check_examples()

    def __len__(self) -> int:
        return self._length

    def read(self, start: int, stop: int) -> Iterator[Example]:
        """The examples from number `start` up to `stop`, in order."""
        for number, row in enumerate(self._rows(start, stop), start=start):
            yield self._example(row, number)

    def describe(self) -> dict:
        """The data set, its split, its columns and a hash of its examples."""
        return {
            "kind": "tfds",
            "name": self._builder.info.full_name,
            "split": str(self._split),
            "text": list(self._columns),
            "label": self._label,
            "id": self._id,
            "sha256": self._sha256,
        }

    def _check_features(self):
        found = self._builder.info.features
        for name in (*self._columns, self._label, self._id):
            if name is not None and name not in found:
                raise ValueError(
                    "`columns`, `label` and `id` must name features of the "
                    f"data set: {', '.join(found)}. Received: {name!r}"
                )
        for name in self._columns:
            if found[name].np_dtype != np.object_ or found[name].shape:
                raise ValueError(
                    f"`columns` must name texts. Received: {name!r}, which "
                    f"is {found[name]!r}"
                )

        if self._id is not None:
            feature = found[self._id]
            if feature.shape != () or not (
                feature.np_dtype == np.object_
                or np.issubdtype(feature.np_dtype, np.integer)
            ):
                raise ValueError(
                    "`id` must name a feature of words or integers. "
                    f"Received: {self._id!r}, which is {feature!r}"
                )

    def _find_label_kind(self):
        if self._label is None:
            return None, None
        feature = self._builder.info.features[self._label]
        names = getattr(feature, "names", None)
        if feature.shape == () and np.issubdtype(feature.np_dtype, np.integer):
            return "class", tuple(names) if names else None
        if feature.shape == () and np.issubdtype(feature.np_dtype, np.floating):
            return "value", None
        raise ValueError(
            "`label` must name a feature of one number. "
            f"Received: {self._label!r}, which is {feature!r}"
        )

    def _check_examples(self):
        digest, hashes = hashlib.sha256(), IdHashes()
        for example in self.read(0, len(self)):
            hashes.add(example.example_id)
            digest.update(repr(example).encode("utf-8"))
        repeated = hashes.repeated(
            example.example_id for example in self.read(0, len(self))
        )
        if repeated:
            raise ValueError(
                "`id` must name a feature that differs between examples. "
                f"Received: {self._id!r}, which is {repeated[0]!r} in the "
                f"examples {repeated[1]} and {repeated[2]} of {self._split!r}"
            )
        return digest.hexdigest()

    def _rows(self, start, stop):
        wanted = [*self._columns, self._label, self._id]
        wanted = [name for name in dict.fromkeys(wanted) if name is not None]
        for part in self._parts(start, stop):
            dataset = self._builder.as_dataset(
                split=part,
                shuffle_files=False,
                # One file after the other: a part lies as in the whole.
                read_config=self._tfds.ReadConfig(interleave_cycle_length=1),
            )
            dataset = dataset.map(lambda row: {n: row[n] for n in wanted})
            for batch in dataset.batch(_BATCH).as_numpy_iterator():
                for values in zip(*batch.values(), strict=True):
                    yield dict(zip(batch, values, strict=True))

    def _parts(self, start, stop):
        """What to read for some numbers, without reading what comes before."""
        instruction = self._tfds.core.ReadInstruction.from_spec(self._split)
        splits = self._builder.info.splits
        for whole in instruction.to_absolute(splits):
            begin, end = whole.from_ or 0, whole.to
            if end is None:
                end = splits[whole.splitname].num_examples
            length = end - begin
            first, last = max(start, 0), min(stop, length)
            if first < last:
                yield self._tfds.core.ReadInstruction(
                    whole.splitname,
                    from_=begin + first,
                    to=begin + last,
                    unit="abs",
                )
            start, stop = start - length, stop - length

    def _example(self, row, number):
        texts = tuple(
            self._decode(row[name], name, number) for name in self._columns
        )
        label = None
        if self._label is not None:
            label = row[self._label].item()
        example_id = str(number)
        if self._id is not None:
            value = row[self._id]
            if isinstance(value, bytes):
                example_id = self._decode(value, self._id, number)
            else:
                example_id = str(int(value))
        return Example(example_id, texts, label)

    def _decode(self, value, name, number):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"The texts of a data set must be UTF-8. Received: {name!r} "
                f"of example {number} of {self._split!r}: {error}"
            ) from None

"""The command `keras-mmel augment`."""

import dataclasses
import pathlib
import re
from typing import Literal

from keras_mmel_cli import shared

# NAME/CONFIG:VERSION, as TFDS writes it.
_TFDS_NAME = re.compile(r"\w+(/[\w.,=+-]+)*(:[\w.*]+)?")


@dataclasses.dataclass
class Augmenter:
    """Arguments of `MaskedLMAugmenter`.

    Attributes:
        num_augmented: samples of each example
        mask_ratio: share of the tokens to replace, 0 to 1
        search: how the masks are filled
        unit: what is replaced: tokens, or whole words of one piece
        pairs: whether a sentence sees the other of its pair
        max_length: tokens of a text or a pair, else what the model takes
        seed: of the choice of the masks
        dtype: of matrix products; bfloat16 is faster on some processors and
            slower on others: time both
        slots: rows of one call of the masked LM
    """

    num_augmented: int = 4
    mask_ratio: float = 0.4
    search: Literal["greedy", "beam"] = "greedy"
    unit: Literal["token", "word"] = "token"
    pairs: Literal["separate", "concatenated"] = "separate"
    max_length: shared.OptionalInt = None
    seed: int = 0
    dtype: Literal["float32", "bfloat16"] = "float32"
    slots: int = 64


@dataclasses.dataclass
class Augment:
    r"""Write augmented samples of a data set, made by a masked LM.

    For example:
      keras-mmel augment --masked_lm bert_tiny_mlm \
        --data reviews.csv --text text --label label \
        --out augmented/reviews

    Attributes:
        masked_lm: hf://owner/name, kaggle://..., or a directory
        data: a TFDS name such as glue/rte; a .csv, .tsv, .jsonl or .json file
        out: where to write
        split: split to read and to write
        data_dir: where TFDS keeps its data sets
        limit: how many of the first examples to read, else all
        processes: processes that share the files to write; each loads the
            masked LM
    """

    masked_lm: str
    data: str
    out: shared.Directory
    columns: shared.Columns
    augmenter: Augmenter
    split: str = "train"
    data_dir: shared.OptionalText = None
    limit: shared.OptionalInt = None
    num_shards: shared.NumShards = None
    shard: shared.Share = None
    processes: int = 1

    def validate(self) -> None:
        """Raises `ValueError` or `OSError` for what is wrong at first sight."""
        if "://" not in self.masked_lm:
            shared.check_exists(self.masked_lm, "directory")
        shared.parse_share(self.shard)
        if shared.is_table(self.data):
            self._validate_table()
        else:
            self._validate_tfds()
        if self.columns.text:
            return
        if self.data.startswith("glue/"):
            # Its text columns are known where it is read.
            self.columns.label = self.columns.label or "label"
        else:
            raise ValueError(
                "--text is needed with the name of the text column, or of both "
                f"of a pair. Received: --data {self.data}"
            )

    def _validate_table(self):
        """Raises an error where `data` is no table, or heeds no option."""
        shared.check_exists(self.data)
        if self.data_dir:
            raise ValueError(
                "--data_dir is of TFDS. "
                f"Received: --data {self.data} --data_dir {self.data_dir}"
            )
        if not re.fullmatch(r"\w+", self.split):
            raise ValueError(
                "--split is one word for a table, all of which is read; "
                f"--limit reads less of it. Received: --split {self.split}"
            )

    def _validate_tfds(self):
        """Raises an error where `data` is not of TFDS, or heeds no option."""
        path = pathlib.Path(self.data)
        is_prepared = (path / "features.json").is_file()
        is_name = _TFDS_NAME.fullmatch(self.data) and not path.is_file()
        if not is_prepared and not is_name:
            raise _no_such_data(self.data)
        if self.columns.label_names or self.columns.quoting != "csv":
            raise ValueError(
                "--label_names and --quoting are for files; TFDS has its own. "
                f"Received: --data {self.data}"
            )

    def run(self) -> None:
        """Augments what the options name, and writes it."""
        with shared.quiet():
            from keras_mmel.text import write_augmented
            from keras_mmel.text.files import InMemory
            from keras_mmel.text.sources.labels import describe_labels

        # The data first: it is read in a moment, the masked LM may be large.
        source = self._open_source()
        if self.limit:
            records = source.read(0, self.limit)
            facts = source.describe() | {"limit": self.limit}
            kind, names = source.label_kind, source.label_names
            source = InMemory(records, kind, names, facts, source.notes)
        labels = describe_labels(source)
        print(f"{self.data}: {len(source)} examples, {labels}.", flush=True)
        with shared.quiet_processes(self.processes):
            written = write_augmented(
                self.out,
                source,
                self.make_augmenter,
                num_shards=self.num_shards,
                shard=shared.parse_share(self.shard),
                # The split that a slice such as `train[:10%]` is of.
                split=re.split(r"\W", self.split)[0] or self.split,
                processes=self.processes,
            )
        shared.tell(self.out, written)

    def make_augmenter(self):
        """Makes the augmenter that the options name, once in each process."""
        with shared.quiet():
            from keras_mmel.text import MaskedLMAugmenter
            from keras_mmel.text import load_masked_lm

        masked_lm = load_masked_lm(self.masked_lm)
        return MaskedLMAugmenter(masked_lm, **vars(self.augmenter))

    def _open_source(self):
        from keras_mmel import extras
        from keras_mmel.text.files import from_tfds

        columns = self.columns
        if shared.is_table(self.data):
            return shared.open_table(columns, self.data)
        tfds = extras.need("tensorflow_datasets", "datasets")
        try:
            return from_tfds(
                self.data,
                self.split,
                columns.text,
                columns.label,
                columns.id,
                self.data_dir,
            )
        except (ValueError, AssertionError) as error:
            # The second of a version that there is not.
            not_found = isinstance(error, tfds.core.DatasetNotFoundError)
            if not_found or "BuilderConfig" in str(error):
                # TFDS lists all that it has, or breaks off before the list.
                raise _no_such_data(self.data) from None
            raise


def _no_such_data(data):
    return ValueError(
        "--data must be a .csv, .tsv, .jsonl or .json file, or the name of a "
        f"TFDS data set. Received: --data {data}"
    )

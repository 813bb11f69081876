"""The token ids of a data set in flat arrays: four bytes a token in memory."""

import dataclasses
import hashlib
import json
import os
import pathlib
import zlib

import numpy as np

from keras_mmel.whole_files import replacing

HEAD = "token_table.json"
"""Name of the file beside the arrays; it comes last and marks a whole table."""

# Of the files of a table; it rises with any change of their layout.
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class TokenTable:
    """Originals and views of a data set, as ids.

    The rows of an example stand next to each other, the original first.

    Attributes:
        token_ids: int32 (tokens,), row after row, special tokens included.
        starts: int64 (rows + 1,), where in `token_ids` each row begins.
        borders: int32 (rows,), how many tokens of a row are of segment 0.
        first: int64 (examples + 1,), the row of each example's original.
        labels: int64 or float32 (examples,), or `None`.
        teacher: float32 (rows, classes or 1), or `None` where some row has
            no prediction of a teacher.
        keys: int64 (examples,), a hash of each example's id.
        example_ids: The ids.
        texts: Instead of token ids the texts of the rows, str (rows,), once or,
            of pairs, twice; else `None`.
        fingerprint: 16 hex digits that change with the files, the tokenizer and
            the longest row; "" where the table is not of files alone.
    """

    token_ids: np.ndarray
    starts: np.ndarray
    borders: np.ndarray
    first: np.ndarray
    labels: np.ndarray | None
    teacher: np.ndarray | None
    keys: np.ndarray
    example_ids: tuple[str, ...]
    texts: tuple[np.ndarray, ...] | None = None
    fingerprint: str = ""

    def __len__(self) -> int:
        return len(self.example_ids)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each row, int64."""
        return np.diff(self.starts)

    @property
    def views(self) -> np.ndarray:
        """Number of rows of each example, the original included."""
        return np.diff(self.first)

    def save(self, path: str | os.PathLike) -> None:
        """Saves the table, for `load`.

        Args:
            path: A folder on a disk, for the table alone. It gets a NumPy file
                for each array, and a file with their checksums.

        Raises:
            ValueError: If it is a table of texts.

        Example:

        ```python
        table = keras_mmel.text.load_table("rte")
        table.save("rte_table")
        table = keras_mmel.text.TokenTable.load("rte_table")
        ```
        """
        if self.texts is not None:
            raise ValueError(
                "A table must be of token ids to be saved; texts are read from "
                "their files as fast. Received: a table of texts"
            )
        ids = np.frombuffer(json.dumps(self.example_ids).encode(), np.uint8)
        path, checksums = pathlib.Path(path), {}
        for name, values in (vars(self) | {"example_ids": ids}).items():
            if isinstance(values, np.ndarray):
                with replacing(path / f"{name}.npy") as half:
                    np.save(half, values, allow_pickle=False)
                    checksums[name] = _checksum(half)
        head = {"format": _FORMAT, "fingerprint": self.fingerprint}
        with replacing(path / HEAD) as half:
            half.write_text(json.dumps(head | {"checksums": checksums}))

    @classmethod
    def load(
        cls, path: str | os.PathLike, fingerprint: str | None = None
    ) -> "TokenTable":
        """Loads what `save` saved.

        The arrays are not read into memory, but mapped from their files.

        Args:
            path: The folder.
            fingerprint: That of the table that is wanted, where it is known.

        Returns:
            The table.

        Raises:
            FileNotFoundError: If there is no table, or a file of it is missing.
            ValueError: If the table is damaged, of another format, or of
                another fingerprint.
        """
        path = pathlib.Path(path)
        text = (path / HEAD).read_bytes()
        fields: dict = {"labels": None, "teacher": None}
        try:
            head = json.loads(text)
            layout, made = head["format"], head["fingerprint"]
            if layout != _FORMAT or fingerprint not in (None, made):
                raise ValueError(f"format {layout}, fingerprint {made!r}")
            for name, checksum in head["checksums"].items():
                file = path / f"{name}.npy"
                if _checksum(file) != checksum:
                    raise ValueError(f"{file.name!r} has another checksum")
                # As an array: the class of what is mapped costs time.
                fields[name] = np.asarray(np.load(file, mmap_mode="r"))
            ids = tuple(json.loads(fields.pop("example_ids").tobytes()))
            return cls(**fields, example_ids=ids, fingerprint=made)
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(
                "`path` must hold a whole table that `TokenTable.save` saved, "
                f"of format {_FORMAT} and the fingerprint {fingerprint!r} if "
                "there is one; delete it, and it can be made anew. "
                f"Received: path={str(path)!r}, {error}"
            ) from error


def hash_id(example_id: str) -> int:
    """A hash of an example's id, an int64 that is not negative."""
    digest = hashlib.blake2b(example_id.encode(), digest_size=8).digest()
    # Without the lowest bit it has 63, which an int64 holds.
    return int.from_bytes(digest, "little") >> 1


def _checksum(path):
    # What is empty cannot be mapped.
    return zlib.crc32(np.memmap(path, mode="r") if path.stat().st_size else b"")

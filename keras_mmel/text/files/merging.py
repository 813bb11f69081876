"""Put together the shards that several processes or machines made."""

import filecmp
import pathlib
from collections.abc import Sequence

from keras_mmel.text.files import shards
from keras_mmel.text.files.directory import claim
from keras_mmel.text.files.directory import finish
from keras_mmel.text.files.directory import missing_shards
from keras_mmel.text.files.directory import read_manifest
from keras_mmel.text.files.directory import require_same
from keras_mmel.text.files.writer import Written


def merge(
    directories: Sequence[str | pathlib.Path], out: str | pathlib.Path
) -> Written:
    """Put the shards of several directories into one that is complete.

    Only what was made with the same settings fits together. Shards are read
    through before they are copied. A merge that was stopped goes on when it
    is called again. Processes that write different shards into the same
    directory need no merge.

    Args:
        directories: written by `write_augmented` or `rewrite` with the same
            settings and different `shard`.
        out: of all shards; new, empty, or of the same settings.

    Returns:
        A `Written`; nothing is missing.

    Raises:
        FileNotFoundError: if a directory holds no augmented examples.
        ValueError: if two directories were made with different settings,
            which are named; if a shard is damaged, missing in all of them, or
            differs between two.
        OSError: if the disk is full; no half file is left.

    Example:

    ```python
    from keras_mmel.text import merge

    merge(["machine_0", "machine_1"], "all")
    ```
    """
    if isinstance(directories, str | pathlib.Path) or not directories:
        raise ValueError(
            "`directories` must name one directory at least. "
            f"Received: directories={directories!r}"
        )
    parts = [pathlib.Path(directory) for directory in directories]
    out = pathlib.Path(out)
    manifest = read_manifest(parts[0])
    for part in parts[1:]:
        require_same(read_manifest(part), manifest, part)
    copies = {
        name: [part / name for part in parts if (part / name).is_file()]
        for name in manifest.shard_names()
    }
    lost = [name for name, found in copies.items() if not found]
    if lost:
        raise ValueError(
            "`directories` must hold all shards together. Received: none with "
            f"{len(lost)} of {manifest.num_shards}, the first {lost[0]!r}"
        )
    claim(out, manifest)
    todo = set(missing_shards(out, manifest))
    for name, numbers in zip(copies, manifest.ranges(), strict=True):
        first, *others = copies[name]
        for path in (first, *others):
            shards.check_shard(path, len(numbers))
        for path in others:
            if not filecmp.cmp(first, path, shallow=False):
                raise ValueError(
                    f"The shard {name!r} must be the same wherever it is. "
                    f"Received: {str(first)!r} and {str(path)!r}, which differ"
                )
        if name in todo:
            shards.copy_shard(first, out / name)
    finish(out, manifest)
    return Written(len(todo), manifest.num_shards, ())

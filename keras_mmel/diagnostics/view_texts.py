"""The views of a probe as text, from what the user gives."""

from typing import Any

import keras
import numpy as np

from keras_mmel.diagnostics.probe import Probe
from keras_mmel.pages import words


def of_probe(
    texts: Any, tokenizer: Any, probe: Probe
) -> list[list[str]] | None:
    """The views of each group as text.

    Args:
        texts: None, lists of views, or a function from the views of a batch
            to such lists.
        tokenizer: None, or something with a `vocabulary`.
        probe: The groups.

    Returns:
        For each group a list with one text per view, or None.

    Raises:
        ValueError: If there are too few groups or views, or a tokenizer but
            no token ids.

    Example:

    ```python
    of_probe([["a good film", "a fine film"]], None, probe)
    ```
    """
    if texts is None and tokenizer is None:
        return None
    if texts is None:
        vocabulary = getattr(tokenizer, "vocabulary", None)
        if vocabulary is None and hasattr(tokenizer, "get_vocabulary"):
            vocabulary = tokenizer.get_vocabulary()
        if not vocabulary:
            raise ValueError(
                "`tokenizer` must have a `vocabulary`, a list of the pieces. "
                f"Received: a {type(tokenizer).__name__}"
            )
        found = _decode(probe, list(vocabulary))
    elif callable(texts):
        found = [
            group for batch in probe.map_views(texts) for group in list(batch)
        ]
    else:
        found = list(texts)
    groups = len(probe.mask)
    if len(found) < groups:
        raise ValueError(
            f"`texts` must have the views of each of the {groups} groups. "
            f"Received: {len(found)} groups"
        )
    found = [
        [words.as_text(view) for view in group] for group in found[:groups]
    ]
    for index, (group, real) in enumerate(zip(found, probe.mask, strict=True)):
        needed = int(np.flatnonzero(real).max(initial=-1)) + 1
        if len(group) < needed:
            raise ValueError(
                "`texts` must have the text of each view, the original first. "
                f"Received: {len(group)} texts for the {needed} views of "
                f"group {index}"
            )
        # Padding has no text.
        group[:] = [
            text if kept else ""
            for text, kept in zip(group, real, strict=False)
        ]
    return found


def _decode(probe, vocabulary):
    found = []
    for x, _ in probe.batches:
        views = x["views"]
        if isinstance(views, dict) and "token_ids" in views:
            ids = views["token_ids"]
            keep = views.get("padding_mask")
        else:
            leaves = keras.tree.flatten(views)
            ids, keep = leaves[0], None
            if len(leaves) > 1 or ids.ndim != 3 or ids.dtype.kind not in "iu":
                raise ValueError(
                    '`tokenizer` needs inputs with "token_ids" of shape '
                    "(batch, num_views, length). "
                    f"Received: {len(leaves)} inputs without them"
                )
        for group in range(len(ids)):
            texts = []
            for view in range(ids.shape[1]):
                row = ids[group, view]
                if keep is not None:
                    row = row[np.asarray(keep[group, view], dtype=bool)]
                texts.append(words.decode(row, vocabulary))
            found.append(texts)
    return found

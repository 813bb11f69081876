"""What the files hold: an example with its views, as plain values."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class View:
    """One augmented view of an example.

    Attributes:
        texts: one text, or two of a pair.
        token_ids: ids with the special tokens; empty where nobody gave any.
        positions: indices into `token_ids` of the replaced tokens, in the
            order in which they were filled.
        log_prob: log-probability of the filled tokens; NaN where unknown.
        teacher: the teacher's class probabilities, or one value for
            regression; empty before the file was labelled.
    """

    texts: tuple[str, ...]
    token_ids: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    log_prob: float = float("nan")
    teacher: tuple[float, ...] = ()


@dataclasses.dataclass(frozen=True)
class Record:
    """One example of the files: the original and its augmented views.

    Attributes:
        example_id: unique within the files.
        texts: the original: one text, or two of a pair.
        label: class, value, or `None` where the examples have no labels.
        token_ids: ids of the original with the special tokens; empty where
            nobody gave any.
        views: the augmented views, the original not included.
        teacher: the teacher's prediction for the original, as in `View`.
    """

    example_id: str
    texts: tuple[str, ...]
    label: int | float | None = None
    token_ids: tuple[int, ...] = ()
    views: tuple[View, ...] = ()
    teacher: tuple[float, ...] = ()

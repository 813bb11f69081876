"""A sentence or a pair as the model sees it, cut to a length."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Encoded:
    """A sentence or a pair as the model sees it.

    Attributes:
        token_ids: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`.
        segment_ids: 0 up to the first `[SEP]`, 1 after it.
        offsets: for each token, `(start, end)` in code points of its own
            sentence; `(0, 0)` for special tokens.
        word_ids: for each token, the number of its word in its own sentence;
            `None` for special tokens.
        sequence_ids: for each token, 0 for the first sentence, 1 for the
            second, `None` for special tokens.
    """

    token_ids: tuple[int, ...]
    segment_ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    word_ids: tuple[int | None, ...]
    sequence_ids: tuple[int | None, ...]


def join(first, second, cls_id, sep_id, max_length=None) -> Encoded:
    """Put one or two encodings between special tokens.

    Args:
        first: a `tokenizers.Encoding` without special tokens.
        second: another one, or `None`.
        cls_id: id of `[CLS]`.
        sep_id: id of `[SEP]`.
        max_length: longest result; see `longest_first`.

    Returns:
        The whole.
    """
    a = len(first.ids)
    if second is None:
        if max_length is not None:
            a = min(a, max_length - 2)
        return Encoded(
            (cls_id, *first.ids[:a], sep_id),
            (0,) * (a + 2),
            ((0, 0), *first.offsets[:a], (0, 0)),
            (None, *first.word_ids[:a], None),
            (None, *(0,) * a, None),
        )
    b = len(second.ids)
    if max_length is not None:
        a, b = longest_first(a, b, max_length - 3)
    return Encoded(
        (cls_id, *first.ids[:a], sep_id, *second.ids[:b], sep_id),
        (0,) * (a + 2) + (1,) * (b + 1),
        ((0, 0), *first.offsets[:a], (0, 0), *second.offsets[:b], (0, 0)),
        (None, *first.word_ids[:a], None, *second.word_ids[:b], None),
        (None, *(0,) * a, None, *(1,) * b, None),
    )


def longest_first(a: int, b: int, room: int) -> tuple[int, int]:
    """Lengths of two sentences after cutting the longer one first.

    Args:
        a: tokens of the first sentence.
        b: tokens of the second sentence.
        room: tokens that both may have together.

    Returns:
        The two lengths, as the `tokenizers` library cuts: where both need
        more than half of the room, the one that was the shorter gets
        `room // 2` and the other one the rest.

    Example:

    ```python
    from keras_mmel.text.encoded import longest_first

    longest_first(10, 3, 9)  # (6, 3)
    ```
    """
    if a + b <= room:
        return a, b
    short, long = min(a, b), max(a, b)
    long = max(short, room - short)
    if short + long > room:
        short = room // 2
        long = room - short
    return (long, short) if a > b else (short, long)

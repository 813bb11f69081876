"""One augmented sample of a text, as the augmenter returns it."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Augmented:
    """One augmented sample of a sentence or a pair of sentences.

    Attributes:
        text: the sample as text, rebuilt from the original by replacing only
            the words that were filled; a pair where the original was a pair.
        token_ids: ids of the sample with the special tokens, `[CLS] a [SEP]`
            or `[CLS] a [SEP] b [SEP]`.
        positions: indices into `token_ids` of the filled tokens, in the order
            in which they were filled; for a pair whose sides were augmented
            by themselves, those of the first side come first.
        log_prob: sum of the log-probabilities of the filled words, each given
            what was filled before it, among the words that may be filled in.
            It is known to single precision, and takes no part in `==`.

    Example:

    ```python
    from keras_mmel.text import Augmented

    sample = Augmented("a fine film", (101, 7, 8, 9, 102), (2,), -0.5)
    [sample.token_ids[p] for p in sample.positions]  # [8]
    ```
    """

    text: str | tuple[str, str]
    token_ids: tuple[int, ...]
    positions: tuple[int, ...]
    log_prob: float = dataclasses.field(compare=False)

"""One augmented sample of a text, and how it is made of filled masks."""

import dataclasses
import itertools
from collections.abc import Sequence

from keras_mmel.text.augmentation.masking import Masked
from keras_mmel.text.augmentation.search import Filled
from keras_mmel.text.augmentation.splice import splice
from keras_mmel.text.bert.tokenizer import Encoded


@dataclasses.dataclass(frozen=True)
class Augmented:
    """One augmented sample of a sentence or a pair of sentences.

    Attributes:
        text: The sample as text, rebuilt from the original by replacing only
            the words that were filled; a pair where the original was a pair.
        token_ids: Ids of the sample with the special tokens, `[CLS] a [SEP]`
            or `[CLS] a [SEP] b [SEP]`.
        positions: Indices into `token_ids` of the filled tokens, in the order
            in which they were filled; for a pair whose sides were augmented
            by themselves, those of the first side come first.
        log_prob: Sum of the log-probabilities of the filled words, each given
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


def combine(
    text: str | tuple[str, str],
    encoded: Encoded,
    sequences: Sequence[Masked],
    fillings: Sequence[Sequence[Filled]],
    vocabulary: Sequence[str],
) -> list[Augmented]:
    """Makes the samples of a text from the fillings of its sequences.

    Sample i of a pair is filling i of both sentences. Where one of them has
    fewer, it stays as it was.

    Args:
        text: A sentence or a pair.
        encoded: Its tokens.
        sequences: The masked sequences that it was made into.
        fillings: The fillings of each of them.
        vocabulary: The pieces of the tokenizer.

    Returns:
        The samples, as many as the sequence with the most fillings has.
    """
    return [
        _sample(text, encoded, zip(sequences, of_rank, strict=True), vocabulary)
        for of_rank in itertools.zip_longest(*fillings)
    ]


def _sample(text, encoded, filled_sequences, vocabulary):
    """The text with the fillings of its sequences put in, `None` for none."""
    token_ids = list(encoded.token_ids)
    positions, log_prob = [], 0.0
    for sequence, filled in filled_sequences:
        if filled is None:
            continue
        places = [sequence.start + p for p in sequence.positions]
        for place, token_id in zip(places, filled.token_ids, strict=True):
            token_ids[place] = token_id
        positions += places
        log_prob += filled.log_prob
    if isinstance(text, str):
        new_text = _new_side(text, 0, encoded, token_ids, vocabulary)
    else:
        new_text = tuple(
            _new_side(sentence, side, encoded, token_ids, vocabulary)
            for side, sentence in enumerate(text)
        )
    return Augmented(new_text, tuple(token_ids), tuple(positions), log_prob)


def _new_side(sentence, side, encoded, token_ids, vocabulary):
    """Sentence 0 or 1 of a sample as text."""
    places = [i for i, s in enumerate(encoded.sequence_ids) if s == side]
    # Not all that was masked: the word of before may have come back.
    changed = {
        n for n, i in enumerate(places) if token_ids[i] != encoded.token_ids[i]
    }
    spans = [encoded.offsets[i] for i in places]
    pieces = [vocabulary[token_ids[i]] for i in places]
    return splice(sentence, spans, pieces, changed)

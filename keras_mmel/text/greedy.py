"""Algorithm 2 of the paper: augmented samples by greedy search."""

import functools
from collections.abc import Callable
from collections.abc import Sequence

from keras_mmel.text.scorer import Ranked
from keras_mmel.text.scorer import Rows
from keras_mmel.text.scorer import rank_surely
from keras_mmel.text.slots import Filled
from keras_mmel.text.slots import Masked
from keras_mmel.text.slots import fill_rest
from keras_mmel.text.slots import longest_first
from keras_mmel.text.slots import rows_of


def greedy(
    sequences: Sequence[Masked],
    rank: Callable[[Rows, int], Ranked],
    rank_exactly: Callable[[Rows, int], Ranked],
    num_samples: int,
    slots: int,
) -> list[list[Filled]]:
    """Fill the masks of every sequence `num_samples` times.

    Sample i takes the i-th most likely word at the first mask, and then at
    every other mask the most likely one given what is filled so far. Samples
    thus differ in their first word. One of them may come out as the original
    sentence: it is left out, and the sample of the next rank is added behind
    the others.

    Args:
        sequences: what to fill.
        rank: gives the most likely words of rows (`WordScorer.rank`).
        rank_exactly: the same without noise, for the rows that are close.
        num_samples: samples of each sequence.
        slots: rows of one call of the masked LM.

    Returns:
        For each sequence its samples, fewer than `num_samples` only where
        there are no more words for the first mask.
    """
    surely = functools.partial(rank_surely, rank, rank_exactly)
    begun = _first_words(sequences, surely, num_samples + 1, slots)
    tasks = [
        (index, filled)
        for index in range(len(sequences))
        for filled in begun[index][:num_samples]
    ]
    samples = [[] for _ in sequences]
    for index, filled in _finish(sequences, tasks, rank, rank_exactly, slots):
        if filled.token_ids != sequences[index].original:
            samples[index].append(filled)
    spare = [
        (index, begun[index][num_samples])
        for index in range(len(sequences))
        if len(samples[index]) < num_samples < len(begun[index])
    ]
    for index, filled in _finish(sequences, spare, rank, rank_exactly, slots):
        samples[index].append(filled)
    return samples


def _first_words(sequences, rank, count, slots):
    """The most likely words at the first mask, one call for all samples."""
    begun = [[] for _ in sequences]
    order = longest_first(sequences)
    for start in range(0, len(order), slots):
        chosen = order[start : start + slots]
        ranked = rank(rows_of([sequences[i] for i in chosen]), count)
        for row, index in enumerate(chosen):
            begun[index] = [
                Filled((int(word),), float(log_prob))
                for word, log_prob in zip(
                    ranked.token_ids[row], ranked.log_probs[row], strict=True
                )
            ]
    return begun


def _finish(sequences, tasks, rank, rank_exactly, slots):
    filled = fill_rest(
        [sequences[index] for index, _ in tasks],
        [first for _, first in tasks],
        rank,
        rank_exactly,
        slots,
    )
    return [(index, one) for (index, _), one in zip(tasks, filled, strict=True)]

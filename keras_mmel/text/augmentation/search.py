"""Algorithm 2 of the paper: masks filled one after the other, in one batch.

The words of the first mask are ranked once for all samples of a sequence. The
other masks are filled in a batch with a number of slots: each call of the
masked LM fills one mask in every slot, and a slot whose sequence has no mask
left takes the next sequence at once, the longest first. So sequences of the
same length share the batch, little of it is padding, and none of it waits.
"""

from collections.abc import Callable
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_mmel.text.augmentation.masking import Masked

# `WordScorer.rank`: the most likely words of rows, and their log-probabilities.
Rank = Callable[..., tuple[np.ndarray, np.ndarray]]


class Filled(NamedTuple):
    """Words for the masks of a sequence, in the order of its positions."""

    token_ids: tuple[int, ...]
    log_prob: float


def greedy(
    sequences: Sequence[Masked], rank: Rank, num_samples: int, slots: int
) -> list[list[Filled]]:
    """Fills the masks of every sequence `num_samples` times.

    Sample i takes the i-th most likely word at the first mask, and then at
    every other mask the most likely one given what is filled so far. Samples
    thus differ in their first word. One of them may come out as the original
    sentence: it is left out, and the sample of the next rank is added behind
    the others.

    Args:
        sequences: What to fill.
        rank: Gives the most likely words of rows (`WordScorer.rank`).
        num_samples: Samples of each sequence.
        slots: Rows of one call of the masked LM.

    Returns:
        For each sequence its samples, fewer than `num_samples` only where
        there are no more words for the first mask.
    """
    words, scores = _first_words(sequences, rank, num_samples + 1, slots)
    samples: list[list[Filled]] = [[] for _ in sequences]
    # One rank more than samples: a sample may be the original, but only one.
    # All sequences in the first round, those that lack a sample in the second.
    all_ranks = range(words.shape[1])
    for ranks in (all_ranks[:num_samples], all_ranks[num_samples:]):
        short = [i for i, own in enumerate(samples) if len(own) < num_samples]
        tasks = [(i, r) for i in short for r in ranks]
        # The numbers of the sequences and the ranks, also where there are none.
        index, first_ranks = np.array(tasks, int).reshape(-1, 2).T
        chosen = [sequences[i] for i in index]
        first_words = words[index, first_ranks][:, None]
        first_scores = scores[index, first_ranks][:, None]
        fillings = _fill_rest(chosen, first_words, first_scores, rank, slots)
        # With one beam there is one filling of each.
        for i, (filled,) in zip(index, fillings, strict=True):
            if filled.token_ids != sequences[i].original:
                samples[i].append(filled)
    return samples


def beam_search(
    sequences: Sequence[Masked],
    rank: Rank,
    num_samples: int,
    num_beams: int,
    slots: int,
) -> list[list[Filled]]:
    """Fills the masks of every sequence by beam search.

    The masks are filled in their order. After each of them the `num_beams`
    fillings with the largest sum of log-probabilities are kept. The samples
    are the best of the last ones that differ from the original. They are
    distinct by construction, and less diverse than those of `greedy`.

    Args:
        sequences: What to fill.
        rank: Gives the most likely words of rows (`WordScorer.rank`).
        num_samples: Samples of each sequence.
        num_beams: Fillings to keep.
        slots: Rows of one call of the masked LM.

    Returns:
        For each sequence its samples, the most likely first; fewer than
        `num_samples` only where there are no more fillings.

    Reference:
        "beam" in table 6 of the paper.
    """
    words, scores = _first_words(sequences, rank, num_beams, slots)
    # Where there are fewer words than beams, the others begin without hope.
    missing = ((0, 0), (0, num_beams - words.shape[1]))
    words = np.pad(words, missing)
    scores = np.pad(scores, missing, constant_values=-np.inf)
    fillings = _fill_rest(sequences, words, scores, rank, slots)
    samples = []
    for sequence, of_sequence in zip(sequences, fillings, strict=True):
        new = [f for f in of_sequence if f.token_ids != sequence.original]
        samples.append(new[:num_samples])
    return samples


def _first_words(sequences, rank, count, slots):
    """The most likely words at the first mask, and their log-probabilities.

    Both are (sequences, count), or less where there are no more words.
    """
    token_ids, segment_ids, lengths, positions = _as_rows(sequences)
    order = _longest_first(lengths)
    ranked = []
    for start in range(0, len(order), slots):
        rows = order[start : start + slots]
        longest = lengths[rows].max()
        ids, segments = token_ids[rows, :longest], segment_ids[rows, :longest]
        here = positions[rows, 0]
        ranked.append(rank(ids, segments, lengths[rows], here, count))
    words, log_probs = map(np.concatenate, zip(*ranked, strict=True))
    back = np.argsort(order)
    return words[back], log_probs[back]


def _fill_rest(sequences, words, scores, rank, slots):
    """Fills the masks that follow the first one.

    Args:
        sequences: What to fill.
        words: (sequences, beams) words for the first mask.
        scores: (sequences, beams) their log-probabilities, -inf for none. The
            beams of a sequence are filled together, and as many of their
            fillings are kept: with one beam the most likely one.
        rank: As for `greedy`.
        slots: As for `greedy`.

    Returns:
        For each sequence its fillings, the most likely first.
    """
    token_ids, segment_ids, lengths, positions = _as_rows(sequences)
    beams = words.shape[1]
    token_ids = np.repeat(token_ids[:, None], beams, axis=1)
    # The first mask of every beam takes its word.
    token_ids[np.arange(len(sequences)), :, positions[:, 0]] = words
    scores = scores.copy()
    # How many masks each sequence has, and how many of them are filled.
    masks = np.array([len(s.positions) for s in sequences])
    filled = np.ones_like(masks)
    waiting = _longest_first(lengths)
    waiting = waiting[masks[waiting] > 1]
    active = waiting[:0]
    while len(waiting) or len(active):
        # A sequence whose masks are filled makes room for the next one.
        free = max(1, slots // beams) - len(active)
        active = np.concatenate([active, waiting[:free]])
        waiting = waiting[free:]
        longest = lengths[active].max()
        here = positions[active, filled[active]]
        ids = token_ids[active, :, :longest].reshape(-1, longest)
        segments = np.repeat(segment_ids[active, :longest], beams, axis=0)
        sizes = np.repeat(lengths[active], beams)
        places = np.repeat(here, beams)
        next_words, log_probs = rank(ids, segments, sizes, places, beams)
        # Every beam goes on with each of its words; the best of all stay.
        count = next_words.shape[1]
        totals = np.repeat(scores[active], count, axis=1)
        totals += log_probs.reshape(totals.shape)
        # Of equal ones: the better parent first, then the better word.
        best = np.argsort(-totals, axis=1, kind="stable")[:, :beams]
        scores[active] = np.take_along_axis(totals, best, axis=1)
        token_ids[active] = token_ids[active[:, None], best // count]
        next_words = next_words.reshape(totals.shape)
        best_words = np.take_along_axis(next_words, best, axis=1)
        token_ids[active, :, here] = best_words
        filled[active] += 1
        active = active[filled[active] < masks[active]]
    return [
        [
            Filled(tuple(row[list(sequence.positions)].tolist()), float(score))
            for row, score in zip(rows, row_scores, strict=True)
            if score > -np.inf
        ]
        for sequence, rows, row_scores in zip(
            sequences, token_ids, scores, strict=True
        )
    ]


def _as_rows(sequences):
    """Token ids, segment ids, lengths and positions, padded with zeros."""
    return (
        _padded([s.token_ids for s in sequences]),
        _padded([s.segment_ids for s in sequences]),
        np.array([len(s.token_ids) for s in sequences], "int32"),
        _padded([s.positions for s in sequences]),
    )


def _padded(rows):
    """Rows of several lengths as one int32 table, padded with zeros."""
    table = np.zeros((len(rows), max(map(len, rows), default=1)), "int32")
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table


def _longest_first(lengths):
    """Indices that sort by length; equal ones keep their order."""
    return np.argsort(-lengths, kind="stable")

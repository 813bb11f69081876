"""Algorithm 2 of the paper: augmented samples by greedy search."""

import dataclasses
import functools
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from keras_mmel.text.augmentation.scorer import CLOSE
from keras_mmel.text.augmentation.scorer import Ranked
from keras_mmel.text.augmentation.scorer import Rows
from keras_mmel.text.augmentation.scorer import rank_surely
from keras_mmel.text.augmentation.slots import Filled
from keras_mmel.text.augmentation.slots import Masked
from keras_mmel.text.augmentation.slots import fill_rest
from keras_mmel.text.augmentation.slots import longest_first
from keras_mmel.text.augmentation.slots import rows_of


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


_EQUAL_DECIMALS = 9


def beam_search(
    sequences: Sequence[Masked],
    rank: Callable[[Rows, int], Ranked],
    rank_exactly: Callable[[Rows, int], Ranked],
    num_samples: int,
    num_beams: int,
    slots: int,
) -> list[list[Filled]]:
    """Fill the masks of every sequence by beam search.

    The masks are filled in their order. After each of them the `num_beams`
    fillings with the largest sum of log-probabilities are kept. The samples
    are the best of the last ones that differ from the original. They are
    distinct by construction, and less diverse than those of `greedy`.

    Args:
        sequences: what to fill.
        rank: gives the most likely words of rows (`WordScorer.rank`).
        rank_exactly: the same without noise; a sentence where a decision is
            closer than the noise is searched again with it.
        num_samples: samples of each sequence.
        num_beams: fillings to keep.
        slots: rows of one call of the masked LM.

    Returns:
        For each sequence its samples, the most likely first; fewer than
        `num_samples` only where there are no more fillings.

    Source: "beam" in table 6 of the paper.
    """
    found = [[] for _ in sequences]
    waiting = longest_first(sequences)[::-1]
    active: list[_Search] = []
    while waiting or active:
        while waiting and (len(active) + 1) * num_beams <= max(
            slots, num_beams
        ):
            index = waiting.pop()
            active.append(_Search(index, sequences[index], num_beams))
        ranked = rank(_rows(active), num_beams + 1)
        start, going = 0, []
        for search in active:
            stop = start + len(search.token_ids)
            sure = search.advance(
                ranked.token_ids[start:stop], ranked.log_probs[start:stop]
            )
            start = stop
            if not sure:
                search = _search_exactly(search, rank_exactly)
            if search.done:
                found[search.index] = search.samples(num_samples)
            else:
                going.append(search)
        active = going
    return found


@dataclasses.dataclass
class _Search:
    """The beams of one sequence; there is one before the first mask."""

    index: int
    sequence: Masked
    num_beams: int

    def __post_init__(self):
        self.token_ids = self.sequence.token_ids[None].copy()
        self.words = np.zeros((1, 0), "int64")
        self.scores = np.zeros(1)

    @property
    def done(self):
        return self.words.shape[1] == len(self.sequence.positions)

    def advance(self, token_ids, log_probs):
        """Fill the next mask; returns whether noise left it as it is."""
        totals = (self.scores[:, None] + log_probs).ravel()
        # Equal ones: the better parent first, then the better word.
        order = np.argsort(-np.round(totals, _EQUAL_DECIMALS), kind="stable")
        order = order[: self.num_beams + 1]
        kept = order[: self.num_beams]
        parents = kept // token_ids.shape[1]
        words = token_ids.ravel()[kept]
        position = self.sequence.positions[self.words.shape[1]]
        self.token_ids = self.token_ids[parents]
        self.token_ids[:, position] = words
        self.words = np.concatenate(
            [self.words[parents], words[:, None]], axis=1
        )
        self.scores = totals[kept]
        gaps = -np.diff(totals[order])
        # Inside the beam the order matters at the end alone.
        gaps = gaps if self.done else gaps[self.num_beams - 1 :]
        return bool((gaps >= CLOSE).all())

    def samples(self, count):
        fillings = zip(self.words.tolist(), self.scores, strict=True)
        samples = [
            Filled(tuple(words), float(score)) for words, score in fillings
        ]
        original = self.sequence.original
        return [one for one in samples if one.token_ids != original][:count]


def _search_exactly(search, rank_exactly):
    search = _Search(search.index, search.sequence, search.num_beams)
    while not search.done:
        ranked = rank_exactly(_rows([search]), search.num_beams + 1)
        search.advance(ranked.token_ids, ranked.log_probs)
    return search


def _rows(searches):
    """The beams of all searches, each at its next mask."""
    return rows_of(
        [
            dataclasses.replace(
                search.sequence,
                token_ids=token_ids,
                positions=(search.sequence.positions[search.words.shape[1]],),
            )
            for search in searches
            for token_ids in search.token_ids
        ]
    )

"""Filling masks of many sequences in one batch whose slots refill.

A batch has a number of slots. Each holds one sequence, and each call of the
masked LM fills one mask of every slot. A slot whose sequence has no mask left
takes the next sequence at once, the longest first: so sequences of the same
length share the batch, little of it is padding, and none of it waits.

A sequence whose next word is too close to call leaves its slot. Such words
are decided together, in double precision, once a slot would stay empty.
"""

import dataclasses
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from keras_mmel.text.augmentation.scorer import Ranked
from keras_mmel.text.augmentation.scorer import Rows


@dataclasses.dataclass(frozen=True)
class Masked:
    """A sequence with masks in it.

    Attributes:
        token_ids: ids with the special tokens and the masks, int32.
        segment_ids: int32, of the same length.
        positions: where the masks are, the first to be filled first.
        original: ids that were there before.
    """

    token_ids: np.ndarray
    segment_ids: np.ndarray
    positions: tuple[int, ...]
    original: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Filled:
    """Words for the masks, in the order of `Masked.positions`."""

    token_ids: tuple[int, ...]
    log_prob: float


def rows_of(sequences: Sequence[Masked], mask: int = 0) -> Rows:
    """Sequences as rows that look at their mask number `mask`."""
    lengths = np.array([len(s.token_ids) for s in sequences], "int32")
    token_ids = np.zeros((len(sequences), lengths.max()), "int32")
    segment_ids = np.zeros_like(token_ids)
    for index, sequence in enumerate(sequences):
        token_ids[index, : lengths[index]] = sequence.token_ids
        segment_ids[index, : lengths[index]] = sequence.segment_ids
    positions = np.array([s.positions[mask] for s in sequences], "int32")
    return Rows(token_ids, segment_ids, lengths, positions)


def longest_first(sequences: Sequence[Masked]) -> list[int]:
    """Indices of the sequences, sorted by length; equal ones keep order."""
    return sorted(
        range(len(sequences)), key=lambda i: -len(sequences[i].token_ids)
    )


def fill_rest(
    sequences: Sequence[Masked],
    begun: Sequence[Filled],
    rank: Callable[[Rows, int], Ranked],
    rank_exactly: Callable[[Rows, int], Ranked],
    slots: int,
) -> list[Filled]:
    """Fill the masks that are left, each with the most likely word.

    Args:
        sequences: what to fill.
        begun: for each of them the words of its first masks.
        rank: gives the most likely words of rows (`WordScorer.rank`).
        rank_exactly: the same without noise, for the rows that are close.
        slots: rows of the batch.

    Returns:
        For each sequence the words of all its masks.
    """
    done = list(begun)
    waiting, close = [], []

    def put(index, filled):
        done[index] = filled
        if len(filled.token_ids) < len(sequences[index].positions):
            waiting.append((index, filled))

    for index in reversed(longest_first(sequences)):
        put(index, begun[index])
    if not waiting:
        return done
    batch = _Batch(
        min(slots, len(waiting)),
        max(len(sequences[index].token_ids) for index, _ in waiting),
        max(len(sequences[index].positions) for index, _ in waiting),
    )
    while waiting or close or batch.used:
        while waiting and batch.used < batch.slots:
            index, filled = waiting.pop()
            batch.add(index, sequences[index], filled)
        if batch.used < batch.slots and close:
            for start in range(0, len(close), slots):
                part = close[start : start + slots]
                for index, filled in _decide(sequences, part, rank_exactly):
                    put(index, filled)
            close = []
            continue
        finished, unsure = batch.step(rank)
        close += unsure
        for index, filled in finished:
            done[index] = filled
    return done


def _decide(sequences, close, rank_exactly):
    """Fill the next mask of some sequences, each with its words so far."""
    rows = [
        dataclasses.replace(
            sequences[index],
            token_ids=_token_ids(sequences[index], filled),
            positions=(sequences[index].positions[len(filled.token_ids)],),
        )
        for index, filled in close
    ]
    ranked = rank_exactly(rows_of(rows), 1)
    words = ranked.token_ids[:, 0].tolist()
    log_probs = ranked.log_probs[:, 0].tolist()
    return [
        (
            index,
            Filled((*filled.token_ids, word), filled.log_prob + log_prob),
        )
        for (index, filled), word, log_prob in zip(
            close, words, log_probs, strict=True
        )
    ]


def _token_ids(sequence, filled):
    token_ids = sequence.token_ids.copy()
    places = list(sequence.positions[: len(filled.token_ids)])
    token_ids[places] = filled.token_ids
    return token_ids


class _Batch:
    """The slots as arrays; the first `used` of them are taken."""

    def __init__(self, slots, longest, masks):
        self.slots = slots
        self.used = 0
        self.index = np.zeros(slots, int)
        self.token_ids = np.zeros((slots, longest), "int32")
        self.segment_ids = np.zeros((slots, longest), "int32")
        self.lengths = np.zeros(slots, "int32")
        self.positions = np.zeros((slots, masks), "int32")
        self.words = np.zeros((slots, masks), "int64")
        self.masks = np.zeros(slots, int)
        self.filled = np.zeros(slots, int)
        self.log_probs = np.zeros(slots)

    def add(self, index, sequence, begun):
        slot, length = self.used, len(sequence.token_ids)
        masks, filled = len(sequence.positions), len(begun.token_ids)
        self.index[slot] = index
        self.token_ids[slot, :length] = _token_ids(sequence, begun)
        self.token_ids[slot, length:] = 0
        self.segment_ids[slot, :length] = sequence.segment_ids
        self.segment_ids[slot, length:] = 0
        self.lengths[slot] = length
        self.positions[slot, :masks] = sequence.positions
        self.words[slot, :filled] = begun.token_ids
        self.masks[slot], self.filled[slot] = masks, filled
        self.log_probs[slot] = begun.log_prob
        self.used += 1

    def step(self, rank):
        """Fill one mask of every slot.

        Returns:
            The sequences that are finished, and those whose word was too
            close to call, as they were before. Both have left their slots.
        """
        slots = np.arange(self.used)
        lengths = self.lengths[: self.used]
        longest = lengths.max()
        here = self.positions[slots, self.filled[: self.used]]
        ranked = rank(
            Rows(
                self.token_ids[: self.used, :longest],
                self.segment_ids[: self.used, :longest],
                lengths,
                here,
            ),
            1,
        )
        close = ranked.close
        unsure = [self._state(slot) for slot in np.flatnonzero(close)]
        self.token_ids[slots, here] = ranked.token_ids[:, 0]
        self.words[slots, self.filled[: self.used]] = ranked.token_ids[:, 0]
        self.log_probs[: self.used] += ranked.log_probs[:, 0]
        self.filled[: self.used] += 1
        last = self.filled[: self.used] == self.masks[: self.used]
        finished = [self._state(slot) for slot in np.flatnonzero(last & ~close)]
        self._keep(np.flatnonzero(~last & ~close))
        return finished, unsure

    def _state(self, slot):
        words = self.words[slot, : self.filled[slot]].tolist()
        filled = Filled(tuple(words), float(self.log_probs[slot]))
        return int(self.index[slot]), filled

    def _keep(self, slots):
        for name in (
            "index",
            "token_ids",
            "segment_ids",
            "lengths",
            "positions",
            "words",
            "masks",
            "filled",
            "log_probs",
        ):
            array = getattr(self, name)
            array[: len(slots)] = array[slots]
        self.used = len(slots)

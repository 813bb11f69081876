"""Which tokens of a text are masked, and the sequences that come of it."""

import collections
import dataclasses
import hashlib
from collections.abc import Sequence

import numpy as np

from keras_mmel.text.bert.tokenizer import Encoded
from keras_mmel.text.bert.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class Masked:
    """A sequence with masks in it, which is filled by itself.

    Attributes:
        token_ids: Ids with the special tokens and the masks, int32.
        segment_ids: Of the same length, int32.
        positions: Where the masks are, the first to be filled first.
        original: Ids that were there before.
        start: Where the sequence lies in the tokens of its text: its position
            p is position `start + p` there.
    """

    token_ids: np.ndarray
    segment_ids: np.ndarray
    positions: tuple[int, ...]
    original: tuple[int, ...]
    start: int = 0


@dataclasses.dataclass(frozen=True)
class Masking:
    """Masks texts, by settings that decide which tokens.

    Attributes:
        tokenizer: The tokenizer of the texts.
        mask_ratio: Share of the tokens (or words) to mask.
        unit: "token", or "word" for words of a single piece.
        pairs: "separate" where the sentences of a pair are masked and filled
            each by itself, "concatenated" where they are one sequence.
        seed: Seed of the choice.
    """

    tokenizer: Tokenizer
    mask_ratio: float
    unit: str
    pairs: str
    seed: int

    def mask(self, encoded: Encoded, example_id: str) -> list[Masked]:
        """Chooses the masks of a text.

        Args:
            encoded: The text, cut to the length of the model.
            example_id: Its id.

        Returns:
            The sequences to fill: one, or two for a pair whose sentences are
            filled by themselves, without those where nothing can be masked.
        """
        sides: list[tuple[int, ...]] = [(0,)]
        # Of a pair, also where its second sentence is empty: there is a [SEP].
        if 1 in encoded.segment_ids:
            sides = [(0,), (1,)] if self.pairs == "separate" else [(0, 1)]
        masked = [self._mask_sides(encoded, s, example_id) for s in sides]
        return [sequence for sequence in masked if sequence is not None]

    def _mask_sides(self, encoded, sides, example_id):
        """A sequence of one or both sentences, or None without a mask."""
        tokenizer = self.tokenizer
        places = [i for i, s in enumerate(encoded.sequence_ids) if s in sides]
        length = len(places)
        is_banned = np.isin(encoded.token_ids, tokenizer.banned_ids)
        candidates = [i for i in places if not is_banned[i]]
        if self.unit == "word":
            # Words of several pieces stay, but count for the share to mask.
            words = list(
                zip(encoded.sequence_ids, encoded.word_ids, strict=True)
            )
            pieces = collections.Counter(words[i] for i in places)
            candidates = [i for i in candidates if pieces[words[i]] == 1]
            length = len(pieces)
        count = count_masked(length, len(candidates), self.mask_ratio)
        if count == 0:
            return None
        # A pair as one sequence counts as its first sentence.
        chosen = choose_positions(
            candidates, count, self.seed, example_id, sides[0]
        )
        token_ids = np.array(encoded.token_ids, "int32")
        token_ids[list(chosen)] = tokenizer.mask_id
        segment_ids = np.array(encoded.segment_ids, "int32")
        start = 0
        if len(sides) == 1:
            # One sentence between special tokens of its own.
            cls_id, sep_id = tokenizer.cls_id, tokenizer.sep_id
            token_ids = np.array([cls_id, *token_ids[places], sep_id], "int32")
            segment_ids = np.zeros_like(token_ids)
            # Its [CLS] takes the place in front of its first token.
            start = places[0] - 1
        positions = tuple(position - start for position in chosen)
        original = tuple(encoded.token_ids[position] for position in chosen)
        return Masked(token_ids, segment_ids, positions, original, start)


def words_to_fill_in(tokenizer: Tokenizer, unit: str) -> np.ndarray:
    """Finds the tokens that may be filled in.

    Args:
        tokenizer: The tokenizer of the masked LM.
        unit: "token" for all but special and unused tokens, "word" for those
            of them that are words: they encode to themselves.

    Returns:
        Their ids, ascending.
    """
    token_ids = np.arange(len(tokenizer.vocabulary))
    allowed = np.setdiff1d(token_ids, tokenizer.banned_ids)
    if unit == "token":
        return allowed
    encodings = tokenizer.encode([tokenizer.vocabulary[i] for i in allowed])
    is_word = [
        encoded.token_ids[1:-1] == (token_id,)
        for token_id, encoded in zip(allowed.tolist(), encodings, strict=True)
    ]
    return allowed[is_word]


def count_masked(length: int, candidates: int, mask_ratio: float) -> int:
    """Rounds a mask ratio to a number of tokens.

    It is `max(1, round(mask_ratio * length))`, the number k of algorithm 2 in
    the paper, at least one and at most the number of tokens that may be
    masked. Ties are rounded to even, as Python's `round` does. So a ratio of 0
    masks one token and a ratio of 1 all of them.

    Args:
        length: Tokens of the sentence without special tokens (words, where
            words are masked).
        candidates: How many of them may be masked.
        mask_ratio: Share of the sentence to mask, from 0 to 1.

    Returns:
        The number of tokens to mask; 0 where nothing may be masked.

    Example:

    ```python
    from keras_mmel.text.augmentation.masking import count_masked

    count_masked(10, 10, 0.4)  # 4
    count_masked(1, 1, 0.4)  # 1
    ```
    """
    return min(candidates, max(1, round(mask_ratio * length)))


def choose_positions(
    candidates: Sequence[int],
    count: int,
    seed: int,
    example_id: str,
    segment: int = 0,
) -> tuple[int, ...]:
    """Chooses the positions to mask, in the order in which they are filled.

    Every position is ranked by a random 64-bit number, and those with the
    smallest numbers are chosen: a uniform draw without replacement, in a
    uniformly random order. The numbers are those of a Philox generator whose
    key is a hash of the seed, the example's id and the segment. So the choice
    is the same on every machine, whatever else is augmented with it.

    Args:
        candidates: Indices of the tokens that may be masked, ascending.
        count: How many of them to choose.
        seed: The seed of the augmentation.
        example_id: The id of the example.
        segment: 0 for the first sentence of a pair, 1 for the second, where
            each is augmented by itself.

    Returns:
        `count` of the candidates, the first to be filled first.

    Example:

    ```python
    from keras_mmel.text.augmentation.masking import choose_positions

    choose_positions(range(1, 9), 3, seed=0, example_id="7")
    ```
    """
    # Lengths keep ("1", "23") and ("12", "3") apart.
    fields = [str(seed), example_id, str(segment)]
    message = "".join(f"{len(field)}:{field}" for field in fields)
    digest = hashlib.blake2b(message.encode(), digest_size=16).digest()
    key = int.from_bytes(digest, "little")
    # The raw numbers of a bit generator never change between NumPy versions;
    # those of `Generator.choice` may.
    ranks = np.random.Philox(key=key).random_raw(len(candidates))
    chosen = np.argsort(ranks, kind="stable")[:count]
    return tuple(int(candidates[index]) for index in chosen)

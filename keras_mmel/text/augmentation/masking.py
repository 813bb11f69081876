"""From an encoded text to masked sequences, and from filled ones back."""

import dataclasses
import hashlib
from collections.abc import Sequence

import numpy as np

from keras_mmel.text.augmentation.augmented import Augmented
from keras_mmel.text.augmentation.slots import Filled
from keras_mmel.text.augmentation.slots import Masked
from keras_mmel.text.augmentation.splice import CONTINUATION
from keras_mmel.text.augmentation.splice import splice
from keras_mmel.text.bert.tokenizer import Encoded
from keras_mmel.text.bert.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True)
class Masking:
    """The settings that decide which tokens are masked.

    Attributes:
        mask_ratio: share of the tokens (or words) to mask.
        unit: "token", or "word" for words of a single piece.
        separate: whether the sentences of a pair are masked and filled each
            by itself.
        seed: the seed of the choice.
    """

    mask_ratio: float
    unit: str
    separate: bool
    seed: int


@dataclasses.dataclass(frozen=True)
class Part:
    """A sequence that is filled by itself.

    Attributes:
        sequence: the sequence.
        positions: its masks, as positions in the tokens of the whole text.
    """

    sequence: Masked
    positions: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Plan:
    """One text with its masked sequences; none where nothing can be masked."""

    text: str | tuple[str, str]
    encoded: Encoded
    parts: tuple[Part, ...]


def make_plan(
    text: str | tuple[str, str],
    encoded: Encoded,
    example_id: str,
    masking: Masking,
    tokenizer: Tokenizer,
    banned: np.ndarray,
) -> Plan:
    """Choose the masks of a text.

    Args:
        text: a sentence or a pair.
        encoded: its tokens, cut to the length of the model.
        example_id: its id.
        masking: what decides the choice.
        tokenizer: for the special tokens.
        banned: (vocabulary,) bool, True for tokens that are never masked.

    Returns:
        The plan.
    """
    if isinstance(text, str):
        segments = [(0,)]
    else:
        segments = [(0,), (1,)] if masking.separate else [(0, 1)]
    parts = [
        _make_part(encoded, inside, example_id, masking, tokenizer, banned)
        for inside in segments
    ]
    return Plan(text, encoded, tuple(part for part in parts if part))


def combine(
    plan: Plan,
    samples: Sequence[Sequence[Filled]],
    tokenizer: Tokenizer,
) -> list[Augmented]:
    """Make the samples of a text from the samples of its parts.

    Sample i of a pair is sample i of both sentences. Where one of them has
    fewer, it stays as it was.

    Args:
        plan: the text.
        samples: for each part of the plan its samples.
        tokenizer: the tokenizer that encoded the text.

    Returns:
        The samples, as many as the part with the most of them has.
    """
    count = max((len(of_part) for of_part in samples), default=0)
    return [
        _augmented(
            plan,
            [
                (part, of_part[index])
                for part, of_part in zip(plan.parts, samples, strict=True)
                if index < len(of_part)
            ],
            tokenizer.vocabulary,
        )
        for index in range(count)
    ]


def _make_part(encoded, inside, example_id, masking, tokenizer, banned):
    places = [i for i, s in enumerate(encoded.sequence_ids) if s in inside]
    candidates = [i for i in places if not banned[encoded.token_ids[i]]]
    length = len(places)
    if masking.unit == "word":
        words = [(encoded.sequence_ids[i], encoded.word_ids[i]) for i in places]
        pieces = {}
        for word in words:
            pieces[word] = pieces.get(word, 0) + 1
        alone = {i for i, w in zip(places, words, strict=True) if pieces[w] < 2}
        candidates = [i for i in candidates if i in alone]
        length = len(pieces)
    count = count_masked(length, len(candidates), masking.mask_ratio)
    if not count:
        return None
    # A pair as one sequence counts as its first segment.
    chosen = choose_positions(
        candidates, count, masking.seed, example_id, inside[0]
    )
    whole = np.array(encoded.token_ids, "int32")
    segment_ids = np.array(encoded.segment_ids, "int32")
    original = tuple(whole[list(chosen)].tolist())
    whole[list(chosen)] = tokenizer.mask_id
    shift = 0
    if inside != (0, 1):
        first = places[0]
        whole = np.concatenate(
            [
                [tokenizer.cls_id],
                whole[first : first + len(places)],
                [tokenizer.sep_id],
            ]
        ).astype("int32")
        segment_ids = np.zeros_like(whole)
        shift = 1 - first
    own = tuple(position + shift for position in chosen)
    return Part(Masked(whole, segment_ids, own, original), chosen)


def _augmented(plan, filled, vocabulary):
    token_ids = list(plan.encoded.token_ids)
    positions, log_prob = [], 0.0
    for part, words in filled:
        for position, word in zip(part.positions, words.token_ids, strict=True):
            token_ids[position] = word
        positions += part.positions
        log_prob += words.log_prob
    return Augmented(
        text=_text(plan, token_ids, positions, vocabulary),
        token_ids=tuple(token_ids),
        positions=tuple(positions),
        log_prob=log_prob,
    )


def _text(plan, token_ids, positions, vocabulary):
    encoded = plan.encoded
    changed = {p for p in positions if token_ids[p] != encoded.token_ids[p]}
    texts = (plan.text,) if isinstance(plan.text, str) else plan.text
    spliced = []
    for side, text in enumerate(texts):
        places = [i for i, s in enumerate(encoded.sequence_ids) if s == side]
        spliced.append(
            splice(
                text,
                [encoded.offsets[i] for i in places],
                [vocabulary[token_ids[i]] for i in places],
                {n for n, i in enumerate(places) if i in changed},
            )
        )
    return spliced[0] if isinstance(plan.text, str) else tuple(spliced)


def word_pieces(tokenizer: Tokenizer, allowed: np.ndarray) -> np.ndarray:
    """Those of the allowed ids that are words: they encode to themselves.

    Args:
        tokenizer: the tokenizer.
        allowed: ids to choose from.

    Returns:
        The ids whose spelling, as a text, is the single token they are.
    """
    pieces = [tokenizer.vocabulary[i] for i in allowed]
    kept = [
        token
        for token, encoded in zip(
            allowed.tolist(), tokenizer.encode(pieces), strict=True
        )
        if encoded.token_ids[1:-1] == (token,)
    ]
    return np.array(
        [
            i
            for i in kept
            if not tokenizer.vocabulary[i].startswith(CONTINUATION)
        ],
        "int64",
    )


def count_masked(length: int, candidates: int, mask_ratio: float) -> int:
    """Number of tokens to mask: `max(1, round(mask_ratio * length))`.

    The number k of algorithm 2 in the paper, at least one and at most the
    number of tokens that may be masked. Ties are rounded to even, as Python's
    `round` does. So a ratio of 0 masks one token and a ratio of 1 all of them.

    Args:
        length: tokens of the sentence without special tokens (words, where
            words are masked).
        candidates: how many of them may be masked.
        mask_ratio: share of the sentence to mask, from 0 to 1.

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
    """Choose the positions to mask, in the order in which they are filled.

    Every position is ranked by a random 64-bit number, and those with the
    smallest numbers are chosen: a uniform draw without replacement, in a
    uniformly random order. The numbers are those of a Philox generator whose
    key is a hash of the seed, the example's id and the segment. So the choice
    is the same on every machine, whatever else is augmented with it.

    Args:
        candidates: indices of the tokens that may be masked, ascending.
        count: how many of them to choose.
        seed: the seed of the augmentation.
        example_id: the id of the example.
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
    parts = [str(seed), example_id, str(segment)]
    message = "".join(f"{len(part)}:{part}" for part in parts)
    # A text may hold lone surrogates, which UTF-8 has no place for.
    message = message.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(message, digest_size=16).digest()
    key = int.from_bytes(digest, "little")
    # The raw numbers of a bit generator never change between NumPy versions;
    # those of `Generator.choice` may.
    ranks = np.random.Philox(key=key).random_raw(len(candidates))
    chosen = np.argsort(ranks, kind="stable")[:count]
    return tuple(int(candidates[index]) for index in chosen)

"""Augment texts with a masked LM: algorithm 2 of the paper."""

import hashlib
import itertools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

import keras
import numpy as np

from keras_mmel.text.augmentation.augmented import Augmented
from keras_mmel.text.augmentation.augmenter_checks import among
from keras_mmel.text.augmentation.augmenter_checks import at_least
from keras_mmel.text.augmentation.augmenter_checks import banned_tokens
from keras_mmel.text.augmentation.augmenter_checks import name_of
from keras_mmel.text.augmentation.augmenter_checks import one_or_two
from keras_mmel.text.augmentation.augmenter_checks import ratio
from keras_mmel.text.augmentation.augmenter_checks import tokenizer_of
from keras_mmel.text.augmentation.encoder import arrays
from keras_mmel.text.augmentation.encoder import take_encoder
from keras_mmel.text.augmentation.masking import Masking
from keras_mmel.text.augmentation.masking import combine
from keras_mmel.text.augmentation.masking import make_plan
from keras_mmel.text.augmentation.masking import word_pieces
from keras_mmel.text.augmentation.scorer import WordScorer
from keras_mmel.text.augmentation.search import beam_search
from keras_mmel.text.augmentation.search import greedy
from keras_mmel.text.augmentation.texts_done import Progress
from keras_mmel.text.bert.tokenizer import Tokenizer

# Texts that are encoded, sorted by length and filled together, per slot.
_TEXTS_PER_SLOT = 8


class MaskedLMAugmenter:
    """Makes augmented samples of texts with a BERT masked LM.

    A random share of the tokens of a sentence is masked,
    `max(1, round(mask_ratio * length))` of them. Sample i takes the i-th most
    likely word at the first mask and then fills the others one by one with
    the most likely word given what is filled so far (algorithm 2 in appendix
    B of the paper). Special tokens, `[UNK]` and `[unused]` tokens are neither
    masked nor filled in.

    The samples of a text are pairwise distinct and differ from it: a sample
    that equals the original is left out, and the sample of the next rank
    follows as the last. A text gets fewer than `num_augmented` samples only
    where nothing can be masked (an empty text, only unknown words).

    The samples depend on the text, its id and the settings alone, not on the
    batch, the other texts, their order, `slots` or `jit_compile`. Decisions
    that single precision cannot settle are taken in double precision.
    `log_prob` is known to single precision.

    Args:
        masked_lm: a `keras_hub.models.BertMaskedLM`, such as `load_masked_lm`
            returns. Its weights are taken as they are now.
        num_augmented: samples of each text, the paper's |B(x)| - 1.
        mask_ratio: share of the tokens to mask, from 0 (one token) to 1 (all
            of them).
        search: "greedy", or "beam" for the most likely fillings, which are
            less diverse.
        unit: "token" as in the paper, or "word": only words of a single piece
            are masked and filled in, and `text` tokenizes to `token_ids`.
        seed: seed of the choice of the masks.
        pairs: "separate" augments the sentences of a pair each by itself;
            "concatenated" as one sequence, where each sees the other.
        max_length: longest sequence in tokens, special tokens included; the
            length of the model where it is `None`. A longer text is cut
            before masks are chosen; `text` keeps what was cut off.
        num_beams: fillings kept by beam search, `num_augmented + 1` where it
            is `None`.
        slots: rows of one call of the masked LM.
        jit_compile: whether XLA compiles the masked LM: pays from some
            thousand texts on.
        tokenizer: the tokenizer of the masked LM, `masked_lm.tokenizer` where
            it is `None`.

    Raises:
        ValueError: if a setting is out of its range, or masked LM and
            tokenizer do not belong together.
        TypeError: if `masked_lm` is not a BERT of keras-hub, or there is no
            tokenizer.

    Example:

    ```python
    from keras_mmel.text import MaskedLMAugmenter
    from keras_mmel.text import load_masked_lm

    masked_lm = load_masked_lm("hf://google-bert/bert-base-uncased")
    augmenter = MaskedLMAugmenter(masked_lm, num_augmented=4)
    for sample in augmenter.augment(["A fine film, and a long one."])[0]:
        print(sample.text, sample.log_prob)
    ```

    Source: Yi et al. 2021, "Reweighting Augmented Samples by Minimizing the
    Maximal Expected Loss", https://arxiv.org/abs/2103.08933.
    """

    def __init__(
        self,
        masked_lm: keras.Model,
        num_augmented: int = 4,
        mask_ratio: float = 0.4,
        search: str = "greedy",
        unit: str = "token",
        seed: int = 0,
        *,
        pairs: str = "separate",
        max_length: int | None = None,
        num_beams: int | None = None,
        slots: int = 64,
        jit_compile: bool = False,
        tokenizer: Tokenizer | None = None,
    ):
        at_least("num_augmented", num_augmented, 1)
        at_least("slots", slots, 1)
        at_least("seed", seed, None)
        among("search", search, ("greedy", "beam"))
        among("unit", unit, ("token", "word"))
        among("pairs", pairs, ("separate", "concatenated"))
        ratio("mask_ratio", mask_ratio)
        self.tokenizer = tokenizer_of(masked_lm, tokenizer)
        self._encoder = take_encoder(masked_lm)
        self._banned = banned_tokens(self.tokenizer, self._encoder)
        allowed = np.flatnonzero(~self._banned)
        if unit == "word":
            allowed = word_pieces(self.tokenizer, allowed)
        if num_augmented > len(allowed):
            raise ValueError(
                "`num_augmented` must be at most the number of words that may "
                f"be filled in, {len(allowed)}. "
                f"Received: num_augmented={num_augmented}"
            )
        longest = int(self._encoder.positions.shape[0])
        if max_length is None:
            max_length = longest
        at_least("max_length", max_length, 3)
        if max_length > longest:
            raise ValueError(
                f"`max_length` must be at most {longest}, the longest "
                f"sequence of the masked LM. Received: max_length={max_length}"
            )
        if num_beams is None:
            num_beams = num_augmented + 1
        at_least("num_beams", num_beams, num_augmented)
        self.num_augmented = int(num_augmented)
        self.search = search
        self.max_length = int(max_length)
        self.num_beams = int(num_beams)
        self.slots = int(slots)
        self._masking = Masking(
            float(mask_ratio), unit, pairs == "separate", int(seed)
        )
        self._scorer = WordScorer(
            self._encoder,
            allowed,
            jit_compile,
            static_rows=(-(-self.slots // 4), self.slots),
        )
        self._weights_hash = None

    def augment(
        self,
        texts: Sequence[str | tuple[str, str]],
        example_ids: Sequence[str | int] | None = None,
    ) -> list[list[Augmented]]:
        """Make the augmented samples of some texts.

        Args:
            texts: sentences, or pairs of sentences.
            example_ids: an id for each text, which decides its masks
                together with the seed; "0", "1", ... where it is `None`. The
                ids "7" and 7 are the same.

        Returns:
            For each text its samples, at most `num_augmented`.

        Raises:
            TypeError: if a text is neither a string nor a pair of strings,
                or an id neither a string nor an integer.
            ValueError: if an id occurs twice, or there is not one for each
                text.
        """
        if isinstance(texts, str):
            raise TypeError(
                "`texts` must be a sequence of texts. Received: one string"
            )
        texts = list(texts)
        if example_ids is None:
            example_ids = range(len(texts))
        names = [name_of(example_id) for example_id in example_ids]
        if len(names) != len(texts):
            raise ValueError(
                "`example_ids` must hold one id for each text. "
                f"Received: {len(names)} ids for {len(texts)} texts"
            )
        seen = set()
        for name in names:
            if name in seen:
                raise ValueError(
                    f"`example_ids` must differ. Received: {name!r} twice"
                )
            seen.add(name)
        return list(self.augment_stream(zip(names, texts, strict=True)))

    def augment_stream(
        self,
        examples: Iterable[tuple[str | int, str | tuple[str, ...]]],
        on_progress: Callable[[int], None] | None = None,
    ) -> Iterator[list[Augmented]]:
        """Make augmented samples of a stream of texts of any length.

        `8 * slots` texts are held in memory at a time. Ids are not compared
        with those of earlier texts.

        Args:
            examples: pairs of an id and a text; a text is a string, or a
                tuple of one or two.
            on_progress: called with a number of texts after each call of
                the masked LM, in sum the number of all texts. Texts that are
                filled together come out together, so this moves more evenly
                than the results do.

        Yields:
            The samples of each text, in the order of the texts.
        """
        examples = iter(examples)
        size = _TEXTS_PER_SLOT * self.slots
        while window := list(itertools.islice(examples, size)):
            names = [name_of(example_id) for example_id, _ in window]
            texts = [one_or_two(text) for _, text in window]
            yield from self._augment(names, texts, on_progress)

    def get_config(self) -> dict:
        """Every setting that decides the samples, as plain values.

        Includes the fingerprint of the tokenizer and a hash of the masked
        LM's weights. `slots` and `jit_compile` are left out: the samples do
        not depend on them.
        """
        if self._weights_hash is None:
            digest = hashlib.blake2b(digest_size=16)
            for array in arrays(self._encoder):
                digest.update(repr(array.shape).encode())
                digest.update(np.ascontiguousarray(array))
            self._weights_hash = digest.hexdigest()
        return {
            "num_augmented": self.num_augmented,
            "mask_ratio": self._masking.mask_ratio,
            "search": self.search,
            "num_beams": self.num_beams if self.search == "beam" else None,
            "unit": self._masking.unit,
            "seed": self._masking.seed,
            "pairs": "separate" if self._masking.separate else "concatenated",
            "max_length": self.max_length,
            "tokenizer": self.tokenizer.fingerprint,
            "masked_lm": self._weights_hash,
        }

    def _augment(self, names, texts, on_progress):
        encoded = self.tokenizer.encode(texts, self.max_length)
        plans = [
            make_plan(
                text, one, name, self._masking, self.tokenizer, self._banned
            )
            for text, one, name in zip(texts, encoded, names, strict=True)
        ]
        sequences = [part.sequence for plan in plans for part in plan.parts]
        progress = Progress(on_progress, len(texts), self._work(sequences))
        filled = iter(self._fill(sequences, progress))
        samples = [
            combine(plan, [next(filled) for _ in plan.parts], self.tokenizer)
            for plan in plans
        ]
        progress.finish()
        return samples

    def _fill(self, sequences, progress):
        if not sequences:
            return []
        if self.search == "greedy":
            return greedy(
                sequences,
                progress.watch(self._scorer.rank),
                self._scorer.rank_exactly,
                self.num_augmented,
                self.slots,
            )
        return beam_search(
            sequences,
            progress.watch(self._scorer.rank),
            self._scorer.rank_exactly,
            self.num_augmented,
            self.num_beams,
            self.slots,
        )

    def _work(self, sequences):
        """Rows that go through the masked LM, more or less."""
        copies = self.num_augmented
        if self.search == "beam":
            copies = self.num_beams
        return sum(1 + copies * (len(s.positions) - 1) for s in sequences)

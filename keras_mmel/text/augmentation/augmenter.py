"""Augment texts with a masked LM: algorithm 2 of the paper."""

import functools
import hashlib
import itertools
import numbers
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_mmel.counts import check_count
from keras_mmel.text.augmentation import masking
from keras_mmel.text.augmentation.augmented import Augmented
from keras_mmel.text.augmentation.augmented import combine
from keras_mmel.text.augmentation.encoder import take_encoder
from keras_mmel.text.augmentation.scorer import WordScorer
from keras_mmel.text.augmentation.search import beam_search
from keras_mmel.text.augmentation.search import greedy
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.bert.tokenizer import check_class
from keras_mmel.text.bert.tokenizer import check_max_length
from keras_mmel.text.bert.tokenizer import check_texts

# Texts that are sorted by length and filled together, per slot: many of a model
# of width 128, where full calls matter, one of BERT-base, where time passes.
_TEXTS_PER_SLOT, _WIDTH = 8, 1024


class MaskedLMAugmenter:
    """Makes augmented samples of texts with a BERT masked LM.

    A random share of the tokens of a sentence is masked. Sample i takes the
    i-th most likely word at the first mask and then fills the others one by
    one with the most likely word given what is filled so far (algorithm 2 in
    appendix B of the paper). Special tokens, `[UNK]` and `[unused]` tokens are
    neither masked nor filled in.

    The samples of a text are pairwise distinct and differ from it: a sample
    that equals the original is left out, and the sample of the next rank
    follows as the last. A text gets fewer than `num_augmented` samples only
    where nothing can be masked (an empty text, only unknown words), or where
    the vocabulary has no more words to offer.

    The masks depend on the text, its id and the settings alone. The same
    settings on the same machine give the same samples. `slots` and the other
    texts of a batch change a logit by rounding alone, so a word only where two
    words are as likely up to single precision.

    Args:
        masked_lm: A `keras_hub.models.BertMaskedLM`, such as `load_masked_lm`
            returns. Its weights are taken as they are now.
        num_augmented: Samples of each text, the paper's |B(x)| - 1.
        mask_ratio: Share of the tokens to mask, from 0 (one token) to 1 (all
            of them). `keras_mmel.text.augmentation.masking.count_masked`
            rounds it to a number of tokens.
        search: "greedy", or "beam" for the most likely fillings, which are
            less diverse.
        unit: "token" as in the paper, or "word": only words of a single piece
            are masked and filled in, and `text` tokenizes to `token_ids`.
        seed: Seed of the choice of the masks.
        pairs: "separate" augments the sentences of a pair each by itself;
            "concatenated" as one sequence, where each sees the other.
        max_length: Longest sequence in tokens, special tokens included; the
            length of the model where it is `None`. A longer text is cut
            before masks are chosen; `text` keeps what was cut off.
        num_beams: Fillings kept by beam search, `num_augmented + 1` where it
            is `None`; refused where the search is greedy.
        slots: Rows of one call of the masked LM.
        tokenizer: The tokenizer of the masked LM, `masked_lm.tokenizer` where
            it is `None`.
        dtype: "float32", or "bfloat16" for the matrix products of dense layers,
            which some processors make faster and others slower: time both
            with some of your texts. Some samples are then others.

    Raises:
        ValueError: If a setting is out of its range, or masked LM and tokenizer
            do not belong together.
        TypeError: If `masked_lm` is not a BERT of keras-hub, there is no
            tokenizer, or a count or the seed is no integer.

    Example:

    ```python
    from keras_mmel.text import MaskedLMAugmenter
    from keras_mmel.text import load_masked_lm

    masked_lm = load_masked_lm("hf://google-bert/bert-base-uncased")
    augmenter = MaskedLMAugmenter(masked_lm, num_augmented=4)
    for sample in augmenter.augment(["A fine film, and a long one."])[0]:
        print(sample.text, sample.log_prob)
    ```

    Reference:
        Yi et al. 2021, "Reweighting Augmented Samples by Minimizing the
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
        tokenizer: Tokenizer | None = None,
        dtype: str = "float32",
    ):
        self.num_augmented = check_count("num_augmented", num_augmented, 1)
        self.slots = check_count("slots", slots, 1)
        seed = check_count("seed", seed)
        _check_choice("search", search, ("greedy", "beam"))
        _check_choice("unit", unit, ("token", "word"))
        _check_choice("pairs", pairs, ("separate", "concatenated"))
        _check_choice("dtype", dtype, ("float32", "bfloat16"))
        if not 0 <= mask_ratio <= 1:
            raise ValueError(
                "`mask_ratio` must be a number from 0 to 1. Received: "
                f"mask_ratio={mask_ratio!r}"
            )
        # What is no BERT should not be asked for a tokenizer first.
        self._encoder = take_encoder(masked_lm, dtype)
        self.dtype = dtype
        given = tokenizer or getattr(masked_lm, "tokenizer", None)
        self.tokenizer: Tokenizer = check_class(given, "encode", "fingerprint")
        pieces, rows = len(self.tokenizer.vocabulary), len(self._encoder.tokens)
        if pieces > rows:
            raise ValueError(
                "The tokenizer must not have more tokens than the masked LM. "
                f"Received: {pieces} tokens for a vocabulary of {rows}"
            )
        longest = len(self._encoder.positions)
        self.max_length = check_max_length(max_length, longest)
        if num_beams is None:
            num_beams = num_augmented + 1
        elif search == "greedy":
            raise ValueError(
                '`num_beams` is of search="beam" alone. '
                f"Received: num_beams={num_beams!r} with search={search!r}"
            )
        self.num_beams = check_count("num_beams", num_beams, num_augmented)
        self.search = search
        self._masking = masking.Masking(
            self.tokenizer, float(mask_ratio), unit, pairs, seed
        )
        allowed = masking.words_to_fill_in(self.tokenizer, unit)
        self._scorer = WordScorer(self._encoder, allowed)

    def augment(
        self,
        texts: Sequence[str | tuple[str, str]],
        example_ids: Sequence[str | int] | None = None,
    ) -> list[list[Augmented]]:
        """Makes the augmented samples of some texts.

        Args:
            texts: Sentences, or pairs of sentences.
            example_ids: An id for each text, which decides its masks
                together with the seed; "0", "1", ... where it is `None`. The
                ids "7" and 7 are the same.

        Returns:
            For each text its samples, at most `num_augmented`.

        Raises:
            TypeError: If a text is neither a string nor a pair of strings,
                or an id neither a string nor an integer.
            ValueError: If an id occurs twice, or there is not one for each
                text.
        """
        texts = check_texts(texts)
        if example_ids is None:
            example_ids = range(len(texts))
        names = [_name_of(example_id) for example_id in example_ids]
        if len(names) != len(texts):
            raise ValueError(
                "`example_ids` must hold one id for each text. "
                f"Received: {len(names)} ids for {len(texts)} texts"
            )
        if len(set(names)) < len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise ValueError(
                f"`example_ids` must differ. Received: {twice!r} twice"
            )
        return list(self.augment_stream(zip(names, texts, strict=True)))

    def augment_stream(
        self, examples: Iterable[tuple[str | int, str | tuple[str, ...]]]
    ) -> Iterator[list[Augmented]]:
        """Makes augmented samples of a stream of texts of any length.

        At most `8 * slots` texts are in memory at a time. Ids are not compared
        with those of earlier texts.

        Args:
            examples: Pairs of an id and a text; a text is a string, or a
                tuple of one or two.

        Yields:
            The samples of each text, in the order of the texts.
        """
        examples = iter(examples)
        width = self._encoder.tokens.shape[1]
        size = min(_TEXTS_PER_SLOT, max(1, _WIDTH // width)) * self.slots
        while window := list(itertools.islice(examples, size)):
            names = [_name_of(example_id) for example_id, _ in window]
            # One sentence may come as a tuple, as in records.
            texts = [
                text[0] if isinstance(text, tuple) and len(text) == 1 else text
                for _, text in window
            ]
            yield from self._augment(names, texts)

    def get_config(self) -> dict:
        """Returns every setting that decides the samples, as plain values.

        Includes the fingerprint of the tokenizer, its id of unknown words and
        a hash of the masked LM's weights. `slots` is left out: it changes
        rounding alone.
        """
        return {
            "num_augmented": self.num_augmented,
            "mask_ratio": self._masking.mask_ratio,
            "search": self.search,
            "num_beams": self.num_beams if self.search == "beam" else None,
            "unit": self._masking.unit,
            "seed": self._masking.seed,
            "pairs": self._masking.pairs,
            "max_length": self.max_length,
            "dtype": self.dtype,
            "tokenizer": self.tokenizer.fingerprint,
            "unk_id": self.tokenizer.unk_id,
            "masked_lm": self._weights_hash,
        }

    @functools.cached_property
    def _weights_hash(self):
        digest = hashlib.blake2b(digest_size=16)
        for leaf in tf.nest.flatten(self._encoder):
            # The others are epsilons, numbers of heads and activations.
            if isinstance(leaf, tf.Tensor):
                digest.update(repr(tuple(leaf.shape)).encode())
                digest.update(leaf.numpy().tobytes())
        return digest.hexdigest()

    def _augment(self, names, texts):
        """The samples of texts that are in memory together."""
        encodings = self.tokenizer.encode(texts, self.max_length)
        masked_texts = [
            self._masking.mask(encoded, name)
            for encoded, name in zip(encodings, names, strict=True)
        ]
        # The sequences of all texts are filled together, in full batches.
        sequences = list(itertools.chain.from_iterable(masked_texts))
        fillings = iter(self._fill(sequences))
        vocabulary = self.tokenizer.vocabulary
        samples = []
        rows = zip(texts, encodings, masked_texts, strict=True)
        for text, encoded, of_text in rows:
            own = list(itertools.islice(fillings, len(of_text)))
            samples.append(combine(text, encoded, of_text, own, vocabulary))
        return samples

    def _fill(self, sequences):
        """For each sequence its fillings, by the search that was asked for."""
        # Texts without a word that may be masked give none.
        if not sequences:
            return []
        rank, count, slots = self._scorer.rank, self.num_augmented, self.slots
        if self.search == "greedy":
            return greedy(sequences, rank, count, slots)
        return beam_search(sequences, rank, count, self.num_beams, slots)


def _name_of(example_id):
    if isinstance(example_id, str):
        return example_id
    is_bool = isinstance(example_id, bool)
    if is_bool or not isinstance(example_id, numbers.Integral):
        raise TypeError(
            "`example_ids` must be strings or integers. "
            f"Received: {example_id!r} (of type {type(example_id).__name__})"
        )
    return str(int(example_id))


def _check_choice(name, value, choices):
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(repr, choices))}. "
            f"Received: {name}={value!r}"
        )

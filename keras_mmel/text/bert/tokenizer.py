"""WordPiece tokenizer of a checkpoint: ids, offsets, words; text stays text."""

import dataclasses
import hashlib
import itertools
import json
import pathlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_mmel import extras
from keras_mmel.counts import check_count
from keras_mmel.text.bert import tokenizer_files
from keras_mmel.text.bert.tokenizer_files import SPECIAL

_UNUSED = re.compile(r"\[unused\d+\]")

# What decides the ids, so what the fingerprint is made of. The decoder, the
# padding and the truncation do not.
_DECIDING = ("normalizer", "pre_tokenizer", "model", "added_tokens")


@dataclasses.dataclass(frozen=True)
class Encoded:
    """A sentence or a pair as the model sees it.

    Attributes:
        token_ids: `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`.
        segment_ids: 0 up to the first `[SEP]`, 1 after it.
        offsets: For each token, `(start, end)` in code points of its own
            sentence; `(0, 0)` for special tokens.
        word_ids: For each token, the number of its word in its own sentence;
            `None` for special tokens.
        sequence_ids: For each token, 0 for the first sentence, 1 for the
            second, `None` for special tokens.
    """

    token_ids: tuple[int, ...]
    segment_ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    word_ids: tuple[int | None, ...]
    sequence_ids: tuple[int | None, ...]


def longest_first(sizes: Sequence[int], max_length: int) -> list[int]:
    """Cuts a sentence or a pair to a length, the longer sentence first.

    It is how the `tokenizers` library cuts: where both sentences need more
    than half of the room, the one that was the shorter gets `room // 2` tokens
    and the other one the rest.

    Args:
        sizes: Tokens of the one or two sentences, special tokens not counted.
        max_length: Longest result, special tokens counted.

    Returns:
        How many tokens of each sentence stay, the first ones.

    Example:

    ```python
    from keras_mmel.text.bert.tokenizer import longest_first

    longest_first([10, 3], max_length=12)  # [6, 3]
    ```
    """
    room = max_length - 1 - len(sizes)
    if len(sizes) == 1:
        return [min(sizes[0], room)]
    first, second = sizes
    # Of an odd room the longer one has one more.
    half = room // 2
    if first > second:
        half = room - half
    first_size = min(first, max(half, room - second))
    return [first_size, min(second, max(room - half, room - first))]


def check_max_length(max_length: int | None, longest: int) -> int:
    """Returns a length to cut to that a model can take, or raises.

    Args:
        max_length: Longest input in tokens, special tokens included; `None`
            for all that the model can take.
        longest: Positions of the model.

    Returns:
        `max_length`, or `longest` where it is `None`.

    Raises:
        TypeError: If `max_length` is no integer.
        ValueError: If it is above `longest` or below 3, the special tokens of
            a pair.
    """
    if max_length is None:
        return longest
    max_length = check_count("max_length", max_length, 3)
    if max_length > longest:
        raise ValueError(
            f"`max_length` must be at most {longest}, the longest sequence "
            f"that the model can take. Received: max_length={max_length}"
        )
    return max_length


def check_class(tokenizer: Any, *methods: str) -> Any:
    """Returns a tokenizer, or raises for that of another library.

    Args:
        tokenizer: What was given for it.
        *methods: What it must have.

    Returns:
        `tokenizer`.

    Raises:
        TypeError: If it has not all of `methods`.
    """
    if not all(hasattr(tokenizer, name) for name in methods):
        kind = type(tokenizer)
        raise TypeError(
            "`tokenizer` must be a `keras_mmel.text.Tokenizer`: that of "
            "`load_text_classifier(...)`, `Tokenizer.from_directory(...)`, or "
            "of transformers' fast ones `Tokenizer(theirs.backend_tokenizer)`. "
            f"Received: {kind.__module__}.{kind.__qualname__}"
        )
    return tokenizer


def check_texts(texts: Sequence[Any]) -> list[Any]:
    """Returns texts in a list, or raises where it is one text."""
    if isinstance(texts, str):
        raise TypeError(
            "`texts` must be a sequence of texts, not one. Received: a string"
        )
    return list(texts)


class Tokenizer:
    """The WordPiece tokenizer of a BERT checkpoint.

    The `tokenizers` library does the work, so the ids equal those of the
    checkpoint's own tokenizer, also for accents, no-break spaces, emoji, CJK
    and control characters. One thing is different on purpose: a literal
    `"[MASK]"` or `"[SEP]"` in a text is text, never a special token.

    Special tokens are added as `[CLS] a [SEP]` and `[CLS] a [SEP] b [SEP]`.
    A tokenizer holds no state that encoding changes: threads may share it.

    Args:
        tokenizer: A `tokenizers.Tokenizer` with a WordPiece model that has
            `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]` and `[MASK]`. It is copied.

    Attributes:
        added_special: Special tokens beside these five, such as `[E1]`: they
            have ids that no text gives.

    Raises:
        ValueError: If the model is not WordPiece, or a special token is not
            in the vocabulary.

    Example:

    ```python
    import tokenizers
    from keras_mmel.text import Tokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "film", "##s"]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(tokenizers.BertWordPieceTokenizer(vocabulary))
    tokenizer.encode(["Films"])[0].token_ids  # (2, 5, 6, 3)
    ```

    Reference: Devlin et al. 2019, https://arxiv.org/abs/1810.04805.
    """

    def __init__(self, tokenizer):
        check_class(tokenizer, "to_str")
        self._read(tokenizer.to_str())

    def _read(self, text):
        library = extras.need("tokenizers", "text")
        state = json.loads(text)
        kind = (state.get("model") or {}).get("type")
        if kind != "WordPiece":
            raise ValueError(
                "`tokenizer` must have a WordPiece model, as BERT's have. "
                f"Received: model of type {kind!r}"
            )
        # A checkpoint may bring settings that cut and pad; here `encode` cuts.
        state["truncation"] = state["padding"] = None
        self._state = state
        self._tokenizer = library.Tokenizer.from_str(json.dumps(state))
        # The library does not write this one to JSON.
        self._tokenizer.encode_special_tokens = True
        ids = self._tokenizer.get_vocab(with_added_tokens=True)
        missing = [piece for piece in SPECIAL if piece not in ids]
        if missing:
            raise ValueError(
                f"`tokenizer` must have the special tokens {list(SPECIAL)}. "
                f"Received: a vocabulary of {len(ids)} pieces without {missing}"
            )
        # In the order of `SPECIAL`.
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            ids[piece] for piece in SPECIAL
        )
        # A hole in the ids is a piece that no text can give.
        self.vocabulary: list[str] = [""] * (max(ids.values()) + 1)
        for piece, i in ids.items():
            self.vocabulary[i] = piece
        added = state.get("added_tokens") or []
        banned = {a["content"] for a in added if a.get("special")}
        if matched := sorted({a["content"] for a in added} - banned):
            raise ValueError(
                "`tokenizer` must have no added tokens but special ones, which "
                "cannot be served; append them to the vocabulary, as pieces. "
                f"Received: the added tokens {matched[:5]}"
            )
        self.added_special: list[str] = sorted(banned.difference(SPECIAL))
        banned.update(SPECIAL, [""])
        is_banned = [
            piece in banned or _UNUSED.fullmatch(piece) is not None
            for piece in self.vocabulary
        ]
        self.banned_ids: np.ndarray = np.flatnonzero(is_banned).astype("int32")

    @classmethod
    def from_directory(cls, path: str | pathlib.Path) -> "Tokenizer":
        """Reads the tokenizer of a checkpoint's directory.

        Args:
            path: Directory in Hugging Face layout (`tokenizer.json`, or
                `vocab.txt` with the options in `tokenizer_config.json`) or in
                keras-hub layout.

        Returns:
            The tokenizer.

        Raises:
            FileNotFoundError: If the directory has no tokenizer.
            ValueError: If a file of it cannot be read, or is no WordPiece
                tokenizer.
        """
        return cls.from_json(tokenizer_files.read(pathlib.Path(path)))

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """Makes a tokenizer from what `to_json` (or `tokenizer.json`) says."""
        tokenizer = cls.__new__(cls)
        tokenizer._read(text)
        return tokenizer

    def to_json(self) -> str:
        """Returns the tokenizer as JSON, in the format of `tokenizer.json`."""
        return self._tokenizer.to_str()

    def __reduce__(self):
        # The library's own copy would forget `encode_special_tokens`.
        return type(self).from_json, (self.to_json(),)

    @property
    def tokenizer(self):
        """The `tokenizers.Tokenizer` inside; leave its settings alone."""
        return self._tokenizer

    @property
    def fingerprint(self) -> str:
        """16 hex digits that two tokenizers share when their ids agree."""
        deciding = {name: self._state.get(name) for name in _DECIDING}
        text = json.dumps(deciding, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def encode(
        self,
        texts: Sequence[str | tuple[str, ...]],
        max_length: int | None = None,
    ) -> list[Encoded]:
        """Encodes sentences and pairs of sentences.

        Args:
            texts: Strings, or pairs of strings; both may be mixed. A pair
                whose second sentence is empty is still a pair, `[CLS] a [SEP]
                [SEP]`.
            max_length: Longest result, special tokens included. The longer
                sentence of a pair is cut first; both are cut to equal lengths
                (the second one longer by one where the room is odd) if the
                shorter one needs more than half.

        Returns:
            One `Encoded` for each text.

        Raises:
            TypeError: If a text is neither a string nor a pair of strings.
            ValueError: If a text is no valid Unicode, or `max_length` has no
                room for the special tokens.
        """
        texts = check_texts(texts)
        split_texts = [_sides(text, index) for index, text in enumerate(texts)]
        least = 1 + max(map(len, split_texts), default=1)
        if max_length is not None and max_length < least:
            raise ValueError(
                f"`max_length` must be at least {least}, the number of special "
                f"tokens. Received: max_length={max_length}"
            )
        encode = self._tokenizer.encode_batch
        all_sides = list(itertools.chain.from_iterable(split_texts))
        encodings = iter(encode(all_sides, add_special_tokens=False))
        return [
            self._join([next(encodings) for _ in sides], max_length)
            for sides in split_texts
        ]

    def _join(self, sides, max_length):
        """Puts one or two encodings of the library between special tokens."""
        sizes = [len(side.ids) for side in sides]
        if max_length is not None:
            sizes = longest_first(sizes, max_length)
        # A token a row, with the fields of `Encoded`.
        tokens = [(self.cls_id, 0, (0, 0), None, None)]
        for number, (side, size) in enumerate(zip(sides, sizes, strict=True)):
            same = [number] * size
            # `same` is as long as what stays, and `zip` ends with the shortest.
            fields = (side.ids, same, side.offsets, side.word_ids, same)
            tokens += zip(*fields, strict=False)
            tokens.append((self.sep_id, number, (0, 0), None, None))
        return Encoded(*zip(*tokens, strict=True))


def _sides(text, index):
    """The one or two sentences of a text."""
    is_pair = isinstance(text, tuple | list) and len(text) == 2
    sides = text if is_pair else [text]
    if not all(isinstance(side, str) for side in sides):
        raise TypeError(
            "`texts` must hold strings and pairs of strings. Received: "
            f"texts[{index}]={text!r:.80}"
        )
    try:
        "".join(sides).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            "`texts` must be valid Unicode (a lone surrogate comes from bytes "
            f"that were not UTF-8). Received: texts[{index}]={text!r:.80}"
        ) from error
    return sides

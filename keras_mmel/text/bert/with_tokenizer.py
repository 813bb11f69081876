"""What both BERT models share: a tokenizer and the checkpoint's config."""

import json
import pathlib

import keras

from keras_mmel.text.bert.tokenizer import Tokenizer

# Rows of embeddings that may be without a piece: sizes are rounded up to
# multiples of 128 at the most.
MOST_PADDING = 255


class WithTokenizer:
    """Gives a `keras_hub.models.Task` a tokenizer and a config.

    Both are part of the model's own config, so that they are in its `.keras`
    file.
    """

    def _set_tokenizer(self, tokenizer, config):
        if isinstance(tokenizer, str):
            tokenizer = Tokenizer.from_json(tokenizer)
        self._tokenizer = tokenizer
        # As text: Keras wraps a dictionary that is set on a model.
        self._config_text = json.dumps(config or {})

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The checkpoint's tokenizer."""
        return self._tokenizer

    @property
    def config(self) -> dict:
        """What the checkpoint said, with the names of a Hugging Face config."""
        return json.loads(self._config_text)

    def fit(self, *args, **kwargs):
        """Train as `keras.Model.fit` does, arrays in shuffled order.

        `keras_hub.models.Task.fit` makes a data set of arrays first, to
        preprocess strings, and so loses `shuffle`; nothing is preprocessed
        here.
        """
        if self.preprocessor is None:
            return keras.Model.fit(self, *args, **kwargs)
        return super().fit(*args, **kwargs)

    def get_config(self):
        tokenizer = self._tokenizer
        return {
            "backbone": keras.layers.serialize(self.backbone),
            "name": self.name,
            "tokenizer": None if tokenizer is None else tokenizer.to_json(),
            "config": self.config,
        }

    def save_to_preset(self, preset_dir, max_shard_size=10):
        """Save in keras-hub layout, with the tokenizer beside it."""
        super().save_to_preset(preset_dir, max_shard_size=max_shard_size)
        if self._tokenizer is not None:
            path = pathlib.Path(preset_dir) / "tokenizer.json"
            path.write_text(self._tokenizer.to_json(), encoding="utf-8")


def check_vocabulary(
    tokenizer: Tokenizer, vocab_size: int, directory: object
) -> None:
    """Refuse a tokenizer that is not that of the model, by its size.

    A few rows of embeddings more than pieces are common: they are added up to
    a multiple of 8, 64 or 128.

    Raises:
        ValueError: if the tokenizer has ids that the model does not know, or
            the model many rows that the tokenizer does not.
    """
    if len(tokenizer.vocabulary) + MOST_PADDING < vocab_size:
        raise ValueError(
            "The tokenizer must be that of the model: at most "
            f"{MOST_PADDING} embeddings are without a piece. Received: "
            f"vocab_size={vocab_size}, {len(tokenizer.vocabulary)} pieces in "
            f"{str(directory)!r}"
        )
    if len(tokenizer.vocabulary) > vocab_size:
        raise ValueError(
            "`vocab_size` of config.json must be at least the number of the "
            f"tokenizer's pieces. Received: vocab_size={vocab_size}, "
            f"{len(tokenizer.vocabulary)} pieces in {str(directory)!r}"
        )

"""What both BERT models share: they have a tokenizer."""

import pathlib

import keras

from keras_mmel.text.bert.tokenizer import Tokenizer


class WithTokenizer:
    """Gives a `keras_hub.models.Task` a tokenizer.

    It is part of the model's own config, so that it is in its `.keras` file.
    Nothing is preprocessed: the model takes token ids.
    """

    def _set_tokenizer(self, tokenizer):
        if isinstance(tokenizer, str):
            tokenizer = Tokenizer.from_json(tokenizer)
        self._tokenizer = tokenizer

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The checkpoint's tokenizer."""
        return self._tokenizer

    def fit(self, *args, **kwargs):
        """Trains as `keras.Model.fit` does, arrays in shuffled order.

        `keras_hub.models.Task.fit` makes a data set of arrays first, to
        preprocess strings, and so loses `shuffle`.
        """
        return keras.Model.fit(self, *args, **kwargs)

    def get_config(self):
        return {
            "backbone": keras.layers.serialize(self.backbone),
            "name": self.name,
            "tokenizer": self._tokenizer and self._tokenizer.to_json(),
        }

    @classmethod
    def from_config(cls, config):
        # Files of version 0.1 hold what the checkpoint's own config said.
        config.pop("config", None)
        return super().from_config(config)

    def save_to_preset(self, preset_dir, max_shard_size=10):
        """Saves in keras-hub layout, with the tokenizer beside it."""
        super().save_to_preset(preset_dir, max_shard_size=max_shard_size)
        if self._tokenizer is not None:
            path = pathlib.Path(preset_dir) / "tokenizer.json"
            path.write_text(self._tokenizer.to_json(), encoding="utf-8")

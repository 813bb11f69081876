"""What both BERT models share: they have a tokenizer."""

import pathlib

import keras

from keras_mmel.text.bert.tokenizer import Tokenizer


class WithTokenizer:
    """Gives a `keras_hub.models.Task` a tokenizer.

    It is part of the model's own config, so that it is in its `.keras` file.
    Nothing is preprocessed: the model takes token ids.
    """

    # The arguments of the model that its config has, by name.
    _settings: tuple[str, ...] = ()

    def _set_tokenizer(self, tokenizer):
        # From a `.keras` file it comes as the JSON that `get_config` wrote.
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

        Args:
            *args: Those of `keras.Model.fit`.
            **kwargs: Those of `keras.Model.fit`.

        Returns:
            The `keras.callbacks.History`.
        """
        return keras.Model.fit(self, *args, **kwargs)

    def get_config(self):
        tokenizer = self._tokenizer
        own = {name: getattr(self, name) for name in self._settings}
        return {
            "backbone": keras.layers.serialize(self.backbone),
            "name": self.name,
            "tokenizer": None if tokenizer is None else tokenizer.to_json(),
        } | own

    def save_to_preset(self, preset_dir, max_shard_size=10):
        """Saves in keras-hub layout, with the tokenizer beside it.

        Args:
            preset_dir: Directory to write into.
            max_shard_size: Largest file of weights, in gigabytes.
        """
        super().save_to_preset(preset_dir, max_shard_size=max_shard_size)
        if self._tokenizer is not None:
            path = pathlib.Path(preset_dir) / "tokenizer.json"
            path.write_text(self._tokenizer.to_json(), encoding="utf-8")

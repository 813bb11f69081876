"""Lets `import keras_mmel.text` be enough to load a saved text model.

Keras finds a class of a `.keras` file by the name under which it was
registered, and registering ours means importing keras-hub, which takes
seconds. So stand-ins are registered that import the class when a file asks
for it; importing the module puts the class itself in their place.
"""

import importlib

import keras

_MODULES = {
    "BertBackbone": "backbone",
    "EncoderBlock": "backbone",
    "BertMaskedLM": "masked_lm",
    "BertTextClassifier": "classifier",
}


def stand_in(name: str, module: str) -> type:
    """Make a class whose `from_config` is that of `name` in `module`."""

    class StandIn:
        # Keras registers only classes that have one. There is no instance
        # that it could be asked of.
        get_config = None

        @classmethod
        def from_config(cls, config):
            found = importlib.import_module(f"keras_mmel.text.bert.{module}")
            return getattr(found, name).from_config(config)

    StandIn.__name__ = StandIn.__qualname__ = name
    return StandIn


def register() -> None:
    """Register a stand-in for every class that is not yet there."""
    for name, module in _MODULES.items():
        registered = f"keras_mmel>{name}"
        if keras.saving.get_registered_object(registered) is None:
            keras.saving.register_keras_serializable("keras_mmel", name)(
                stand_in(name, module)
            )


register()

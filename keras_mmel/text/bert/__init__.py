"""BERT: its classes, its checkpoints in every layout, its tokenizer.

Keras finds a class of a `.keras` file by the name under which it was
registered, and registering ours means importing keras-hub, which takes
seconds. So stand-ins are registered here that import the class when a file
asks for it: `import keras_mmel` is enough to load a saved text model.
Importing the module puts the class itself in the place of its stand-in.
"""

import importlib

import keras


def _stand_in(name, module):
    class StandIn:
        # Keras registers only classes that have one. There is no instance
        # that it could be asked of.
        get_config = None

        @classmethod
        def from_config(cls, config):
            file = importlib.import_module(f"keras_mmel.text.bert.{module}")
            return getattr(file, name).from_config(config)

    StandIn.__name__ = StandIn.__qualname__ = name
    return StandIn


for _name, _module in {
    "BertBackbone": "backbone",
    "BertMaskedLM": "heads",
    "BertTextClassifier": "heads",
}.items():
    _register = keras.saving.register_keras_serializable("keras_mmel", _name)
    _register(_stand_in(_name, _module))

"""BERT: its classes, its checkpoints in every layout, its tokenizer.

Keras finds a class of a `.keras` file by the name under which it was
registered, and registering ours means importing keras-hub, which takes
seconds. So stand-ins are registered here that import the class when a file
asks for it: `import keras_mmel` is enough to load a saved text model.
Importing the module puts the class itself in the place of its stand-in.
"""

import importlib

import keras


def _register_stand_in(name):
    class StandIn:
        # Keras registers only classes that have one. There is no instance
        # that it could be asked of.
        get_config = None

        @classmethod
        def from_config(cls, config):
            file = importlib.import_module("keras_mmel.text.bert.networks")
            return getattr(file, name).from_config(config)

    StandIn.__name__ = StandIn.__qualname__ = name
    keras.saving.register_keras_serializable("keras_mmel")(StandIn)


for _name in ("BertBackbone", "BertMaskedLM", "BertTextClassifier"):
    _register_stand_in(_name)

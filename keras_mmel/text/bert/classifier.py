"""A BERT classifier: a new head on a checkpoint's encoder."""

from typing import Any

import keras

from keras_mmel import extras
from keras_mmel.text.bert.backbone import BertBackbone
from keras_mmel.text.bert.with_tokenizer import WithTokenizer

keras_hub: Any = extras.need("keras_hub", "text")


@keras.saving.register_keras_serializable("keras_mmel")
class BertTextClassifier(WithTokenizer, keras_hub.models.BertTextClassifier):
    """A `keras_hub.models.BertTextClassifier` with its tokenizer.

    Called with `{"token_ids", "segment_ids", "padding_mask"}`, each `(batch,
    length)` integers, it returns logits `(batch, num_classes)`, or the value
    where `num_classes` is 1. It saves to a `.keras` file that holds the
    tokenizer.

    Args:
        backbone: The encoder.
        num_classes: Number of logits; 1 for regression.
        tokenizer: A `Tokenizer` or its JSON.
        dropout: Rate before the last layer.
        initializer_range: Standard deviation of the last layer's initial
            weights, N(0, initializer_range^2).
        **kwargs: Those of `keras_hub.models.Task`.
    """

    backbone_cls = BertBackbone
    _settings = ("num_classes", "dropout", "initializer_range")

    def __init__(
        self,
        backbone,
        num_classes,
        tokenizer=None,
        dropout=0.1,
        initializer_range=0.02,
        **kwargs,
    ):
        self.backbone = backbone
        self.output_dropout = keras.layers.Dropout(
            dropout, dtype=backbone.dtype_policy, name="classifier_dropout"
        )
        initializer = keras.initializers.RandomNormal(stddev=initializer_range)
        self.output_dense = keras.layers.Dense(
            num_classes,
            kernel_initializer=initializer,
            dtype=backbone.dtype_policy,
            name="logits",
        )
        pooled = backbone(backbone.input)["pooled_output"]
        # Past the class that would build its own head.
        outputs = self.output_dense(self.output_dropout(pooled))
        super(keras_hub.models.BertTextClassifier, self).__init__(
            inputs=backbone.input, outputs=outputs, compile=False, **kwargs
        )
        self._set_tokenizer(tokenizer)
        self.num_classes = num_classes
        # Logits: what keras-hub's own `compile` asks for.
        self.activation = keras.activations.get(None)
        self.dropout = dropout
        self.initializer_range = initializer_range

"""A classifier whose last encoder block is computed where it is looked at.

A BERT classifier reads the first token of its last block and nothing else, so
the block's queries, outputs and feed-forward part are needed for one token
instead of all. Of the multiplications of a pass this saves nearly
5 / 6 / num_layers: two fifths with two layers, 7 % with twelve.
"""

import keras
from keras import ops


class FirstTokenClassifier(keras.Model):
    """The same function as a `BertTextClassifier`, at less cost.

    It has no weights of its own: training it trains `classifier`, which is
    what is saved, evaluated and exported. Outputs and gradients agree up to
    rounding. Dropout draws fewer numbers, so they are other ones.

    Args:
        classifier: a `keras_mmel.text.BertTextClassifier`.

    Attributes:
        classifier: what was given.

    Raises:
        TypeError: if `classifier` has no BERT encoder.

    Example:

    ```python
    model = keras_mmel.text.load_text_classifier(preset, num_classes=2)
    mmel = keras_mmel.MMELModel(FirstTokenClassifier(model), "hard")
    ```
    """

    def __init__(self, classifier: keras.Model):
        backbone = getattr(classifier, "backbone", None)
        blocks = getattr(backbone, "transformer_layers", None)
        if not blocks or getattr(backbone, "pooled_dense", None) is None:
            raise TypeError(
                "`classifier` must be a BertTextClassifier. Received: "
                f"classifier of type {type(classifier).__name__}"
            )
        super().__init__(name="first_token", dtype=classifier.dtype_policy)
        self.classifier = classifier
        self.built = True

    def call(self, inputs, training=None):
        backbone, head = self.classifier.backbone, self.classifier
        mask = inputs["padding_mask"]
        tokens = backbone.token_embedding(inputs["token_ids"])
        positions = backbone.position_embedding(tokens)
        segments = backbone.segment_embedding(inputs["segment_ids"])
        x = backbone.embeddings_add((tokens, positions, segments))
        x = backbone.embeddings_layer_norm(x)
        x = backbone.embeddings_dropout(x, training=training)
        *blocks, last = backbone.transformer_layers
        for block in blocks:
            x = block(x, padding_mask=mask, training=training)
        x = _first_token(last, x, mask, training)
        pooled = backbone.pooled_dense(x[:, 0])
        pooled = head.output_dropout(pooled, training=training)
        return head.output_dense(pooled)


def _first_token(block, x, mask, training):
    """The first token (batch, 1, width) of what `block(x)` returns.

    What `keras_hub.layers.TransformerEncoder.call` does after a norm comes
    first in no BERT.
    """
    first = x[:, :1]
    attended = block._self_attention_layer(
        query=first,
        value=x,
        attention_mask=ops.cast(mask, "bool")[:, None, :],
        training=training,
    )
    attended = block._self_attention_dropout(attended, training=training)
    first = block._self_attention_layer_norm(first + attended)
    inner = block._feedforward_intermediate_dense(first)
    inner = block._feedforward_output_dense(inner)
    inner = block._feedforward_dropout(inner, training=training)
    return block._feedforward_layer_norm(first + inner)

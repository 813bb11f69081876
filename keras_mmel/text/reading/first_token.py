"""A classifier whose last encoder block is computed where it is looked at.

A BERT classifier reads the first token of its last block and nothing else, so
of the other tokens the block needs no more than the weighted mean of its
inputs. Of the multiplications of a pass this saves nearly one layer's share:
half with two layers, 8 % with twelve.
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

    As `keras_hub.layers.TransformerEncoder.call`, whose option to normalize
    first no BERT uses.
    """
    first = x[:, :1]
    attended = _attend(block._self_attention_layer, first, x, mask, training)
    attended = block._self_attention_dropout(attended, training=training)
    first = block._self_attention_layer_norm(first + attended)
    inner = block._feedforward_intermediate_dense(first)
    inner = block._feedforward_output_dense(inner)
    inner = block._feedforward_dropout(inner, training=training)
    return block._feedforward_layer_norm(first + inner)


def _attend(attention, first, x, mask, training):
    """What the first token takes from all of them, (batch, 1, width).

    With one query, keys and values need not be computed for every token: the
    query goes through the kernel of the keys, q (K x)' = (q K) x', and the
    kernel of the values is applied to the mean of x.
    """
    query = attention._query_dense(first)[:, 0]
    query = query * attention._inverse_sqrt_key_dim
    keys = attention._key_dense
    # The same for all tokens: without it the bias would have no gradient.
    bias = ops.sum(query * ops.convert_to_tensor(keys.bias), -1, keepdims=True)
    query = ops.einsum("bhd,whd->bhw", query, keys.kernel)
    scores = ops.matmul(query, ops.transpose(x, (0, 2, 1))) + bias
    # A number that softmax turns into an exact 0, in half precision too.
    least = -3e4 if scores.dtype == "float16" else -1e9
    scores = ops.where(ops.cast(mask, "bool")[:, None], scores, least)
    weights = ops.softmax(scores)
    weights = attention._dropout_layer(weights, training=training)
    mean = ops.matmul(weights, x)
    values = attention._value_dense
    mixed = ops.einsum("bhw,whd->bhd", mean, values.kernel)
    # Weights sum to 1, but not once dropout has been at them.
    total = ops.sum(weights, axis=-1, keepdims=True)
    mixed = mixed + total * ops.convert_to_tensor(values.bias)
    return attention._output_dense(mixed[:, None])

"""The masked LM as TensorFlow operations: one position through the network.

Filling one masked word needs the network's output at that word alone. The
last layer is therefore computed for one query per row, and only this row of
numbers meets the vocabulary: at the size of BERT-tiny more than ten times
cheaper than logits at every position. Dense layers and normalizations are
spared the padding.

Kernels in half precision make the products of the dense layers alone half
precise: activations and normalizations would take longer in it, and lose more.
"""

from collections.abc import Callable
from typing import NamedTuple

import keras
import tensorflow as tf

from keras_mmel.text.bert.networks import need_tensorflow


class Dense(NamedTuple):
    """Kernel (inputs, outputs) and bias (outputs,)."""

    kernel: tf.Tensor
    bias: tf.Tensor


class Norm(NamedTuple):
    """Layer normalization: gamma, beta (width,) and epsilon."""

    gamma: tf.Tensor
    beta: tf.Tensor
    epsilon: float


class Block(NamedTuple):
    """One transformer layer; `qkv` holds query, key and value side by side."""

    heads: int
    qkv: Dense
    output: Dense
    attention_norm: Norm
    up: Dense
    activation: Callable
    down: Dense
    norm: Norm


class Encoder(NamedTuple):
    """A BERT masked LM as arrays.

    Attributes:
        tokens: Token embeddings, (vocabulary, width).
        positions: Position embeddings, (longest, width).
        segments: Segment embeddings, (segments, width).
        norm: The layer normalization of the embeddings.
        blocks: The transformer layers.
        transform: The dense layer of the head.
        activation: Its activation.
        transform_norm: Its layer normalization.
        decoder: The output layer, kernel (width, vocabulary).
    """

    tokens: tf.Tensor
    positions: tf.Tensor
    segments: tf.Tensor
    norm: Norm
    blocks: tuple[Block, ...]
    transform: Dense
    activation: Callable
    transform_norm: Norm
    decoder: Dense


def take_encoder(masked_lm: keras.Model, dtype: str = "float32") -> Encoder:
    """Takes the arrays of a `keras_hub.models.BertMaskedLM`, as float32.

    The arrays are those of the moment: later training of the model does not
    change them.

    Args:
        masked_lm: A `keras_hub.models.BertMaskedLM` or a subclass, such as
            `load_masked_lm` returns.
        dtype: Of the kernels of dense layers.

    Returns:
        An `Encoder`.

    Raises:
        TypeError: If the model is not built as keras-hub builds its BERT.
        RuntimeError: If the backend of Keras is not TensorFlow.

    Example:

    ```python
    from keras_mmel.text import load_masked_lm
    from keras_mmel.text.augmentation.encoder import take_encoder

    encoder = take_encoder(load_masked_lm("hf://google-bert/bert-base-cased"))
    ```
    """
    need_tensorflow("augmentation by a masked LM")
    try:
        backbone, head = masked_lm.backbone, masked_lm.masked_lm_head
        return Encoder(
            tokens=_float(backbone.token_embedding.embeddings),
            positions=_float(backbone.position_embedding.position_embeddings),
            segments=_float(backbone.segment_embedding.embeddings),
            norm=_norm(backbone.embeddings_layer_norm),
            blocks=tuple(
                _block(layer, dtype) for layer in backbone.transformer_layers
            ),
            transform=_dense(head._intermediate_dense, dtype),
            activation=head._intermediate_dense.activation,
            transform_norm=_norm(head._intermediate_layer_norm),
            decoder=Dense(tf.cast(_decoder(head), dtype), _float(head._bias)),
        )
    except AttributeError as error:
        raise TypeError(
            "`masked_lm` must be a BERT, a `keras_hub.models.BertMaskedLM`, as "
            "`load_masked_lm` returns it; what it augments trains any "
            "classifier (`read_augmented(..., as_text=True)`). "
            f"Received: {type(masked_lm).__name__}, where {error}"
        ) from error


def encode_at(
    encoder: Encoder,
    token_ids: tf.Tensor,
    segment_ids: tf.Tensor,
    lengths: tf.Tensor,
    positions: tf.Tensor,
) -> tf.Tensor:
    """Computes what the head hands to the vocabulary, at one position.

    Args:
        encoder: The network.
        token_ids: (rows, longest) int32, padded with any valid id.
        segment_ids: (rows, longest) int32.
        lengths: (rows,) int32; what lies behind is padding and not seen.
        positions: (rows,) int32, the position to look at in each row.

    Returns:
        (rows, width); times `encoder.decoder.kernel` plus its bias these are
        the logits at `positions`.
    """
    longest = tf.shape(token_ids)[1]
    is_token = tf.sequence_mask(lengths, longest)
    grid = _Grid(is_token)
    x = tf.gather(encoder.tokens, token_ids)
    x += tf.gather(encoder.segments, segment_ids)
    x += encoder.positions[:longest]
    x = _normalize(grid.pack(x), encoder.norm)
    # Added to scores: 0 for a token, a number that softmax turns into an
    # exact 0 for padding.
    bias = tf.where(is_token, 0.0, -1e9)
    for block in encoder.blocks[:-1]:
        x = _layer(x, bias, block, grid)
    x = _layer_at(grid.unpack(x), bias, positions, encoder.blocks[-1])
    x = encoder.activation(_apply(x, encoder.transform))
    return _normalize(x, encoder.transform_norm)


class _Grid:
    """Rows of several lengths as one list of tokens, without the padding.

    Dense layers and normalizations see each token by itself: they run on the
    list. Attention alone needs rows of one length.

    Args:
        is_token: (rows, longest) bool, False where there is padding.

    Attributes:
        longest: Scalar, the columns of the rows.
        places: (tokens,), where in the flat rows each token stands.
        back: (rows, longest), which token of the list stands at each place.
    """

    def __init__(self, is_token):
        self.longest = tf.shape(is_token)[1]
        flat = tf.cast(tf.reshape(is_token, [-1]), tf.int32)
        self.places = tf.cast(tf.where(flat)[:, 0], tf.int32)
        # What stands at the padding does not matter, as long as it is finite.
        back = tf.maximum(tf.cumsum(flat) - 1, 0)
        self.back = tf.reshape(back, tf.shape(is_token))

    def pack(self, x):
        """(rows, longest, width) to (tokens, width)."""
        return tf.gather(tf.reshape(x, [-1, x.shape[-1]]), self.places)

    def unpack(self, x):
        """(tokens, width) to (rows, longest, width)."""
        return tf.gather(x, self.back)

    def split(self, x, parts, heads):
        """(tokens, parts * heads * size) to (parts, rows, heads, .., size)."""
        # Rows of one head each: one gather that also transposes, in place of
        # a gather and a copy of all of it.
        index = self.back[:, None] * (parts * heads)
        index += tf.range(heads)[:, None]
        index += heads * tf.range(parts)[:, None, None, None]
        size = x.shape[-1] // (parts * heads)
        return tf.gather(tf.reshape(x, [-1, size]), index)

    def merge(self, x):
        """(rows, heads, longest, size) to (tokens, heads * size)."""
        heads, size = x.shape[1], x.shape[3]
        row, place = self.places // self.longest, self.places % self.longest
        index = (row[:, None] * heads + tf.range(heads)) * self.longest
        rows = tf.gather(tf.reshape(x, [-1, size]), index + place[:, None])
        return tf.reshape(rows, [-1, heads * size])


def _layer(x, bias, block, grid):
    """One transformer layer, on (tokens, width)."""
    qkv = _apply(x, block.qkv)
    query, key, value = tf.unstack(grid.split(qkv, 3, block.heads), axis=0)
    scores = tf.matmul(query, key, transpose_b=True) * query.shape[-1] ** -0.5
    weights = tf.nn.softmax(scores + bias[:, None, None, :])
    return _finish(x, grid.merge(tf.matmul(weights, value)), block)


def _layer_at(x, bias, positions, block):
    """The layer's output at one position a row, (rows, width).

    With one query a row, keys and values need not be computed: the query goes
    through the key's kernel instead, q (K x)' = (q K) x', and the value's
    kernel is applied to the mean of x. A bias of the keys adds the same to all
    scores and falls out of the softmax.
    """
    width = x.shape[-1]
    size = width // block.heads
    kernel = tf.cast(block.qkv.kernel, x.dtype)
    kernel = tf.reshape(kernel, [width, 3, block.heads, size])
    here = tf.gather(x, positions, batch_dims=1)
    to_query = Dense(block.qkv.kernel[:, :width], block.qkv.bias[:width])
    query = tf.reshape(_apply(here, to_query), [-1, block.heads, size])
    query = tf.einsum("rad,wad->raw", query, kernel[:, 1])
    scores = tf.matmul(query, x, transpose_b=True) * size**-0.5
    weights = tf.nn.softmax(scores + bias[:, None, :])
    mixed = tf.matmul(weights, x)
    mixed = tf.einsum("raw,wad->rad", mixed, kernel[:, 2])
    mixed = tf.reshape(mixed, [-1, width]) + block.qkv.bias[2 * width :]
    return _finish(here, mixed, block)


def _finish(x, mixed, block):
    """What follows the attention, on (rows, width)."""
    x = _normalize(x + _apply(mixed, block.output), block.attention_norm)
    inner = block.activation(_apply(x, block.up))
    return _normalize(x + _apply(inner, block.down), block.norm)


def product(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """The matrix product, made as precise as the kernel, in float32."""
    return tf.cast(tf.matmul(tf.cast(x, kernel.dtype), kernel), tf.float32)


def _apply(x, dense):
    return tf.nn.bias_add(product(x, dense.kernel), dense.bias)


def _normalize(x, norm):
    """Layer normalization over the last axis."""
    centered = x - tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centered), -1, keepdims=True)
    scaled = centered * tf.math.rsqrt(variance + norm.epsilon)
    return scaled * norm.gamma + norm.beta


def _block(layer, dtype):
    """The arrays of a layer of keras-hub."""
    attention = layer._self_attention_layer
    dense = [attention.query_dense, attention.key_dense, attention.value_dense]
    kernels, biases = zip(*[_dense(d, dtype) for d in dense], strict=True)
    return Block(
        heads=attention.query_dense.kernel.shape[1],
        qkv=Dense(tf.concat(kernels, 1), tf.concat(biases, 0)),
        output=_dense(attention.output_dense, dtype),
        attention_norm=_norm(layer._self_attention_layer_norm),
        up=_dense(layer._feedforward_intermediate_dense, dtype),
        activation=layer._feedforward_intermediate_dense.activation,
        down=_dense(layer._feedforward_output_dense, dtype),
        norm=_norm(layer._feedforward_layer_norm),
    )


def _decoder(head):
    """The kernel to the vocabulary: the words' embeddings where it is tied."""
    if head.token_embedding is None:
        return _float(head._kernel)
    return tf.transpose(_float(head.token_embedding.embeddings))


def _dense(layer, dtype):
    """Kernel and bias of a dense layer; attention's have an axis for heads."""
    bias = tf.reshape(_float(layer.bias), [-1])
    kernel = tf.reshape(_float(layer.kernel), [-1, bias.shape[0]])
    return Dense(tf.cast(kernel, dtype), bias)


def _norm(layer):
    return Norm(_float(layer.gamma), _float(layer.beta), layer.epsilon)


def _float(variable):
    return tf.cast(tf.convert_to_tensor(variable.value), tf.float32)

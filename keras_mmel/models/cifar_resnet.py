"""Residual networks for 32x32 images (He et al. 2016, section 4.2)."""

import functools

import keras

from keras_mmel.models import layers


def cifar_resnet(
    depth: int,
    num_classes: int,
    *,
    input_shape: tuple[int | None, int | None, int] = (32, 32, 3),
    weight_decay: float = 0.0,
    synchronized: bool = False,
    name: str | None = None,
) -> keras.Model:
    """Builds the residual network of He et al. for CIFAR.

    A 3x3 convolution, then three stages of n basic blocks with 16, 32 and 64
    filters, global average pooling and a dense layer: 6n + 2 layers with
    weights. The second and third stage begin with a stride of 2. Shortcuts are
    identities everywhere; where the number of filters doubles, the identity
    takes every other pixel and pads the new channels with zeros (option A),
    so shortcuts have no weights. Depths 20, 32, 44 and 56 have 0.27, 0.46,
    0.66 and 0.85 million.

    Args:
        depth: Number of layers with weights, 6n + 2 for n >= 1.
        num_classes: Number of logits.
        input_shape: `(height, width, channels)`; height and width may be
            `None`.
        weight_decay: Coefficient of weight decay, as of `torch.optim.SGD`: an
            L2 regularizer of half as much on every trainable weight, those of
            biases and batch normalization included. It is part of the logged
            `loss`. `weight_decay` of `keras.optimizers.SGD` passes the
            momentum by, and is weaker by a factor of ten at 0.9.
        synchronized: Whether batch normalization sees the batches of all
            replicas of a `tf.distribute` strategy as one; TensorFlow only.
        name: Name of the model, `"cifar_resnet{depth}"` by default.

    Returns:
        A functional `keras.Model` from `(batch, height, width, channels)`
        floats, normalized by the caller, to `(batch, num_classes)` logits. It
        is made of Keras's own layers, so its files load without this package.

    Raises:
        ValueError: If `depth` is not 6n + 2, or `num_classes` or
            `weight_decay` is out of range.

    Example:

    ```python
    import keras
    import keras_mmel

    model = keras_mmel.models.cifar_resnet(20, num_classes=10)
    model.compile(
        "sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    ```

    Reference:
        He, Zhang, Ren, Sun: [Deep Residual Learning for Image Recognition](
        https://arxiv.org/abs/1512.03385), section 4.2.
    """
    if depth < 8 or depth % 6 != 2:
        raise ValueError(
            "`depth` must be 6n + 2 with n >= 1: 8, 14, 20, 26, 32, ... "
            f"Received: {depth}"
        )
    inputs = keras.Input(input_shape, name="images")
    penalty = layers.decay_penalty(weight_decay)
    conv = functools.partial(
        layers.conv_norm, penalty=penalty, synchronized=synchronized
    )
    x = conv(inputs, 16, 3, name="stem")
    x = layers.relu(x, name="stem")
    blocks = [(depth - 2) // 6] * 3
    x = layers.stages(x, blocks, 16, _padded_identity, conv)
    name = name or f"cifar_resnet{depth}"
    return layers.with_head(inputs, x, num_classes, penalty, name)


def _padded_identity(x, filters, conv, name):
    """Every other pixel of `x`, with zeros in the new channels."""
    missing = filters - x.shape[-1]
    before = missing // 2
    x = keras.layers.AveragePooling2D(
        1, strides=2, data_format=layers.FORMAT, name=f"{name}_subsample"
    )(x)
    # The layer pads its "rows and columns", the last two axes when told that
    # channels come first. Here those are the width and the channels.
    return keras.layers.ZeroPadding2D(
        ((0, 0), (before, missing - before)),
        data_format="channels_first",
        name=f"{name}_zeros",
    )(x)

"""Pieces that the residual networks share."""

from collections.abc import Callable
from collections.abc import Sequence

import keras

from keras_mmel.counts import check_count

# PyTorch's defaults, with which the recipes were tuned. Keras's own momentum
# of 0.99 needs several hundred steps before the moving statistics are usable.
BATCH_NORM_MOMENTUM = 0.9
BATCH_NORM_EPSILON = 1e-5

# Fan-in keeps the variance of the activations in the forward pass; fan-out
# would keep that of the gradients. He et al. (2015) find that either one is
# enough, and the two differ only where a layer changes the number of channels.
# Fan-in is the form that has a name in Keras.
KERNEL_INITIALIZER = "he_normal"

# Written out, so that a global setting of channels_first changes nothing.
FORMAT = "channels_last"


def decay_penalty(weight_decay: float) -> keras.regularizers.Regularizer | None:
    """Makes the regularizer that decays weights as SGD in PyTorch does.

    Two rules carry the name. Written for SGD with momentum mu and rate eta:

        coupled      g = grad + wd * w;   v = mu v + g;   w = w - eta v
        decoupled    v = mu v + grad;     w = w - eta v - eta wd * w

    The recipes of He et al. and of the paper mean the first one, which
    is the gradient of wd / 2 * ||w||^2; it is 1 / (1 - mu) times as strong in
    the long run. `weight_decay` of `keras.optimizers.SGD` is the second one.

    Args:
        weight_decay: The coefficient wd of the first rule.

    Returns:
        A regularizer, or None where the coefficient is 0.

    Raises:
        ValueError: If it is negative or not finite.

    Reference:
        Loshchilov, Hutter: [Decoupled Weight Decay Regularization](
        https://arxiv.org/abs/1711.05101), for the two rules.
    """
    return keras.regularizers.L2(weight_decay / 2) if weight_decay else None


def conv_norm(
    x: keras.KerasTensor,
    filters: int,
    kernel_size: int,
    strides: int = 1,
    *,
    penalty: keras.regularizers.Regularizer | None,
    synchronized: bool,
    name: str,
) -> keras.KerasTensor:
    """Convolution without bias, then batch normalization.

    Padding is `kernel_size // 2` on every side. With strides that is not
    Keras's `padding="same"`, which puts all of it behind an even-sized image:
    the windows would then sit one pixel beside those that the shortcut takes.

    Args:
        x: Images or feature maps, channels last.
        filters: Channels of the result.
        kernel_size: Height and width of the kernel, odd.
        strides: Steps of the kernel, in both directions.
        penalty: Regularizer of every weight, or None.
        synchronized: Whether batch normalization is that of all replicas.
        name: What the names of the layers begin with.

    Returns:
        The normalized feature maps, before any activation.
    """
    padding = "same"
    if strides > 1 and kernel_size > 1:
        padding = "valid"
        x = keras.layers.ZeroPadding2D(
            kernel_size // 2, data_format=FORMAT, name=f"{name}_pad"
        )(x)
    x = keras.layers.Conv2D(
        filters,
        kernel_size,
        strides=strides,
        padding=padding,
        use_bias=False,
        kernel_initializer=KERNEL_INITIALIZER,
        kernel_regularizer=penalty,
        data_format=FORMAT,
        name=f"{name}_conv",
    )(x)
    return keras.layers.BatchNormalization(
        momentum=BATCH_NORM_MOMENTUM,
        epsilon=BATCH_NORM_EPSILON,
        gamma_regularizer=penalty,
        beta_regularizer=penalty,
        synchronized=synchronized,
        name=f"{name}_norm",
    )(x)


def relu(x: keras.KerasTensor, *, name: str) -> keras.KerasTensor:
    """Rectifier as a layer of its own, so that it has a name.

    Args:
        x: Feature maps.
        name: What the name of the layer begins with.

    Returns:
        `max(x, 0)`.
    """
    return keras.layers.Activation("relu", name=f"{name}_relu")(x)


def stages(
    x: keras.KerasTensor,
    blocks: Sequence[int],
    filters: int,
    shortcut: Callable,
    conv: Callable,
) -> keras.KerasTensor:
    """Stages of basic blocks: two 3x3 convolutions beside an identity.

    Each stage but the first has twice the filters of the one before and begins
    with a stride of 2, beside what `shortcut` makes (He et al., figure 2).

    Args:
        x: Output of the stem.
        blocks: Number of blocks of each stage.
        filters: Channels of the first stage.
        shortcut: Function `(x, filters, conv, name)` that halves the size of
            `x` and gives it `filters` channels.
        conv: `conv_norm` with its settings.

    Returns:
        The feature maps of the last stage.
    """
    for stage, number in enumerate(blocks):
        for block in range(number):
            name = f"stage{stage + 1}_block{block}"
            width, strides, beside = filters * 2**stage, 1, x
            if stage and not block:
                strides, beside = 2, shortcut(x, width, conv, name)
            x = conv(x, width, 3, strides, name=f"{name}_1")
            x = relu(x, name=f"{name}_1")
            x = conv(x, width, 3, name=f"{name}_2")
            x = keras.layers.Add(name=f"{name}_add")([beside, x])
            x = relu(x, name=name)
    return x


def with_head(
    inputs: keras.KerasTensor,
    x: keras.KerasTensor,
    num_classes: int,
    penalty: keras.regularizers.Regularizer | None,
    name: str,
) -> keras.Model:
    """The model with global average pooling and one dense layer: logits.

    The dense layer stays in float32 under a mixed policy: a difference of
    logits is a log-probability, and half precision rounds it.

    Args:
        inputs: Images, the input of the model.
        x: The last feature maps.
        num_classes: Number of logits.
        penalty: Regularizer of the dense layer, or None.
        name: Name of the model.

    Returns:
        A functional `keras.Model`.

    Raises:
        ValueError: If `num_classes` is below 1.
    """
    x = keras.layers.GlobalAveragePooling2D(data_format=FORMAT, name="pool")(x)
    compute_dtype = keras.config.dtype_policy().compute_dtype
    outputs = keras.layers.Dense(
        check_count("num_classes", num_classes, 1),
        kernel_regularizer=penalty,
        bias_regularizer=penalty,
        dtype=keras.backend.result_type(compute_dtype, "float32"),
        name="logits",
    )(x)
    return keras.Model(inputs, outputs, name=name)

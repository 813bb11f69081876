"""Residual networks for ImageNet (He et al. 2016, section 4.1)."""

import keras

from keras_mmel.models import layers
from keras_mmel.models.weight_decay import rebuild
from keras_mmel.models.weight_decay import with_weight_decay


def resnet18(
    num_classes: int = 1000,
    *,
    input_shape: tuple[int | None, int | None, int] = (224, 224, 3),
    weight_decay: float = 0.0,
    name: str = "resnet18",
) -> keras.Model:
    """Builds ResNet-18: stages of 2, 2, 2 and 2 basic blocks.

    A 7x7 convolution and a max pooling, both with a stride of 2, four stages
    with 64, 128, 256 and 512 filters, global average pooling and a dense
    layer. Where the number of filters doubles, the shortcut is a 1x1
    convolution (option B). 11.7 million weights with 1000 classes.

    Args:
        num_classes: number of logits.
        input_shape: `(height, width, channels)`; height and width may be
            `None`.
        weight_decay: coefficient of weight decay on every trainable weight,
            see `keras_mmel.models.with_weight_decay`.
        name: name of the model.

    Returns:
        A functional `keras.Model` from `(batch, height, width, channels)`
        floats, normalized by the caller, to `(batch, num_classes)` logits. It
        is made of Keras's own layers, so its files load without this package.

    Raises:
        TypeError: if `num_classes` is no integer.
        ValueError: if `num_classes` or `weight_decay` is out of range.

    Example:

    ```python
    import keras_mmel

    model = keras_mmel.models.resnet18(1000)
    ```

    Reference:
        He, Zhang, Ren, Sun: [Deep Residual Learning for Image Recognition](
        https://arxiv.org/abs/1512.03385), table 1.
    """
    return _basic_resnet(
        (2, 2, 2, 2), num_classes, input_shape, weight_decay, name
    )


def resnet34(
    num_classes: int = 1000,
    *,
    input_shape: tuple[int | None, int | None, int] = (224, 224, 3),
    weight_decay: float = 0.0,
    name: str = "resnet34",
) -> keras.Model:
    """Builds ResNet-34: stages of 3, 4, 6 and 3 basic blocks.

    As `keras_mmel.models.resnet18`, deeper. 21.8 million weights with 1000
    classes.

    Args:
        num_classes: number of logits.
        input_shape: `(height, width, channels)`; height and width may be
            `None`.
        weight_decay: coefficient of weight decay on every trainable weight,
            see `keras_mmel.models.with_weight_decay`.
        name: name of the model.

    Returns:
        A functional `keras.Model` from `(batch, height, width, channels)`
        floats, normalized by the caller, to `(batch, num_classes)` logits.

    Raises:
        TypeError: if `num_classes` is no integer.
        ValueError: if `num_classes` or `weight_decay` is out of range.

    Example:

    ```python
    import keras_mmel

    model = keras_mmel.models.resnet34(1000)
    ```

    Reference:
        He, Zhang, Ren, Sun: [Deep Residual Learning for Image Recognition](
        https://arxiv.org/abs/1512.03385), table 1.
    """
    return _basic_resnet(
        (3, 4, 6, 3), num_classes, input_shape, weight_decay, name
    )


def resnet50(
    num_classes: int = 1000,
    *,
    input_shape: tuple[int, int, int] = (224, 224, 3),
    weight_decay: float = 0.0,
    name: str = "resnet50",
) -> keras.Model:
    """Builds ResNet-50 from `keras.applications`, untrained, with logits.

    The network of `keras.applications.ResNet50`, whose convolutions have
    biases and whose first 1x1 convolution of a stage has the stride. Two
    things are set as in the smaller networks here: convolutions start from He
    normal values, and the moving statistics of batch normalization have a
    momentum of 0.9. 25.6 million weights with 1000 classes.

    Args:
        num_classes: number of logits.
        input_shape: `(height, width, channels)`.
        weight_decay: coefficient of weight decay on every trainable weight,
            see `keras_mmel.models.with_weight_decay`.
        name: name of the model.

    Returns:
        A functional `keras.Model` from `(batch, height, width, channels)`
        floats, normalized by the caller, to `(batch, num_classes)` logits.

    Raises:
        TypeError: if `num_classes` is no integer.
        ValueError: if `num_classes` or `weight_decay` is out of range.

    Example:

    ```python
    import keras_mmel

    model = keras_mmel.models.resnet50(1000)
    ```

    Reference:
        He, Zhang, Ren, Sun: [Deep Residual Learning for Image Recognition](
        https://arxiv.org/abs/1512.03385), table 1.
    """
    layers.check_num_classes(num_classes)
    trunk = keras.applications.ResNet50(
        include_top=False, weights=None, input_shape=input_shape
    )
    trunk = rebuild(trunk, _as_here)
    outputs = layers.classifier(trunk.output, num_classes)
    model = keras.Model(trunk.input, outputs, name=name)
    return with_weight_decay(model, weight_decay) if weight_decay else model


def _as_here(layer, config):
    """The settings of this package, in a layer of `keras.applications`."""
    if isinstance(layer, keras.layers.Conv2D):
        config["kernel_initializer"] = layers.KERNEL_INITIALIZER
    if isinstance(layer, keras.layers.BatchNormalization):
        config["momentum"] = layers.BATCH_NORM_MOMENTUM


def _basic_resnet(blocks, num_classes, input_shape, weight_decay, name):
    layers.check_num_classes(num_classes)
    inputs = keras.Input(input_shape, name="images")
    x = layers.conv_norm(inputs, 64, 7, strides=2, name="stem")
    x = layers.relu(x, name="stem")
    # After a rectifier, padding with zeros never wins the maximum.
    x = keras.layers.ZeroPadding2D(
        1, data_format=layers.FORMAT, name="stem_pool_pad"
    )(x)
    x = keras.layers.MaxPooling2D(
        3, strides=2, data_format=layers.FORMAT, name="stem_pool"
    )(x)
    for stage, number in enumerate(blocks, start=1):
        filters = 64 * 2 ** (stage - 1)
        for block in range(number):
            block_name = f"stage{stage}_block{block}"
            strides = 2 if stage > 1 and block == 0 else 1
            shortcut = x
            if strides == 2:
                shortcut = layers.conv_norm(
                    x, filters, 1, strides, name=f"{block_name}_shortcut"
                )
            x = layers.basic_block(
                x, filters, strides, shortcut, name=block_name
            )
    outputs = layers.classifier(x, num_classes)
    model = keras.Model(inputs, outputs, name=name)
    return with_weight_decay(model, weight_decay) if weight_decay else model

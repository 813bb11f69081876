"""Residual networks for ImageNet (He et al. 2016, section 4.1)."""

import functools

import keras

from keras_mmel.models import layers


def resnet18(
    num_classes: int = 1000,
    *,
    input_shape: tuple[int | None, int | None, int] = (224, 224, 3),
    weight_decay: float = 0.0,
    synchronized: bool = False,
    name: str = "resnet18",
) -> keras.Model:
    """Builds ResNet-18: stages of 2, 2, 2 and 2 basic blocks.

    A 7x7 convolution and a max pooling, both with a stride of 2, four stages
    with 64, 128, 256 and 512 filters, global average pooling and a dense
    layer. Where the number of filters doubles, the shortcut is a 1x1
    convolution (option B). 11.7 million weights with 1000 classes.

    Args:
        num_classes: Number of logits.
        input_shape: `(height, width, channels)`; height and width may be
            `None`.
        weight_decay: Coefficient, as `keras_mmel.models.cifar_resnet` has it.
        synchronized: Whether batch normalization is that of all replicas.
        name: Name of the model.

    Returns:
        A functional `keras.Model` to `(batch, num_classes)` logits, from
        images as `cifar_resnet` takes them.

    Raises:
        ValueError: If `num_classes` or `weight_decay` is out of range.

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
        (2, 2, 2, 2), num_classes, input_shape, weight_decay, synchronized, name
    )


def resnet34(
    num_classes: int = 1000,
    *,
    input_shape: tuple[int | None, int | None, int] = (224, 224, 3),
    weight_decay: float = 0.0,
    synchronized: bool = False,
    name: str = "resnet34",
) -> keras.Model:
    """Builds ResNet-34: stages of 3, 4, 6 and 3 basic blocks.

    Deeper than `keras_mmel.models.resnet18` and otherwise the same. 21.8
    million weights with 1000 classes.

    Args:
        num_classes: Number of logits.
        input_shape: `(height, width, channels)`; height and width may be
            `None`.
        weight_decay: Coefficient, as `keras_mmel.models.cifar_resnet` has it.
        synchronized: Whether batch normalization is that of all replicas.
        name: Name of the model.

    Returns:
        A functional `keras.Model` to `(batch, num_classes)` logits, from
        images as `cifar_resnet` takes them.

    Raises:
        ValueError: If `num_classes` or `weight_decay` is out of range.

    Example:

    ```python
    import keras_mmel

    model = keras_mmel.models.resnet34(1000)
    ```
    """
    return _basic_resnet(
        (3, 4, 6, 3), num_classes, input_shape, weight_decay, synchronized, name
    )


def resnet50(
    num_classes: int = 1000,
    *,
    input_shape: tuple[int, int, int] = (224, 224, 3),
    weight_decay: float = 0.0,
    synchronized: bool = False,
    name: str = "resnet50",
) -> keras.Model:
    """Builds ResNet-50 from `keras.applications`, untrained, with logits.

    The network of `keras.applications.ResNet50`, whose convolutions have
    biases and whose first 1x1 convolution of a stage has the stride. Two
    things are set as in `keras_mmel.models.resnet18`: convolutions start from
    He normal values, and the moving statistics of batch normalization have a
    momentum of 0.9. 25.6 million weights with 1000 classes.

    Args:
        num_classes: Number of logits.
        input_shape: `(height, width, channels)`, all known.
        weight_decay: Coefficient, as `keras_mmel.models.cifar_resnet` has it.
        synchronized: Whether batch normalization is that of all replicas.
        name: Name of the model.

    Returns:
        A functional `keras.Model` to `(batch, num_classes)` logits, from
        images as `cifar_resnet` takes them.

    Raises:
        ValueError: If `num_classes` or `weight_decay` is out of range.

    Example:

    ```python
    import keras_mmel

    model = keras_mmel.models.resnet50(1000)
    ```
    """
    trunk = keras.applications.ResNet50(
        include_top=False, weights=None, input_shape=input_shape
    )
    penalty = layers.decay_penalty(weight_decay)

    def as_here(layer):
        config = layer.get_config()
        if isinstance(layer, keras.layers.Conv2D):
            config["kernel_initializer"] = layers.KERNEL_INITIALIZER
            config["kernel_regularizer"] = config["bias_regularizer"] = penalty
        if isinstance(layer, keras.layers.BatchNormalization):
            config["momentum"] = layers.BATCH_NORM_MOMENTUM
            config["synchronized"] = synchronized
            config["gamma_regularizer"] = config["beta_regularizer"] = penalty
        return type(layer).from_config(config)

    trunk = keras.models.clone_model(trunk, clone_function=as_here)
    return layers.with_head(
        trunk.input, trunk.output, num_classes, penalty, name
    )


def _basic_resnet(
    blocks, num_classes, input_shape, weight_decay, synchronized, name
):
    inputs = keras.Input(input_shape, name="images")
    penalty = layers.decay_penalty(weight_decay)
    conv = functools.partial(
        layers.conv_norm, penalty=penalty, synchronized=synchronized
    )
    x = conv(inputs, 64, 7, 2, name="stem")
    x = layers.relu(x, name="stem")
    # After a rectifier, padding with zeros never wins the maximum.
    x = keras.layers.ZeroPadding2D(1, layers.FORMAT, name="stem_pool_pad")(x)
    x = keras.layers.MaxPooling2D(
        3, strides=2, data_format=layers.FORMAT, name="stem_pool"
    )(x)
    x = layers.stages(x, blocks, 64, _projection, conv)
    return layers.with_head(inputs, x, num_classes, penalty, name)


def _projection(x, filters, conv, name):
    return conv(x, filters, 1, 2, name=f"{name}_shortcut")

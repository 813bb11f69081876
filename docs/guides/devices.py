"""Title: Several GPUs.

Trains under a strategy; where there is no GPU, on parts of the CPU.
"""

# --8<-- [start:strategy]
import keras
import numpy as np
import tensorflow as tf

import keras_mmel

keras.utils.set_random_seed(0)
devices = tf.config.list_logical_devices("GPU")
devices = devices or tf.config.list_logical_devices("CPU")
strategy = tf.distribute.MirroredStrategy([d.name for d in devices])
print(strategy.num_replicas_in_sync, "replicas")
# --8<-- [end:strategy]

# --8<-- [start:data]
random = np.random.default_rng(0)
images = random.integers(0, 256, (64, 16, 16, 3), "uint8")
labels = random.integers(0, 3, 64)
counter = keras_mmel.data.EpochCounter()
groups = keras_mmel.data.group_views(
    tf.data.Dataset.from_tensor_slices((images, labels)),
    keras_mmel.data.crop_and_flip(padding=2),
    num_views=4,
    batch_size=32,  # of all replicas together
    seed=0,
    epoch_counter=counter,
)
# --8<-- [end:data]

# --8<-- [start:scope]
with strategy.scope():
    model = keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Conv2D(8, 3, strides=2, use_bias=False),
            keras.layers.BatchNormalization(synchronized=True),
            keras.layers.ReLU(),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(3),
        ]
    )
    mmel = keras_mmel.MMELModel(model, "hard")
    mmel.compile(
        keras.optimizers.SGD(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
mmel.fit(groups, epochs=2, callbacks=[counter], verbose=2)
# --8<-- [end:scope]

"""Title: Saving and serving.

The plain model, checkpoints, a run that goes on, and a served model.
"""

# --8<-- [start:train]
import keras
import numpy as np
import tensorflow as tf

import keras_mmel

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
views = random.random((64, 4, 8), "float32")
labels = random.integers(0, 3, 64)
examples = views[:, 0]

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
mmel = keras_mmel.MMELModel(model, "soft")
mmel.compile(
    "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
)
best = keras.callbacks.ModelCheckpoint(
    "best.keras", monitor="val_loss", save_best_only=True
)
mmel.fit(
    {"views": views},
    labels,
    validation_data=(examples, labels),
    epochs=3,
    callbacks=[best],
    verbose=2,
)
# --8<-- [end:train]

# --8<-- [start:plain]
mmel.model.save("model.keras")
plain = keras.saving.load_model("model.keras")
np.testing.assert_allclose(
    plain.predict(examples, verbose=0), mmel.predict(examples, verbose=0)
)
# --8<-- [end:plain]

# --8<-- [start:wrapper]
mmel.save("training.keras")
again = keras.saving.load_model("training.keras")  # optimizer included
again.fit({"views": views}, labels, initial_epoch=3, epochs=4, verbose=2)

wrapped = keras.saving.load_model("best.keras").model  # from the checkpoint
# --8<-- [end:wrapper]

# --8<-- [start:objective]
hard = keras_mmel.MMELModel(mmel.model, keras_mmel.objectives.Hard(0.5))
hard.compile(
    "adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True)
)
hard.fit({"views": views}, labels, epochs=1, verbose=2)
# --8<-- [end:objective]

# --8<-- [start:backup]
groups = keras_mmel.data.group_views(
    tf.data.Dataset.from_tensor_slices((examples, labels)),
    lambda x, seeds: tf.repeat(x[:, None], seeds.shape[1], axis=1),
    num_views=4,
    batch_size=16,
    seed=0,
    epoch_counter=(counter := keras_mmel.data.EpochCounter()),
)
backup = keras.callbacks.BackupAndRestore("backup")
hard.fit(groups, epochs=3, callbacks=[backup, counter], verbose=2)
# --8<-- [end:backup]

# --8<-- [start:serve]
mmel.export("serving")
served = tf.saved_model.load("serving")
for size in (1, 7):  # plain examples, in batches of any size
    print(served.serve(examples[:size]).shape)
# --8<-- [end:serve]

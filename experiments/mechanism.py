"""What reweighting does while a network learns: weights of views still wrong.

    python -m experiments.mechanism            # about 2 CPU-minutes

The setting of P1 of docs/experiments.md (200 digits, uneven views). After every
200 steps the views of fixed groups are looked at: what share of them is still
wrong, and what share of the weight those have, by softmax of the losses. With
the mean of the views the two are one.
"""

import keras
import numpy as np

import keras_mmel
from experiments import evidence
from experiments import records
from experiments import rotated_digits
from keras_mmel.objectives import view_weights

LOOKS, LOOK_AT = 20, 500
SEEDS = range(3)
LAMBDAS = (3.0, 1.0, 0.3, 0.1)
OBJECTIVES = {"uniform": "uniform", "hard 1": keras_mmel.objectives.Hard(1.0)}


class Looks(keras.callbacks.Callback):
    """Shares of views, and of weight, that are wrong after each epoch."""

    def __init__(self, views, labels):
        super().__init__()
        self.views, self.labels = views, labels
        self.found = []

    def on_epoch_end(self, epoch, logs=None):
        flat = self.views.reshape(-1, *self.views.shape[2:])
        model = self.model.model
        logits = model.predict(flat, batch_size=500, verbose=0)
        labels = self.labels.repeat(self.views.shape[1])
        losses = keras.losses.sparse_categorical_crossentropy(
            labels, logits, from_logits=True
        )
        losses = np.asarray(losses).reshape(self.views.shape[:2])
        wrong = (logits.argmax(axis=1) != labels).reshape(losses.shape)
        found = {
            "steps": int(self.model.optimizer.iterations.numpy()),
            "wrong": float(wrong.mean()),
        }
        for value in LAMBDAS:
            weights = np.asarray(view_weights(losses, value))
            # Of every group the weights add up to 1.
            found[f"weight {value:g}"] = float((weights * wrong).sum(1).mean())
        self.found.append(found)


def main():
    train, _ = rotated_digits.load()
    groups = rotated_digits.groups_of(train, 4, augment_original=True)
    number = LOOK_AT // rotated_digits.GROUPS
    seen = list(groups(1000).take(number).as_numpy_iterator())
    views = np.concatenate([x["views"] for x, _ in seen])
    labels = np.concatenate([y for _, y in seen])
    runs = []
    for seed in SEEDS:
        for method, objective in OBJECTIVES.items():
            keras.utils.set_random_seed(seed)
            plain = rotated_digits.make_model()
            mmel = keras_mmel.MMELModel(plain, objective)
            mmel.compile(plain.optimizer, plain.loss, steps_per_execution=20)
            looks = Looks(views, labels)
            mmel.fit(
                groups(seed).repeat(),
                epochs=LOOKS,
                steps_per_epoch=rotated_digits.STEPS // LOOKS,
                shuffle=False,
                callbacks=[looks],
                verbose=0,
            )
            curves = {
                name: [round(found[name], 5) for found in looks.found]
                for name in looks.found[0]
            }
            runs.append({"method": method, "seed": seed, "curves": curves})
            print(f"seed {seed}, {method}: {curves['wrong'][-1]:.2%} wrong")
    record = {
        "command": records.command_line(),
        "settings": {"groups": len(labels), "num_views": rotated_digits.VIEWS},
        "environment": records.environment(),
        "runs": runs,
    }
    records.write_record(evidence.RESULTS / "mechanism.json", record)


if __name__ == "__main__":
    evidence.single_threaded()
    main()

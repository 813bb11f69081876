"""What reweighting does while a network learns: weights of views still wrong.

    python -m experiments.mechanism            # about 2 CPU-minutes
    python -m experiments.mechanism --noise    # the same

The setting of P1 of docs/experiments.md (200 digits, uneven views). After every
200 steps the views of fixed groups are looked at: what share of them is still
wrong, and what share of the weight those have, by softmax of the losses. With
the mean of the views the two are one. With `--noise` 20 % of the labels are
wrong, as in P5, every seed has a draw of its own, and groups with right and
with wrong labels are looked at apart.
"""

import argparse

import keras
import numpy as np

import keras_mmel
from experiments import evidence
from experiments import label_noise
from experiments import records
from experiments import rotated_digits
from keras_mmel.objectives import effective_views
from keras_mmel.objectives import view_weights

LOOKS, LOOK_AT = 20, 500
SEEDS = range(3)
# Of draws that P5 has not.
FIRST_DRAW, SHARE = 510, 20
LAMBDAS = (3.0, 1.0, 0.3, 0.1)
OBJECTIVES = {"uniform": "uniform", "hard 1": keras_mmel.objectives.Hard(1.0)}


class Looks(keras.callbacks.Callback):
    """Shares of views, and of weight, that are wrong after each epoch.

    Args:
        views: Of the groups that are looked at.
        labels: Those that are trained on.
        kinds: Which groups are looked at apart, by name; maybe none.
    """

    def __init__(self, views, labels, kinds):
        super().__init__()
        self.views, self.labels, self.kinds = views, labels, kinds
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
        weights = np.asarray(view_weights(losses, 1.0))
        views = np.asarray(effective_views(weights))
        for kind, chosen in self.kinds.items():
            found[f"{kind}: wrong"] = float(wrong[chosen].mean())
            found[f"{kind}: effective views"] = float(views[chosen].mean())
        self.found.append(found)


def first_groups(groups, count):
    """Views and labels of some groups that no run is trained on."""
    seen = list(groups(1000).take(count // rotated_digits.GROUPS))
    return tuple(
        np.concatenate(values)
        for values in zip(*((x["views"], y) for x, y in seen), strict=True)
    )


def looked_at(train, is_wrong):
    """Training groups, and what of them is looked at.

    Args:
        train: Images and labels.
        is_wrong: Which labels are wrong; `None` where all are right.

    Returns:
        Groups by seed, and a callback that looks at a few hundred of them.
    """

    def groups_of(images, labels):
        return rotated_digits.groups_of((images, labels), 4, True)

    groups = groups_of(*train)
    if is_wrong is None:
        return groups, Looks(*first_groups(groups, LOOK_AT), {})
    right, wrong = (
        first_groups(groups_of(*(of[kind] for of in train)), kind.sum())
        for kind in (~is_wrong, is_wrong)
    )
    views, labels = map(np.concatenate, zip(right, wrong, strict=True))
    last = np.arange(len(labels)) >= len(right[1])
    return groups, Looks(views, labels, {"right": ~last, "wrong": last})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--noise", action="store_true", help="wrong labels")
    options = parser.parse_args()
    runs = []
    for seed in SEEDS:
        for method, objective in OBJECTIVES.items():
            wrong_labels = None
            if options.noise:
                draw = label_noise.draw(FIRST_DRAW + seed, SHARE)
                train, wrong_labels, _ = draw
            else:
                train, _ = rotated_digits.load()
            groups, looks = looked_at(train, wrong_labels)
            keras.utils.set_random_seed(seed)
            plain = rotated_digits.make_model()
            mmel = keras_mmel.MMELModel(plain, objective)
            mmel.compile(plain.optimizer, plain.loss, steps_per_execution=20)
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
        "settings": {
            "groups": len(looks.labels),
            "num_views": rotated_digits.VIEWS,
        },
        "environment": records.environment(),
        "runs": runs,
    }
    name = "mechanism-noise" if options.noise else "mechanism"
    records.write_record(evidence.RESULTS / f"{name}.json", record)


if __name__ == "__main__":
    evidence.single_threaded()
    main()

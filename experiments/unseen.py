r"""P7 of docs/experiments.md: changes that no method was trained on.

    python -m experiments.unseen               # about 10 CPU-minutes
    python -m experiments.unseen --trial       # one seed, which counts not

The setting of P1 with uneven views and a draw of digits of its own for every
seed. What was trained on turns and shifts is asked about noise, blur,
occlusion, contrast, background and coarse pixels. The record under
experiments/results/evidence grows run by run, and what was stopped goes on from
it.
"""

import numpy as np
import scipy.ndimage

from experiments import evidence
from experiments import label_noise
from experiments import rotated_digits

NAME = "digits-unseen-alike"
FIRST_SEED, SEEDS = 540, 10
METHODS = {
    name: label_noise.METHODS[name]
    for name in ("uniform", "hard 1", "hard 0.3", "ball 0.35")
}


def occluded(images, rng):
    """A square of 3 x 3 pixels of each image is background."""
    images = images.copy()
    for image, (down, right) in zip(
        images, rng.integers(0, 6, (len(images), 2)), strict=True
    ):
        image[down : down + 3, right : right + 3] = 0
    return images


def noisy(deviation):
    """A function that adds noise to every pixel."""

    def add(images, rng):
        noise = rng.normal(0, deviation, images.shape)
        return np.clip(images + noise, 0, 16)

    return add


def pixelated(images, rng):
    """Each square of 2 x 2 pixels has its mean."""
    del rng
    blocks = images.reshape(len(images), 4, 2, 4, 2, 1).mean(axis=(2, 4))
    return blocks.repeat(2, axis=1).repeat(2, axis=2)


# Pixels go from 0 to 16.
CORRUPTIONS = {
    "noise 2": noisy(2),
    "noise 4": noisy(4),
    "blur": lambda images, rng: scipy.ndimage.uniform_filter(
        images, (1, 3, 3, 1), mode="constant"
    ),
    "occlusion": occluded,
    "contrast": lambda images, rng: 0.4 * images,
    "background": lambda images, rng: np.maximum(images, 4),
    "pixels": pixelated,
}


def parts_of(test, seed):
    """The grid of P1, and the digits under every corruption."""
    images, labels = test
    parts = {"test": rotated_digits.grid_of(test)}
    for number, (name, corrupt) in enumerate(CORRUPTIONS.items()):
        rng = np.random.default_rng([2030, seed, number])
        parts[name] = corrupt(images, rng).astype("float32"), labels
    return parts


def main():
    options = label_noise.options_of(__doc__)
    for seed in label_noise.seeds_of(options, FIRST_SEED, SEEDS):
        train, _, test = label_noise.draw(seed, 0)
        evidence.compare(
            NAME,
            rotated_digits.make_model,
            rotated_digits.groups_of(train, 4, augment_original=True),
            parts_of(test, seed),
            METHODS,
            [seed],
            epochs=rotated_digits.EPOCHS,
        )


if __name__ == "__main__":
    evidence.single_threaded()
    main()

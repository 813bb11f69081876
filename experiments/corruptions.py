"""The picture of the corruptions: one photograph at three severities.

    python -m experiments.corruptions          # seconds

It writes docs/images/corruptions.png. The photograph is "china.jpg" of
scikit-learn, by danielbuechele, CC BY 2.0.
"""

import pathlib

import matplotlib.figure
import tensorflow as tf
from sklearn.datasets import load_sample_image

import keras_mmel

PATH = pathlib.Path(__file__).parents[1] / "docs/images/corruptions.png"
SEVERITIES = (1, 3, 5)
SIDE = 112


def draw(severities: tuple[int, ...] = SEVERITIES) -> matplotlib.figure.Figure:
    """A column for each corruption, a row for each severity."""
    photo = load_sample_image("china.jpg")[:, 100:527]
    photo = tf.cast(tf.image.resize(photo, (SIDE, SIDE)), tf.uint8)
    rows = [
        {"original": lambda image: image}
        | keras_mmel.data.corruptions(severity)
        for severity in severities
    ]
    figure = matplotlib.figure.Figure((12, 3.1), layout="constrained")
    panels = figure.subplots(len(rows), len(rows[0]), squeeze=False)
    for panels_of_row, severity, row in zip(
        panels, severities, rows, strict=True
    ):
        for panel, (name, change) in zip(
            panels_of_row, row.items(), strict=True
        ):
            panel.imshow(change(photo))
            panel.set_xticks([])
            panel.set_yticks([])
            if severity == severities[0]:
                panel.set_title(name.replace("salt and", "salt,"), fontsize=7)
        panels_of_row[0].set_ylabel(f"severity {severity}", fontsize=7)
    return figure


def main() -> None:
    """Writes the picture."""
    draw().savefig(PATH, dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()

"""Runs parts of `experiments.gpu` on a processor: FOLDER PART ...

As if TensorFlow were not installed. FOLDER has what was packed in `pack`.
"""

import importlib.util
import os
import pathlib
import sys

from tests.scripts.hide import hide

if os.environ.get("KERAS_BACKEND") == "jax":
    hide("tensorflow", "tensorflow_text", "tensorflow_datasets")

import keras_mmel
from experiments.gpu import __main__ as program
from experiments.gpu import images
from experiments.gpu import one_program
from tests.experiments.training import toy_images

IMAGES = "--batch_size 5 --num_views 3 --epochs 2 --save_every 0".split()


class Cut(Exception):
    """In place of the end of a command's time."""


def run(folder, part, *words, out="out"):
    places = ["--data", str(folder / "pack"), "--out", str(folder / out)]
    program.main(["run", part, *places, *words])


def cut_after(number):
    """From here on, the chunk of this number is not computed any more."""
    steps, count = one_program.OneProgram.steps, 0

    def few(self, *args):
        nonlocal count
        count += 1
        if count > number:
            one_program.OneProgram.steps = steps
            raise Cut
        return steps(self, *args)

    one_program.OneProgram.steps = few


def train(folder):
    """Every method; one of them is cut in the middle of its second epoch."""
    # It compiles in no time.
    keras_mmel.models.cifar_resnet = toy_images.network
    images.CHUNK = 2
    run(folder, "images", *IMAGES, "--seeds", "0")
    one = [*IMAGES, "--methods", "soft 4", "--seeds", "0"]
    cut_after(3)
    try:
        run(folder, "images", *one, out="cut")
    except Cut:
        assert (folder / "cut" / "images.npz").exists()
    run(folder, "images", *one, out="cut")
    # Epochs by the minutes, and views that are turned.
    few = ["--methods", "uniform", "da-long", "--seeds", "0"]
    turns = ["--views", "turns", "--batch_size", "5", "--num_views", "2"]
    run(folder, "images", *few, *turns, "--minutes", "0.02", out="turns")


def measure(folder):
    arms = ["bert,mixed_bfloat16,hard", "resnet,float32,program"]
    arms += ["resnet,float32,fit"]
    if importlib.util.find_spec("torch"):
        arms += ["bert,float32,torch", "resnet,mixed_bfloat16,torch"]
    run(folder, "speed", "--toy", "--only", *arms)


def ask(folder):
    few = ["--cases", "hard", "ball", "--tests", "tests/test_extras.py"]
    run(folder, "core", *few)


PARTS = {"images": train, "speed": measure, "core": ask}


def main(folder, *parts):
    for part in parts:
        PARTS[part](pathlib.Path(folder))
    print("tensorflow:", "tensorflow" in sys.modules)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What a run of GLUE leaves and costs, for `experiments.reproduce`."""

import re

import keras
import numpy as np

from examples import glue_settings as naming
from examples import speed
from examples.glue_tasks import TASKS
from keras_mmel import text
from keras_mmel.text.bert import presets

# Training examples, as GLUE counts them.
TRAINING_EXAMPLES = {
    "cola": 8551,
    "sst2": 67349,
    "mrpc": 3668,
    "stsb": 5749,
    "qqp": 363846,
    "mnli": 392702,
    "qnli": 104743,
    "rte": 2490,
}
# Of a typical view; tasks differ from 16 to 80.
TOKENS, ROWS = 48, 16
# In the names of the small BERTs.
_SIZE = re.compile(r"L-(\d+)_H-(\d+)")


def one_run(args):
    """The settings of the single run that `args` names."""
    (task,), (method,), (seed,) = args.tasks, args.methods, args.seeds
    labels = None if method == "baseline" else args.labels[0]
    return naming.train_settings(args, task, method, labels, seed)


def record_path(args):
    """Where its record goes."""
    return args.out / f"{naming.run_name(one_run(args))}.json"


def views(args):
    """How many views it trains on."""
    settings = one_run(args)
    examples = settings["limit"] or TRAINING_EXAMPLES[settings["task"]]
    # da-long has its many views one after the other, in more epochs.
    at_once = settings["num_views"] if settings["method"] != "da-long" else 1
    return examples * at_once * settings["epochs"]


def views_per_second(preset):
    """Views of 48 tokens a second in training, from a few steps.

    A preset that is not here is not downloaded for that: a BERT of random
    weights stands for it, of the size that its name has, else BERT-base.
    """
    model = _classifier(preset)
    model.compile(
        keras.optimizers.AdamW(3e-5),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    shape = (ROWS, TOKENS)
    x = {
        "token_ids": np.full(shape, 5, "int32"),
        "segment_ids": np.zeros(shape, "int32"),
        "padding_mask": np.ones(shape, "int32"),
    }
    return speed.examples_per_second(model, x, np.zeros(ROWS, "int32"))


def _classifier(preset):
    classes = max(task.num_classes for task in TASKS.values())
    if "://" not in preset:
        return text.load_text_classifier(presets.find(preset), classes)
    import keras_hub

    found = _SIZE.search(preset)
    layers, width = map(int, found.groups()) if found else (12, 768)
    backbone = keras_hub.models.BertBackbone(
        30522, layers, width // 64, width, 4 * width
    )
    return keras_hub.models.BertTextClassifier(
        backbone, classes, preprocessor=None
    )

"""Steps of the text quickstart: train, evaluate, serve, sum up."""

import statistics

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from keras_mmel import text
from keras_mmel.text import files
from keras_mmel.text.reading.teacher import Predictor
from keras_mmel.text.reading.teacher import probabilities

OBJECTIVES = {"uniform": "uniform", "mmel-h": "hard"}
METHODS = ("baseline", *OBJECTIVES)
# How many served answers are kept.
SHOW = 3


def train(args, method, num_classes, table, seed):
    """Fine-tune a new classifier by one method.

    Args:
        args: the arguments.
        method: "baseline", "uniform" or "mmel-h".
        num_classes: its outputs; 1 is regression.
        table: a `TokenTable` of originals or of groups.
        seed: of everything.

    Returns:
        The classifier and the loss after each epoch.
    """
    keras.utils.set_random_seed(seed)
    classifier = text.load_text_classifier(args.classifier, num_classes)
    counter = keras_mmel.data.EpochCounter()
    options = {
        "batch_size": args.batch_size,
        "seed": seed,
        "shuffle": True,
        "drop_remainder": False,
        "epoch_counter": counter,
    }
    if method == "baseline":
        model = classifier
        dataset = text.read_plain(table, **options)
    else:
        model = keras_mmel.MMELModel(classifier, OBJECTIVES[method])
        dataset = text.read_augmented(
            table, num_views=args.num_views, **options
        )
    steps = args.epochs * int(dataset.cardinality())
    loss = keras.losses.MeanSquaredError()
    if num_classes > 1:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        keras.optimizers.AdamW(
            keras.optimizers.schedules.PolynomialDecay(
                args.learning_rate, steps, end_learning_rate=0.0
            ),
            weight_decay=0.0,
        ),
        loss,
    )
    history = model.fit(
        dataset,
        epochs=args.epochs,
        callbacks=[counter],
        shuffle=False,
        verbose=0,
    )
    return classifier, history.history["loss"]


def evaluate(classifier, table):
    """Mean loss on the test texts, and the accuracy where there are classes."""
    outputs = Predictor(classifier)(table).astype("float64")
    if outputs.shape[1] == 1:
        return {"loss": float(np.mean((outputs[:, 0] - table.labels) ** 2))}
    losses = keras.losses.sparse_categorical_crossentropy(
        table.labels, outputs, from_logits=True
    )
    return {
        "loss": float(np.mean(losses)),
        "accuracy": float(np.mean(outputs.argmax(axis=1) == table.labels)),
    }


def serve(args, classifier, source, table):
    """Export, load with TensorFlow, ask; what it says against the model."""
    path = args.work_dir / "served"
    text.export_text_classifier(
        classifier,
        path,
        pairs=source.num_texts == 2,
        max_length=args.max_length,
        label_names=source.label_names,
    )
    loaded = tf.saved_model.load(str(path))
    function = loaded.signatures["serving_default"]
    texts = [one.texts for one in source.read(0, len(source))]
    names = ["text"] if source.num_texts == 1 else ["text_a", "text_b"]
    answers = function(
        **{
            name: tf.constant([one[side] for one in texts])
            for side, name in enumerate(names)
        }
    )
    wanted = probabilities(Predictor(classifier)(table))
    if "value" in answers:
        found, said = answers["value"].numpy()[:, None], None
    else:
        found = answers["probabilities"].numpy()
        said = answers.get("label")
    shown = []
    for i in range(min(SHOW, len(texts))):
        answer = {"texts": list(texts[i]), "outputs": found[i].round(4)}
        if said is not None:
            answer["label"] = said[i].numpy().decode()
        shown.append(answer)
    return {
        "answers": shown,
        "largest_difference": float(np.abs(found - wanted).max()),
    }


def views_of(directory, count):
    """A few originals with their samples, for a look."""
    found = []
    for record in files.read_records(directory):
        if len(found) == count:
            break
        found.append(
            {
                "original": list(record.texts),
                "views": [list(view.texts) for view in record.views],
            }
        )
    return found


def summarize(runs):
    """Mean and standard deviation over the seeds, by method and score."""
    summary = {}
    for method in METHODS:
        scores = [run["scores"] for run in runs if run["method"] == method]
        summary[method] = {
            name: {
                "mean": statistics.mean(one[name] for one in scores),
                "deviation": statistics.stdev(one[name] for one in scores)
                if len(scores) > 1
                else None,
            }
            for name in scores[0]
        }
    return summary


def print_summary(summary):
    for method, scores in summary.items():
        words = [f"{method:10}"]
        for name, one in scores.items():
            words.append(f"{name} {one['mean']:.4f}")
            if one["deviation"] is not None:
                words.append(f"(+- {one['deviation']:.4f})")
        print(" ".join(words), flush=True)

r"""MMEL on a CSV of texts: augment, label, train, export, serve.

With `keras-mmel[text,datasets]`, ten minutes on two CPU cores. BERT_TINY is a
small masked LM in Hugging Face layout; without it BERT-base comes from the hub:

    python text_quickstart.py --masked_lm BERT_TINY --learning_rate 5e-4

Expected from a BERT of 2 layers, 128 wide, on made reviews (two classes, from
a grammar), half of which are kept back:

    baseline   accuracy 0.8778 loss 0.1860 (3 seeds)
    uniform    accuracy 0.8678 loss 0.1751 (3 seeds)
    mmel-h     accuracy 0.8778 loss 0.1725 (3 seeds)

A file of your own has one text column or the two of a pair; labels are words or
class numbers, or values (regression):

    python text_quickstart.py --csv reviews.csv --text review --label stars

The steps: write four samples of each training text by the masked LM; fine-tune
a teacher on the originals and let it label all; train the same classifier three
ways, `baseline` on the originals, `uniform` and `mmel-h` on groups of five
views; export the last one as a SavedModel that takes strings, and ask it. All
three take as many steps; one of the last two sees five times the texts.
"""

import argparse
import functools
import os
import pathlib
import random
import shutil

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from keras_mmel import text
from keras_mmel.text import files

BERT_BASE = "hf://google-bert/bert-base-uncased"
OBJECTIVES = {"baseline": None, "uniform": "uniform", "mmel-h": "hard"}
# Of the made reviews: what they are about, and what they say.
PARTS = {
    "film": ("plot", "acting", "music", "ending", "dialogue", "camera work"),
    "hotel": ("room", "staff", "breakfast", "view", "bed", "service"),
    "phone": ("screen", "battery", "camera", "sound", "price", "design"),
    "book": ("story", "writing", "ending", "cover", "humor", "translation"),
}
WORDS = {
    True: "good great fine lovely wonderful brilliant superb pleasant charming "
    "delightful excellent perfect beautiful clever impressive solid",
    False: "bad awful poor dull terrible boring weak horrible annoying ugly "
    "disappointing cheap clumsy dreadful useless mediocre",
}
DEGREES = ("", "very ", "really ", "rather ", "quite ", "simply ")


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--csv", help="your file with a header; made reviews without it")
    add("--text", nargs="+", default=["text"], help="its text column, or two")
    add("--label", default="label", help="its column with the labels")
    add("--test_fraction", type=float, default=0.5, help="kept for testing")
    add("--masked_lm", default=BERT_BASE, help="preset: directory, hf://...")
    add("--num_views", type=int, default=5, help="the original included")
    add("--mask_ratio", type=float, default=0.4)
    add("--epochs", type=int, default=8)
    add("--batch_size", type=int, default=16)
    add("--learning_rate", type=float, default=3e-5)
    add("--max_length", type=int, default=64, help="tokens of a text")
    add("--seeds", type=int, default=3, help="runs of each method")
    work_dir = pathlib.Path("runs/text_quickstart")
    add("--work_dir", type=pathlib.Path, default=work_dir, help="data, models")
    return parser.parse_args(argv)


def make_reviews(count, seed):
    """Short reviews made from a grammar, all different, two classes.

    Some opinions are negated ("not bad"), and after "although" the second one
    decides, so single words do not tell the class.
    """
    rng = random.Random(seed)

    def opinion(part, good):
        if rng.random() < 0.15:
            return f"the {part} was not {rng.choice(WORDS[not good].split())}"
        degree = rng.choice(DEGREES)
        return f"the {part} was {degree}{rng.choice(WORDS[good].split())}"

    labels = {}
    while len(labels) < count:
        good = rng.random() < 0.5
        thing = rng.choice(list(PARTS))
        a, b = rng.sample(PARTS[thing], 2)
        kind = rng.randrange(4)
        first = opinion(a, good if kind <= 2 else not good)
        review = f"In this {thing} {first}."
        if kind == 2:
            review = f"A {thing} where {first} and {opinion(b, good)}."
        elif kind == 3:
            end = f"and that counts in a {thing}."
            review = f"Although {first}, {opinion(b, good)}, {end}"
        labels.setdefault(review, int(good))
    reviews = [
        files.Record(str(number), (review,), label)
        for number, (review, label) in enumerate(labels.items())
    ]
    return files.InMemory(reviews, "class", ("bad", "good"), {"made": count})


def split(source, test_fraction):
    """Training and test examples as sources, each in the order of the whole."""
    numbers = list(range(len(source)))
    random.Random(0).shuffle(numbers)
    cut = round(len(source) * test_fraction)
    records = list(source.read(0, len(source)))
    return [
        files.InMemory(
            [records[number] for number in sorted(chosen)],
            source.label_kind,
            source.label_names,
            source.describe() | {"part": name, "fraction": test_fraction},
        )
        for name, chosen in (("train", numbers[cut:]), ("test", numbers[:cut]))
    ]


def compile_model(model, num_classes, learning_rate, steps):
    """Adam with linear decay to 0; the squared error for one output."""
    rate = keras.optimizers.schedules.PolynomialDecay(
        learning_rate, steps, end_learning_rate=0.0
    )
    loss, metrics = keras.losses.MeanSquaredError(), []
    if num_classes > 1:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        metrics = ["accuracy"]
    # Epsilon as in BERT's own code.
    optimizer = keras.optimizers.Adam(rate, epsilon=1e-6)
    model.compile(optimizer, loss, metrics=metrics)


def train(args, num_classes, test, method, data, seed):
    """Fine-tune a classifier by one method; the model and its scores."""
    keras.utils.set_random_seed(seed)
    model = text.load_text_classifier(args.masked_lm, num_classes)
    length = {"tokenizer": model.tokenizer, "max_length": args.max_length}
    test = text.read_plain(test, **length)
    counter = keras_mmel.data.EpochCounter()
    options = length | {
        "batch_size": args.batch_size,
        "seed": seed,
        "shuffle": True,
        "drop_remainder": False,
        "epoch_counter": counter,
    }
    if method == "baseline":
        data = text.read_plain(data, **options)
    else:
        model = keras_mmel.MMELModel(model, OBJECTIVES[method])
        data = text.read_augmented(data, num_views=args.num_views, **options)
    steps = args.epochs * int(data.cardinality())
    compile_model(model, num_classes, args.learning_rate, steps)
    log = model.fit(
        data, epochs=args.epochs, callbacks=[counter], shuffle=False, verbose=0
    )
    scores = model.evaluate(test, verbose=0, return_dict=True)
    curves = {"loss": np.round(log.history["loss"], 4)}
    run = {"method": method, "seed": seed, "curves": curves, "scores": scores}
    return model, run


def serve(args, classifier, source):
    """Export, load with TensorFlow alone, and ask."""
    path = str(args.work_dir / "served")
    text.export_text_classifier(
        classifier,
        path,
        pairs=source.num_texts == 2,
        max_length=args.max_length,
        label_names=source.label_names,
    )
    ask = tf.saved_model.load(path).signatures["serving_default"]
    texts = [record.texts for record in source.read(0, 3)]
    names = ("text",) if source.num_texts == 1 else ("text_a", "text_b")
    sides = map(tf.constant, zip(*texts, strict=True))
    answers = ask(**dict(zip(names, sides, strict=True)))
    values = [answer.numpy() for answer in answers.values()]
    for asked, *answer in zip(texts, *values, strict=True):
        print(" | ".join(asked), "->", *answer)


def run(args):
    """The whole journey; sizes, scores of the teacher, and all runs."""
    for folder in ("augmented", "labelled", "served"):
        shutil.rmtree(args.work_dir / folder, ignore_errors=True)
    source = make_reviews(600, seed=0)
    if args.csv:
        source = files.from_csv(args.csv, args.text, args.label)
    source, test_source = split(source, args.test_fraction)
    labels = [record.label for record in source.records]
    num_classes = 1 + max(labels) if source.label_kind == "class" else 1
    print("augment", flush=True)
    augmenter = text.MaskedLMAugmenter(
        text.load_masked_lm(args.masked_lm),
        args.num_views - 1,
        args.mask_ratio,
        max_length=args.max_length,
    )
    augmented = args.work_dir / "augmented"
    text.write_augmented(augmented, source, augmenter)
    print("teacher", flush=True)
    train_one = functools.partial(train, args, num_classes, test_source)
    teacher, teacher_run = train_one("baseline", source, seed=0)
    labelled, length = args.work_dir / "labelled", args.max_length
    text.label_augmented(augmented, teacher, labelled, max_length=length)
    runs = []
    for method in OBJECTIVES:
        print(f"train {method}", flush=True)
        data = source if method == "baseline" else labelled
        for seed in range(args.seeds):
            model, one_run = train_one(method, data, seed)
            runs.append(one_run)
    serve(args, model.model, test_source)
    return {
        "examples": {"train": len(source), "test": len(test_source)},
        "teacher": teacher_run["scores"],
        "runs": runs,
    }


def main(argv=None):
    runs = run(parse_arguments(argv))["runs"]
    for method in OBJECTIVES:
        scores = [run["scores"] for run in runs if run["method"] == method]
        means = {k: np.mean([one[k] for one in scores]) for k in scores[0]}
        words = [f"{name} {mean:.4f}" for name, mean in means.items()]
        print(f"{method:10}", *words, f"({len(scores)} seeds)")


if __name__ == "__main__":
    main()

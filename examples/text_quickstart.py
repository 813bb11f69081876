r"""MMEL on a CSV of texts: augment, label, train, export, serve.

The whole journey on a file of your own, or on a small made one (reviews from a
grammar, two classes), with a small BERT masked LM in Hugging Face layout at
BERT_TINY. Five minutes on two CPU cores; docs/tables.md has what comes out:

    python -m examples.text_quickstart --masked_lm BERT_TINY \
        --learning_rate 5e-4

Your file has one text column or the two of a pair; labels are words or class
numbers, or values (regression):

    python -m examples.text_quickstart --masked_lm BERT_TINY \
        --learning_rate 5e-4 --csv reviews.csv --text review --label stars

Without --masked_lm it is BERT-base from the Hugging Face hub, for a GPU. The
steps: write four samples of each training text by the masked LM; fine-tune a
teacher on the originals and let it label all; train the same classifier three
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
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_mmel
from examples import fine_tuning
from examples import records
from examples import runs
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
        prog="python -m examples.text_quickstart",
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
    add("--work_dir", default="runs/text_quickstart", help="data and models")
    add("--out", default="runs/text_quickstart.json", help="the record")
    args = parser.parse_args(argv)
    runs.check_positive(parser, args, ("epochs", "batch_size", "seeds"))
    args.work_dir = pathlib.Path(args.work_dir)
    return args


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

    found = {}
    while len(found) < count:
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
        found.setdefault(review, int(good))
    reviews = [
        files.Record(str(number), (review,), good)
        for number, (review, good) in enumerate(found.items())
    ]
    return files.InMemory(reviews, "class", ("bad", "good"), {"made": count})


def split(source, test_fraction):
    """Training and test examples as sources, each in the order of the whole."""
    numbers = list(range(len(source)))
    random.Random(0).shuffle(numbers)
    cut = round(len(source) * test_fraction)
    found = list(source.read(0, len(source)))
    return [
        files.InMemory(
            [found[number] for number in sorted(part)],
            source.label_kind,
            source.label_names,
            source.describe() | {"part": name, "fraction": test_fraction},
        )
        for name, part in (("train", numbers[cut:]), ("test", numbers[:cut]))
    ]


def train(args, num_classes, test, method, data, seed):
    """Fine-tune a classifier by one method; the model and its run."""
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
    fine_tuning.compile_model(
        model,
        args.learning_rate,
        args.epochs * int(data.cardinality()),
        fine_tuning.loss_of(num_classes),
        metrics=["accuracy"] if num_classes > 1 else [],
    )
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
    texts = [one.texts for one in source.read(0, 3)]
    names = ("text",) if source.num_texts == 1 else ("text_a", "text_b")
    sides = map(tf.constant, zip(*texts, strict=True))
    answers = ask(**dict(zip(names, sides, strict=True)))
    found = [values.numpy() for values in answers.values()]
    for asked, *said in zip(texts, *found, strict=True):
        print(" | ".join(asked), "->", *said)


def main(argv=None):
    args = parse_arguments(argv)
    start = time.perf_counter()
    for part in ("augmented", "labelled", "served"):
        shutil.rmtree(args.work_dir / part, ignore_errors=True)
    source = make_reviews(600, seed=0)
    if args.csv:
        source = files.from_csv(args.csv, args.text, args.label)
    source, test_source = split(source, args.test_fraction)
    labels = [one.label for one in source.records]
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
    run = functools.partial(train, args, num_classes, test_source)
    teacher, of_teacher = run("baseline", source, seed=0)
    labelled = args.work_dir / "labelled"
    length = {"max_length": args.max_length}
    text.label_augmented(augmented, teacher, labelled, **length)
    found = []
    for method in OBJECTIVES:
        print(f"train {method}", flush=True)
        data = source if method == "baseline" else labelled
        for seed in range(args.seeds):
            model, made = run(method, data, seed)
            found.append(made)
    serve(args, model.model, test_source)
    runs.print_scores(found)
    words = sys.argv[1:] if argv is None else argv
    records.write_record(
        args.out,
        {
            "command": records.command_line([__file__, *words]),
            "method": "text quickstart",
            "settings": {"epochs": args.epochs, "num_views": args.num_views},
            "examples": {"train": len(source), "test": len(test_source)},
            "environment": records.environment(),
            "hours": (time.perf_counter() - start) / 3600,
            "teacher": of_teacher["scores"],
            "runs": found,
        },
    )


if __name__ == "__main__":
    main()

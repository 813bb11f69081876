r"""BERT on a task of GLUE: section 4.2 of the paper.

With `keras-mmel[text,datasets,examples]`, two minutes on two CPU cores, to see
that it works; BERT_TINY is a small masked LM in Hugging Face layout, which is
masked LM, teacher and student:

    python glue.py --bert BERT_TINY --limit 64 --epochs 1

Five minutes on two cores; expected on STS-B from a BERT of 2 layers, 128 wide:
a Spearman correlation of 0.237 (seed 0; 0.268 over three seeds):

    python glue.py --bert BERT_TINY --task stsb --learning_rate 3e-4 --epochs 5

The paper's, BERT-base everywhere, hours on a GPU (its table 3: 71.9 %):

    python glue.py --method mmel-s

The steps: fine-tune a teacher on the originals, write 4 samples of each
training example by the masked LM, predict their labels by the teacher (or keep
those of the originals, --labels original, table 4), fine-tune the student on
groups of 5 views. Methods: `baseline` (the originals alone), `uniform`,
`mmel-h`, `mmel-s`. Files that are finished are kept in --work_dir, and the same
command goes on from them; another folder for other settings. `--predict test`
also writes the predictions for the test set, which has no labels, as GLUE's
server takes them: zip the files of all tasks, flat.
"""

import argparse
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import scipy.stats
import sklearn.metrics

import keras_mmel
from keras_mmel import text
from keras_mmel.text import files

METHODS = ("baseline", "uniform", "mmel-h", "mmel-s")
# Epochs of fine-tuning, as in appendix B of the paper.
TASKS = dict.fromkeys(("cola", "sst2", "mrpc", "stsb", "qnli", "rte"), 10)
TASKS |= {"qqp": 3, "mnli": 3}
# What GLUE's server calls the files of the test sets, and spells out.
FILES = {"cola": "CoLA", "sst2": "SST-2", "mrpc": "MRPC", "stsb": "STS-B"}
FILES |= {"qqp": "QQP", "qnli": "QNLI", "rte": "RTE", "mnli": "MNLI"}
NAMES = dict.fromkeys(("qnli", "rte"), ("entailment", "not_entailment"))
NAMES |= {"mnli": ("entailment", "neutral", "contradiction")}


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--task", choices=TASKS, default="rte")
    add("--method", choices=METHODS, default="mmel-h")
    add("--labels", choices=("teacher", "original"), default="teacher")
    bert = "hf://google-bert/bert-base-uncased"
    add("--bert", default=bert, help="preset: directory, hf://...")
    add("--epochs", type=int, help="3 or 10 by the task")
    add("--batch_size", type=int, default=32, help="examples, not views")
    add("--learning_rate", type=float, default=3e-5)
    add("--max_length", type=int, default=128, help="tokens of an example")
    add("--num_views", type=int, default=5, help="the original included")
    add("--mask_ratio", type=float, default=0.4)
    add("--lambda_p", type=float, default=1.0, help="from 0 to inf")
    add("--lambda_t", type=float, default=1.0)
    add("--seed", type=int, default=0)
    add("--limit", type=int, help="the first so many training examples")
    add("--predict", choices=("test",), help="write what GLUE's server scores")
    add("--data_dir", help="TFDS folder that has the data; else download")
    add("--work_dir", type=pathlib.Path, default="runs/glue")
    args = parser.parse_args(argv)
    if args.num_views < 2:
        parser.error("--num_views must be at least 2, the original included")
    args.epochs = args.epochs or TASKS[args.task]
    return args


def read(args, split):
    """A split of the task, of the training split the first few."""
    if split == "train" and args.limit:
        split = f"train[:{args.limit}]"
    options = {"id": "idx", "data_dir": args.data_dir}
    if split.startswith("test"):
        options["label"] = None  # hidden
    return files.from_tfds(f"glue/{args.task}", split, **options)


def score(task, labels, outputs):
    """What section 4.2 of the paper reports of a task."""
    if task == "stsb":
        values = scipy.stats.spearmanr(labels, outputs[:, 0]).statistic
        return "Spearman correlation", values
    classes = outputs.argmax(axis=1)
    if task == "cola":
        value = sklearn.metrics.matthews_corrcoef(labels, classes)
        return "Matthews correlation", value
    return "accuracy", np.mean(labels == classes)


def objective_of(args):
    if args.method == "mmel-h":
        return keras_mmel.objectives.Hard(args.lambda_p)
    if args.method == "mmel-s":
        return keras_mmel.objectives.Soft(args.lambda_p, args.lambda_t)
    return "uniform"


def compile_model(model, num_classes, learning_rate, steps):
    """Adam with linear decay to 0; the squared error for one output."""
    rate = keras.optimizers.schedules.PolynomialDecay(
        learning_rate, steps, end_learning_rate=0.0
    )
    loss = keras.losses.MeanSquaredError()
    if num_classes > 1:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    # Epsilon as in BERT's own code.
    model.compile(keras.optimizers.Adam(rate, epsilon=1e-6), loss)


def train(args, source, method, labels=None):
    """Fine-tune a classifier; on the originals of `source`, or on groups.

    Args:
        args: The options.
        source: Examples, or the folder with their samples.
        method: One of `METHODS`.
        labels: `"teacher"` where the samples have its labels.
    """
    keras.utils.set_random_seed(args.seed)
    examples, num_classes = read(args, "train"), 1
    if examples.label_kind == "class":
        num_classes = len(examples.label_names)
    classifier = text.load_text_classifier(args.bert, num_classes)
    options = {
        "tokenizer": classifier.tokenizer,
        "max_length": args.max_length,
        "batch_size": args.batch_size,
        "seed": args.seed,
        "shuffle": True,
        # Small sets: every example in every epoch.
        "drop_remainder": False,
        "epoch_counter": keras_mmel.data.EpochCounter(),
    }
    model = classifier
    if method == "baseline":
        data = text.read_plain(source, **options)
    else:
        model = keras_mmel.MMELModel(classifier, objective_of(args))
        data = text.read_augmented(
            source,
            num_views=args.num_views,
            teacher=labels == "teacher",
            **options,
        )
    steps = args.epochs * int(data.cardinality())
    compile_model(model, num_classes, args.learning_rate, steps)
    model.fit(
        data,
        epochs=args.epochs,
        callbacks=[options["epoch_counter"]],
        # The data are shuffled; plain Keras would warn that it does not.
        shuffle=False,
        verbose=2,
    )
    return classifier


def augment(args):
    """Write the samples of the training examples; the folder they are in."""
    augmenter = text.MaskedLMAugmenter(
        text.load_masked_lm(args.bert),
        args.num_views - 1,
        args.mask_ratio,
        max_length=args.max_length,
    )
    augmented = args.work_dir / args.task / "augmented"
    text.write_augmented(augmented, read(args, "train"), augmenter)
    if args.labels == "original":
        return augmented
    path = args.work_dir / args.task / "teacher.keras"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        train(args, read(args, "train"), "baseline").save(path)
    teacher = keras.saving.load_model(path, compile=False)
    labelled = args.work_dir / args.task / "labelled"
    length = {"max_length": args.max_length}
    text.label_augmented(augmented, teacher, labelled, **length)
    return labelled


def outputs_for(args, source, classifier):
    """The classifier's outputs for the originals of a source, and its table."""
    table = text.load_table(
        source, classifier.tokenizer, max_length=args.max_length
    )
    examples = text.read_plain(table, batch_size=64, labels=False)
    return classifier.predict(examples, verbose=0), table


def spelled(task, outputs):
    """Predictions as GLUE has them: names, 0 and 1, or values from 0 to 5."""
    if task == "stsb":
        return [f"{value:.3f}" for value in outputs[:, 0].clip(0.0, 5.0)]
    names = NAMES.get(task, ("0", "1"))
    return [names[number] for number in outputs.argmax(axis=1)]


def write_submission(args, classifier):
    """Write the predictions for each test set, in GLUE's order."""
    splits = {"": "test"}
    if args.task == "mnli":
        splits = {"-m": "test_matched", "-mm": "test_mismatched"}
    for ending, split in splits.items():
        source = read(args, split)
        outputs, _ = outputs_for(args, source, classifier)
        indices = [int(r.example_id) for r in source.read(0, len(source))]
        rows = sorted(zip(indices, spelled(args.task, outputs), strict=True))
        path = args.work_dir / "submission" / f"{FILES[args.task]}{ending}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{index}\t{prediction}\n" for index, prediction in rows]
        path.write_text("".join(["index\tprediction\n", *lines]))
        print(f"{len(rows)} predictions: {path}")


def main(argv=None):
    args = parse_arguments(argv)
    source = read(args, "train")
    if args.method != "baseline":
        source = augment(args)
    classifier = train(args, source, args.method, args.labels)
    split = "validation_matched" if args.task == "mnli" else "validation"
    outputs, development = outputs_for(args, read(args, split), classifier)
    name, value = score(args.task, development.labels, outputs)
    print(f"{args.task}, {args.method}: {name} {value:.4f}")
    if args.predict:
        write_submission(args, classifier)
    path = args.work_dir / args.task / f"{args.method}.keras"
    path.parent.mkdir(parents=True, exist_ok=True)
    classifier.save(path)


if __name__ == "__main__":
    main()

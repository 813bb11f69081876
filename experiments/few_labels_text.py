r"""P4 of docs/experiments.md: an encoder that can learn, and few labels.

    python -m experiments.few_labels_text --encoder MINILM \
        --masked_lm BERT_TINY --data_dir DATA --task sst2

MINILM is all-MiniLM-L6-v2 in Hugging Face layout, BERT_TINY a small masked LM,
DATA a TFDS folder. Without --task all three are run, one after the other. The
samples, the teacher and finished runs are kept in `runs/`.
"""

import argparse
import functools

import keras
import numpy as np

import keras_mmel
from experiments import evidence
from experiments.training import fine_tuning
from experiments.training import glue_tasks
from keras_mmel import text
from keras_mmel.text import files
from keras_mmel.whole_files import replacing

Hard = keras_mmel.objectives.Hard
EXAMPLES, HELD_OUT, VIEWS, GROUPS, EPOCHS = 1000, 500, 5, 8, 3
RATES = (3e-5, 1e-4, 3e-4)
FIRST_SEED, SEEDS = 400, 10
LONGEST = {"sst2": 64, "cola": 64, "mrpc": 128}
# Parts: dropout, labels of the augmented views, methods.
ALL = {
    "uniform": "uniform",
    "hard 1": Hard(1.0),
    "hard 0.3": Hard(0.3),
    "soft": "soft",
}
TWO = {name: ALL[name] for name in ("uniform", "hard 1")}
PARTS = {
    "sst2": {
        "": (0.1, "original", ALL),
        "-teacher": (0.1, "teacher", TWO),
        "-no-dropout": (0.0, "original", TWO),
    },
    "cola": {"": (0.1, "original", ALL)},
    "mrpc": {"": (0.1, "original", TWO)},
}


def sources(task, data_dir):
    """Training, held-out and development examples."""
    whole = glue_tasks.source(task, "train", data_dir)
    found = list(whole.read(0, len(whole)))
    order = np.random.default_rng(2027).permutation(len(found))
    for name, part in (
        ("train", order[:EXAMPLES]),
        ("held_out", order[EXAMPLES : EXAMPLES + HELD_OUT]),
    ):
        yield (
            name,
            files.InMemory(
                [found[number] for number in sorted(part)],
                whole.label_kind,
                whole.label_names,
                whole.describe() | {"part": name},
            ),
        )
    yield "development", glue_tasks.source(task, "validation", data_dir)


def prepare(options, task, folder):
    """Write the samples of all parts, and a teacher's labels of the first."""
    augmenter = text.MaskedLMAugmenter(
        text.load_masked_lm(options.masked_lm),
        VIEWS - 1,
        max_length=LONGEST[task.name],
    )
    for name, source in sources(task, options.data_dir):
        text.write_augmented(folder / name, source, augmenter)
    path = folder / "teacher.keras"
    if not path.exists():
        keras.utils.set_random_seed(FIRST_SEED - 2)
        teacher = model_maker(options, task, 0.1, RATES[1])()
        data = text.read_plain(
            folder / "train",
            tokenizer=teacher.tokenizer,
            batch_size=GROUPS,
            seed=FIRST_SEED - 2,
            shuffle=True,
            max_length=LONGEST[task.name],
            drop_remainder=True,
        )
        teacher.fit(data, epochs=EPOCHS, shuffle=False, verbose=2)
        with replacing(path) as file:
            teacher.save(file)
    teacher = keras.saving.load_model(path, compile=False)
    length = {"max_length": LONGEST[task.name]}
    text.label_augmented(
        folder / "train", teacher, folder / "teacher", **length
    )
    return teacher.tokenizer


def model_maker(options, task, dropout, rate):
    """Makes compiled classifiers."""

    def make_model():
        model = text.load_text_classifier(
            options.encoder, task.num_classes, dropout
        )
        steps = EXAMPLES // GROUPS * EPOCHS
        loss = fine_tuning.loss_of(task.num_classes)
        fine_tuning.compile_model(
            model, rate, steps, loss, metrics=["accuracy"]
        )
        return model

    return make_model


def run(options, task):
    folder = evidence.RUNS / f"text-{task.name}"
    tokenizer = prepare(options, task, folder)
    read = functools.partial(
        text.read_augmented,
        tokenizer=tokenizer,
        num_views=VIEWS,
        max_length=LONGEST[task.name],
    )

    def groups_of(name):
        def groups(seed):
            return read(folder / name, batch_size=GROUPS, seed=seed)

        return groups

    def scored_on(name):
        return read(
            folder / name,
            batch_size=32,
            shuffle=False,
            teacher=False,
            drop_remainder=False,
        )

    # One rate for all methods of a task, that of the mean of the views.
    rate = evidence.best_rates(
        f"text-{task.name}-rates",
        functools.partial(model_maker, options, task, 0.1),
        groups_of("train"),
        scored_on("held_out"),
        {"uniform": "uniform"},
        RATES,
        "original_accuracy",
        seed=FIRST_SEED - 1,
        epochs=EPOCHS,
        plain=False,
    )["uniform"]
    for part, (dropout, labels, methods) in PARTS[task.name].items():
        evidence.compare(
            f"text-{task.name}{part}",
            model_maker(options, task, dropout, rate),
            groups_of("teacher" if labels == "teacher" else "train"),
            scored_on("development"),
            methods,
            range(FIRST_SEED, FIRST_SEED + options.seeds),
            epochs=EPOCHS,
            plain=methods is ALL,
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--masked_lm", required=True)
    parser.add_argument("--data_dir", help="TFDS data; downloads without")
    parser.add_argument("--task", nargs="+", default=[*LONGEST])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    for name in options.task:
        run(options, glue_tasks.TASKS[name])


if __name__ == "__main__":
    evidence.single_threaded()
    main()

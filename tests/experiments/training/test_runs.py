"""Options, names and progress that the scripts share."""

import keras
import numpy as np
import pytest

import experiments.rivals  # noqa: F401  (its methods)
import keras_mmel
from experiments import records
from experiments.training import cifar
from experiments.training import glue_settings
from experiments.training import imagenet
from experiments.training import images
from experiments.training import runs
from experiments.training.glue_tasks import TASKS

POOLED = ["--num_views", "3", "--fixed_views", "4"]


def of_cifar(method, *words):
    args = cifar.parse_arguments(["--method", method, *words])
    return cifar.run_settings(args, method, 0)


def of_imagenet(method, *words):
    args = imagenet.parse_arguments(["--method", method, *words])
    return imagenet.run_settings(args, 0)


def of_glue(method, *words, task="rte", labels="teacher"):
    args = glue_settings.parse_arguments(["train", *words])
    labels = None if method == "baseline" else labels
    return glue_settings.train_settings(args, task, method, labels, 0)


def test_a_kill_while_saving_keeps_the_last_epoch(tmp_path, monkeypatch):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    progress = runs.Progress(tmp_path / "run.npz")
    x, y = np.ones((4, 2)), np.zeros((4, 1))
    fit = {"batch_size": 4, "verbose": 0, "callbacks": [progress]}
    model.fit(x, y, **fit)
    variables = (*model.variables, *model.optimizer.variables)
    kept = [variable.numpy() for variable in variables]

    def kill(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", kill)
        with pytest.raises(KeyboardInterrupt):
            model.fit(x, y, epochs=2, initial_epoch=1, **fit)
    assert list(tmp_path.iterdir()) == [progress.path]
    other = runs.Progress(tmp_path / "run.npz")
    other.restore(model)
    assert other.epoch == 1
    assert len(other.curves["loss"]) == 1
    for variable, value in zip(variables, kept, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)
    whole = progress.path.read_bytes()
    progress.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="Delete it.*run.npz"):
        other.restore(model)


def test_scores_are_printed_by_method(tmp_path, capsys):
    values = [("da", 0.5), ("da", 0.7), ("da", 0.9), ("mmel-h", 0.25)]
    for seed, (method, value) in enumerate(values):
        record = {"method": method, "seed": seed}
        record["settings"] = dict(record)
        record["scores"] = {"accuracy": value, "loss": -value, "ece": 0.0}
        records.write_record(tmp_path / f"{seed}.json", record)
    runs.print_table(tmp_path, ("accuracy", "loss"))
    first, second = capsys.readouterr().out.splitlines()
    spread = f"{np.std([0.5, 0.7, 0.9], ddof=1):.4f}"
    expected = f"da accuracy 0.7000 +- {spread} loss -0.7000 +-"
    assert " ".join(first.split()).startswith(expected)
    expected = "mmel-h accuracy 0.2500 loss -0.2500 (1 seeds)"
    assert " ".join(second.split()) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            of_cifar("mmel-s"),
            {"depth": 20, "epochs": 200, "batch_size": 128, "num_views": 10}
            | {"lambda_p": 1.0, "lambda_t": 1.0, "learning_rate": 0.1}
            | {"momentum": 0.9, "weight_decay": 5e-4, "drop_factor": 0.2},
        ),
        (
            of_imagenet("mmel-h", "--depth", "34"),
            {"dataset": "imagenet2012", "epochs": 100, "batch_size": 256}
            | {"num_views": 10, "drops": [0.3, 0.6, 0.9], "lambda_p": 1.0},
        ),
        (
            of_glue("mmel-s"),
            {"epochs": 10, "batch_size": 32, "learning_rate": 3e-5}
            | {"weight_decay": 0.0, "dropout": 0.1, "num_views": 5}
            | {"student": "hf://google-bert/bert-base-uncased"}
            | {"lambda_p": 1.0, "lambda_t": 1.0},
        ),
        (
            of_glue("mmel-h")["data"],
            {"mask_ratio": 0.4, "search": "greedy", "pairs": "separate"}
            | {"num_augmented": 4},
        ),
    ],
)
def test_defaults_are_those_of_the_paper(settings, expected):
    assert expected.items() <= settings.items()


def test_epochs_of_fine_tuning():
    epochs = {task: of_glue("baseline", task=task)["epochs"] for task in TASKS}
    assert epochs == dict.fromkeys(TASKS, 10) | {"mnli": 3, "qqp": 3}
    long = of_glue("da-long")
    assert (long["epochs"], long["eval_every"]) == (50, 5)


@pytest.mark.parametrize(
    ("method", "stretch"), [("mmel-h", 1), ("da-long", 10)]
)
def test_the_rate_of_cifar_drops_at_60_120_and_160(method, stretch):
    schedule = images.schedule(of_cifar(method), steps_per_epoch=7)
    rates = [
        float(schedule(epoch * 7 * stretch + offset))
        for epoch in (60, 120, 160)
        for offset in (-1, 0)
    ]
    expected = [0.1, 0.02, 0.02, 0.004, 0.004, 0.0008]
    np.testing.assert_allclose(rates, expected, rtol=1e-6)


class TestNames:
    @pytest.mark.parametrize(
        ("of", "method", "options", "number"),
        [
            (of_cifar, "mmel-s", ("--lambda_t=2", "--limit=100"), 3),
            # What does not concern a run does not rename it.
            (of_cifar, "da", ("--lambda_t=2", "--augment_original"), 1),
            (of_cifar, "mmel-h", ("--soft_gradient",), 1),
            (of_glue, "mmel-s", ("--lambda_t=2", "--mask_ratio=0.2"), 3),
            (of_glue, "mmel-h", ("--lambda_t=2", "--mask_ratio=0.2"), 2),
            (of_glue, "mmel-s", ("--soft_gradient",), 2),
            (of_imagenet, "mmel-s", ("--soft_gradient",), 2),
            (of_glue, "mmel-h", ("--num_augmented=4",), 1),
            (of_glue, "mmel-h", ("--num_augmented=9",), 2),
            (of_glue, "mmel-h", ("--teacher_seed=1",), 2),
            (of_glue, "baseline", ("--lambda_t=2", "--mask_ratio=0.2"), 1),
        ],
    )
    def test_other_settings_have_another_one(self, of, method, options, number):
        found = [of(method), *(of(method, option) for option in options)]
        assert len({runs.digest(settings) for settings in found}) == number

    def test_labels_of_the_originals_need_no_teacher(self):
        words = ("mmel-h", "--teacher_seed=1")
        of = {"labels": "original"}
        assert of_glue(*words, **of) == of_glue("mmel-h", **of)


@pytest.mark.parametrize("of", [of_cifar, of_imagenet, of_glue])
def test_infinity_is_a_word(of):
    assert of("mmel-h", "--lambda_p", "inf")["lambda_p"] == "inf"
    assert of("mmel-h", "--lambda_p", "0")["lambda_p"] == 0.0


@pytest.mark.parametrize(
    ("script", "words", "message"),
    [
        (cifar, ["--lambda_p=-1"], "must be from 0 to inf"),
        (glue_settings, ["all", "--lambda_p=nan"], "must be from 0 to inf"),
        (cifar, ["--epochs", "0"], "--epochs must be at least 1"),
        (cifar, ["--replicas", "3"], "must be a multiple of --replicas"),
        (cifar, ["--method", "mixup"], "invalid choice"),
        (cifar, POOLED[:3] + ["1"], "--fixed_views must be at least 2"),
        (imagenet, POOLED[:3] + ["1"], "--fixed_views must be at least 2"),
        (cifar, ["--method", "da", "--fixed_views", "0"], "at least 1"),
        (imagenet, ["--depth", "20"], "invalid choice"),
        (glue_settings, ["all", "--num_views", "1"], "--num_views must be at"),
        (glue_settings, ["all", "--tasks", "wnli"], "invalid choice"),
        (glue_settings, ["all", "--num_augmented", "3"], "at least --num"),
        (glue_settings, ["all", "--num_augmented", "0"], "at least 1"),
    ],
)
def test_wrong_arguments(script, words, message, capsys):
    with pytest.raises(SystemExit):
        script.parse_arguments(words)
    assert message in capsys.readouterr().err


class TestChoices:
    """What a run chooses where the paper is silent."""

    def test_groups_are_made_by_them(self, monkeypatch):
        groups = keras_mmel.data, "group_views"
        monkeypatch.setattr(*groups, lambda *_, **options: options)
        first, second = (
            images.training_data(settings, None, None, shuffle=False)
            for settings in (
                of_cifar("uniform"),
                of_cifar("uniform", *POOLED, "--augment_original"),
            )
        )
        assert (first["pool"], first["augment_original"]) == (None, False)
        assert (second["pool"], second["augment_original"]) == (4, True)
        assert first["shuffle"] is second["shuffle"] is False

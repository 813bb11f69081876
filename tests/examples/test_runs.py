"""Options, names and progress that the scripts share."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import experiments.rivals  # noqa: F401  (its methods)
from examples import cifar
from examples import glue_settings
from examples import imagenet
from examples import images
from examples import records
from examples import runs
from experiments import RESULTS

IMAGES = np.random.default_rng(0).integers(1, 256, (8, 32, 32, 3), "uint8")
LABELS = np.arange(8)
POOLED = ["--num_views", "3", "--fixed_views", "4"]


def of_cifar(method, *words):
    args = cifar.parse_arguments(["--method", method, *words])
    return cifar.run_settings(args, method, 0)


def of_imagenet(method, *words):
    args = imagenet.parse_arguments(["--method", method, *words])
    return imagenet.run_settings(args, 0)


def of_glue(method, *words):
    args = glue_settings.parse_arguments(["train", *words])
    labels = None if method == "baseline" else args.labels[0]
    return glue_settings.train_settings(args, "rte", method, labels, 0)


class TestProgress:
    def test_a_kill_while_saving_keeps_the_last_epoch(
        self, tmp_path, monkeypatch
    ):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
        progress = runs.Progress(tmp_path / "run.npz")
        x, y = np.ones((4, 2)), np.zeros((4, 1))
        fit = {"batch_size": 4, "verbose": 0, "callbacks": [progress]}
        model.fit(x, y, **fit)
        kept = [
            v.numpy() for v in (*model.variables, *model.optimizer.variables)
        ]

        def kill(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(np, "savez", kill)
            with pytest.raises(KeyboardInterrupt):
                model.fit(x, y, epochs=2, initial_epoch=1, **fit)

        other = runs.Progress(tmp_path / "run.npz")
        other.restore(model)
        assert other.epoch == 1
        assert len(other.curves["loss"]) == 1
        variables = (*model.variables, *model.optimizer.variables)
        for variable, value in zip(variables, kept, strict=True):
            np.testing.assert_array_equal(variable.numpy(), value)

        whole = progress.path.read_bytes()
        progress.path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match="Delete it.*run.npz"):
            other.restore(model)


def test_scores_are_printed_by_method(capsys):
    values = [("da", 0.5), ("da", 0.7), ("da", 0.9), ("mmel-h", 0.25)]
    runs.print_scores(
        {"method": method, "scores": {"accuracy": value, "loss": -value}}
        for method, value in values
    )
    first, second = capsys.readouterr().out.splitlines()
    spread = f"{np.std([0.5, 0.7, 0.9], ddof=1):.4f}"
    assert first.split()[:4] == ["da", "accuracy", "0.7000", "+-"]
    assert first.split()[4:6] == [spread, "loss"]
    assert second.split()[1:] == [
        *("accuracy", "0.2500", "loss", "-0.2500"),
        *("(1", "seeds)"),
    ]


@pytest.mark.parametrize("of_script", [of_cifar, of_imagenet, of_glue])
class TestLambdaP:
    def test_infinity_is_a_word(self, of_script):
        assert of_script("mmel-h", "--lambda_p", "inf")["lambda_p"] == "inf"
        assert of_script("mmel-h", "--lambda_p", "0")["lambda_p"] == 0.0

    @pytest.mark.parametrize("text", ["-1", "nan"])
    def test_out_of_range(self, of_script, text, capsys):
        with pytest.raises(SystemExit):
            of_script("mmel-h", f"--lambda_p={text}")
        assert "must be from 0 to inf" in capsys.readouterr().err


class TestNames:
    """Of runs from before there were choices."""

    @pytest.mark.parametrize(
        ("method", "digest"),
        [
            ("da", "fbd67b13"),
            ("da-long", "4978b2bf"),
            ("uniform", "47d5d630"),
            ("mmel-h", "ca3142cf"),
            ("mmel-s", "26a97e49"),
            ("maxup", "35b561e5"),
        ],
    )
    def test_cifar(self, method, digest):
        name = f"cifar10-resnet20-{method}-seed0-{digest}"
        assert cifar.run_name(of_cifar(method)) == name

    @pytest.mark.parametrize(
        ("method", "digest"),
        [("da", "c7b49332"), ("mmel-h", "5c226a08"), ("mmel-s", "ea716a84")],
    )
    def test_imagenet(self, method, digest):
        name = imagenet.run_name(of_imagenet(method))
        assert name == f"resnet18-{method}-seed0-{digest}"

    @pytest.mark.parametrize(
        ("method", "name"),
        [
            ("baseline", "baseline-seed0-6fda80e5"),
            ("da-long", "da-long-teacher-seed0-75aa9e46"),
            ("mmel-s", "mmel-s-teacher-seed0-7e996e01"),
        ],
    )
    def test_glue(self, method, name):
        found = glue_settings.run_name(of_glue(method))
        assert found == f"rte-bert-base-uncased-{name}"

    @pytest.mark.parametrize(
        ("script", "module"), [("cifar", cifar), ("glue", glue_settings)]
    )
    def test_committed_records_have_the_names_of_their_settings(
        self, script, module
    ):
        folder = records.ROOT / RESULTS / "small" / script
        paths = list(folder.glob("*-seed*"))
        assert paths
        for path in paths:
            settings = json.loads(path.read_text())["settings"]
            assert module.run_name(settings) == path.stem


class TestChosen:
    """What a run chooses where the paper is silent."""

    @pytest.mark.parametrize("of", [of_cifar, of_imagenet])
    def test_images(self, of):
        words = [*POOLED, "--augment_original", "--soft_gradient"]
        chosen = {"augment_original": True, "fixed_views": 4}
        assert of("uniform", *words).items() >= chosen.items()
        soft = of("mmel-s", *words)
        assert soft.items() >= (chosen | {"soft_gradient": True}).items()
        # What does not concern a run is not among its settings.
        assert "soft_gradient" not in of("mmel-h", "--soft_gradient")
        assert of("da", "--augment_original") == of("da")

    def test_glue(self):
        assert of_glue("mmel-s", "--soft_gradient")["soft_gradient"] is True
        assert of_glue("mmel-h", "--soft_gradient") == of_glue("mmel-h")
        more = of_glue("mmel-h", "--num_augmented", "9")
        assert more["num_views"] == 5
        assert more["data"]["num_augmented"] == 9
        four = of_glue("mmel-h", "--num_augmented", "4")
        assert four == of_glue("mmel-h")

    @pytest.mark.parametrize(
        ("script", "words", "message"),
        [
            (cifar, POOLED[:3] + ["1"], "--fixed_views must be at least 2"),
            (imagenet, POOLED[:3] + ["1"], "--fixed_views must be at least 2"),
            (cifar, ["--method", "da", "--fixed_views", "0"], "at least 1"),
            (glue_settings, ["all", "--num_augmented", "3"], "at least --num"),
            (glue_settings, ["all", "--num_augmented", "0"], "at least 1"),
        ],
    )
    def test_too_few(self, script, words, message, capsys):
        with pytest.raises(SystemExit):
            script.parse_arguments(words)
        assert message in capsys.readouterr().err


class TestWhatTheyDo:
    def groups(self, *words, method="uniform", epochs=1):
        settings = of_cifar(method, "--batch_size", "8", *words)
        data = cifar.training_data(settings, (IMAGES, LABELS))
        found = []
        for _ in range(epochs):
            ((x, y),) = data
            views = x["views"] if settings["num_views"] > 1 else x[:, None]
            found.append(views.numpy()[np.argsort(y)])
        return np.stack(found)

    def test_view_0(self):
        words = ["--num_views", "3"]
        plain = self.groups(*words)[0]
        np.testing.assert_array_equal(plain[:, 0], IMAGES)
        augmented = self.groups(*words, "--augment_original")[0]
        assert (augmented[:, 0] != IMAGES).any()
        np.testing.assert_array_equal(augmented[:, 1:], plain[:, 1:])

    @pytest.mark.parametrize("method", ["uniform", "da"])
    def test_fixed_views(self, method):
        def different(*words):
            words = ("--num_views", "3", *words)
            found = self.groups(*words, epochs=5, method=method)
            if method == "uniform":
                found = found[:, :, 1:]
            return max(
                len({view.tobytes() for view in found[:, i].reshape(-1, 3072)})
                for i in range(len(IMAGES))
            )

        drawn = 5 * (2 if method == "uniform" else 1)
        assert different() > drawn - 3
        assert 2 <= different("--fixed_views", "3") <= 3

    def test_imagenet_takes_the_same_choices(self):
        settings = of_imagenet("uniform", *POOLED, "--batch_size", "8")
        examples = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS))
        data = imagenet.training_data(settings, examples)
        assert data.element_spec[0]["views"].shape == (8, 3, 32, 32, 3)

    @pytest.mark.parametrize("flows", [False, True])
    def test_soft_gradient(self, flows):
        words = ["--soft_gradient"] if flows else []
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
        settings = of_cifar("mmel-s", *words)
        wrapped = images.METHODS["mmel-s"](model, settings)
        assert wrapped.objective.stop_gradient is not flows

"""Choices where the paper is silent, and names that do not change."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from examples import cifar
from examples import cifar_model
from examples import cifar_settings
from examples import glue
from examples import glue_settings
from examples import glue_work
from examples import image_groups
from examples import imagenet
from examples import options
from examples import records

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
    return glue_work.one_run(
        glue.parse_arguments(["train", "--method", method, *words])
    )


IMAGE_SCRIPTS = [of_cifar, of_imagenet]


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
        "settings, name, digest",
        [
            (of_cifar("da"), "cifar10-resnet20-da", "fbd67b13"),
            (of_cifar("da-long"), "cifar10-resnet20-da-long", "4978b2bf"),
            (of_cifar("uniform"), "cifar10-resnet20-uniform", "47d5d630"),
            (of_cifar("mmel-h"), "cifar10-resnet20-mmel-h", "ca3142cf"),
            (of_cifar("mmel-s"), "cifar10-resnet20-mmel-s", "26a97e49"),
            (of_cifar("maxup"), "cifar10-resnet20-maxup", "35b561e5"),
        ],
    )
    def test_cifar(self, settings, name, digest):
        assert cifar.run_name(settings) == f"{name}-seed0-{digest}"

    @pytest.mark.parametrize(
        "method, digest",
        [("da", "c7b49332"), ("mmel-h", "5c226a08"), ("mmel-s", "ea716a84")],
    )
    def test_imagenet(self, method, digest):
        name = imagenet.run_name(of_imagenet(method))
        assert name == f"resnet18-{method}-seed0-{digest}"

    @pytest.mark.parametrize(
        "method, name",
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
        "script, module", [("cifar", cifar_settings), ("glue", glue_settings)]
    )
    def test_committed_records_have_the_names_of_their_settings(
        self, script, module
    ):
        paths = list(
            (records.ROOT / "experiments/results/small" / script).glob(
                "*-seed*"
            )
        )
        assert paths
        for path in paths:
            settings = json.loads(path.read_text())["settings"]
            assert module.run_name(settings) == path.stem


class TestChosen:
    @pytest.mark.parametrize("of", IMAGE_SCRIPTS)
    def test_what_concerns_a_run_is_among_its_settings(self, of):
        words = [*POOLED, "--augment_original", "--soft_gradient"]
        chosen = {"augment_original": True, "fixed_views": 4}
        assert of("uniform", *words).items() >= chosen.items()
        soft = of("mmel-s", *words)
        assert soft.items() >= (chosen | {"soft_gradient": True}).items()
        assert options.described(soft) == (
            "mmel-s, augment_original, fixed_views 4, soft_gradient"
        )

    @pytest.mark.parametrize("of", IMAGE_SCRIPTS)
    def test_what_does_not_is_not(self, of):
        assert "soft_gradient" not in of("mmel-h", "--soft_gradient")
        # It is augmented anyhow.
        assert of("da", "--augment_original") == of("da")
        assert options.described(of("da")) == "da"

    def test_glue(self):
        found = of_glue("mmel-s", "--soft_gradient")
        assert found["soft_gradient"] is True
        assert of_glue("mmel-h", "--soft_gradient") == of_glue("mmel-h")

    def test_samples_of_a_text_in_all(self):
        more = of_glue("mmel-h", "--num_augmented", "9")
        assert more["num_views"] == 5
        assert more["data"]["num_augmented"] == 9
        four = of_glue("mmel-h", "--num_augmented", "4")
        assert four == of_glue("mmel-h")

    @pytest.mark.parametrize(
        "parse, words, message",
        [
            (cifar, POOLED[:3] + ["1"], "--fixed_views must be at least 2"),
            (imagenet, POOLED[:3] + ["1"], "--fixed_views must be at least 2"),
            (cifar, ["--method", "da", "--fixed_views", "0"], "at least 1"),
            (glue, ["all", "--num_augmented", "3"], "at least --num_views"),
            (glue, ["all", "--num_augmented", "0"], "must be at least 1"),
        ],
    )
    def test_too_few(self, parse, words, message, capsys):
        with pytest.raises(SystemExit):
            parse.parse_arguments(words)
        assert message in capsys.readouterr().err


class TestWhatTheyDo:
    def groups(self, *words, method="uniform", epochs=1):
        settings = of_cifar(method, "--batch_size", "8", *words)
        data = cifar.training_data(settings, (IMAGES, LABELS), 0)
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
            found = self.groups("--num_views", "3", *words, epochs=6, **of)
            if method == "uniform":
                found = found[:, :, 1:]
            return max(
                len({view.tobytes() for view in found[:, i].reshape(-1, 3072)})
                for i in range(len(IMAGES))
            )

        of = {"method": method}
        drawn = 6 * (2 if method == "uniform" else 1)
        assert different() > drawn - 3
        assert 2 <= different("--fixed_views", "3") <= 3

    def test_imagenet_takes_the_same_choices(self):
        settings = of_imagenet("uniform", *POOLED, "--batch_size", "8")
        data = imagenet.training_data(
            settings, tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)), 0
        )
        assert data.element_spec[0]["views"].shape == (8, 3, 32, 32, 3)

    @pytest.mark.parametrize("flows", [False, True])
    def test_soft_gradient(self, flows):
        words = ["--soft_gradient"] if flows else []
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
        wrapped = cifar_model.wrap(model, of_cifar("mmel-s", *words))
        assert wrapped.objective.stop_gradient is not flows

    def test_other_options_of_groups_are_passed_on(self):
        data = image_groups.training_data(
            of_cifar("uniform", "--batch_size", "4"),
            tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)),
            lambda x, seeds: tf.repeat(x[:, None], seeds.shape[1], axis=1),
            0,
            shuffle=False,
        )
        for number, (_, y) in enumerate(data):
            np.testing.assert_array_equal(y, LABELS[4 * number :][:4])

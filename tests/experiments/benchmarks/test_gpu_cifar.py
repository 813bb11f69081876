import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

from examples import cifar as recipe
from experiments import records
from experiments.benchmarks import packed_images
from tests import cases
from tests.experiments.training import toy_images
from tests.scripts.child import run

needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="jax is not installed"
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("jax") / "trained.npz"
    run("train_in_one_program", path, KERAS_BACKEND="jax")
    with np.load(path) as found:
        return dict(found)


@needs_jax
@pytest.mark.slow
class TestOneProgram:
    @pytest.mark.parametrize("views", [1, 3])
    def test_equals_step_by_step(self, trained, views):
        found = cases.of_case(trained, f"{views}")
        expected = cases.of_case(found, "steps")
        assert len(expected) > 6
        found = cases.of_case(found, "one")
        for name, value in expected.items():
            assert_allclose(found[name], value, rtol=2e-4, atol=1e-5)

    def test_logs_are_those_of_the_wrapper(self, trained):
        logs = {"loss", "original_loss", "effective_views", "accuracy"}
        assert set(trained["3:logs"]) == logs

    def test_crop_and_flip_equals_a_loop(self, trained):
        corners, flips = trained["crops:corners"], trained["crops:flips"]
        assert set(corners.ravel()) == set(range(5))
        assert 10 < flips.sum() < 40
        for image, crop, (top, left), flip in zip(
            trained["crops:images"],
            trained["crops:cropped"],
            corners,
            flips,
            strict=True,
        ):
            padded = np.zeros((10, 9, 3), int)
            padded[2:8, 2:7] = image
            expected = padded[top : top + 6, left : left + 5]
            assert_array_equal(crop, expected[:, ::-1] if flip else expected)


def test_packed_images(tmp_path):
    def made(number):
        random = np.random.default_rng(number)
        images = random.integers(0, 256, (number, 4, 5, 3), "uint8")
        return images, np.arange(number) % 10

    train_set, test_set = made(170), made(30)
    paths = packed_images.pack(train_set, test_set, tmp_path, part=90)
    assert [path.name for path in paths] == ["0.npz", "1.npz"]
    found, tests = packed_images.load(tmp_path)
    assert_array_equal(tests[0], test_set[0])
    assert_array_equal(np.sort(found[1]), np.sort(train_set[1]))
    # The first file alone has the same few, in the same order.
    whole = recipe.balanced_subset(*train_set, 20)
    paths[1].unlink()
    found, _ = packed_images.load(tmp_path)
    assert len(found[0]) == 90
    for part, expected in zip(
        recipe.balanced_subset(*found, 20), whole, strict=True
    ):
        assert_array_equal(part, expected)
    with pytest.raises(FileNotFoundError, match="Received"):
        packed_images.load(tmp_path / "empty")


@needs_jax
@pytest.mark.slow
def test_a_run_leaves_a_record(tmp_path):
    packed_images.pack(*toy_images.load("cifar10"), tmp_path / "packed")
    words = ["--depth", "8", "--epochs", "3", "--batch_size", "10"]
    words += ["--num_views", "2", "--limit", "20", "--out", tmp_path / "out"]
    subprocess.run(
        [sys.executable, "-m", "experiments.benchmarks.gpu_cifar"]
        + [tmp_path / "packed", *words],
        env=os.environ | {"KERAS_BACKEND": "jax"},
        check=True,
    )
    (record,) = records.read_records(tmp_path / "out")
    assert len(record["curves"]["loss"]) == 3
    assert record["environment"]["backend"] == "jax"
    assert 0 <= record["scores"]["accuracy"] <= 1

import importlib.util
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

from examples import cifar
from experiments.benchmarks import packed_images
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
class TestOneProgram:
    @pytest.mark.parametrize("views", [1, 3])
    def test_equals_step_by_step(self, trained, views):
        assert trained["backend"] == "jax"
        expected = {
            name.rpartition(":")[2]: value
            for name, value in trained.items()
            if name.startswith(f"{views}:steps:")
        }
        assert len(expected) > 6
        for name, value in expected.items():
            assert_allclose(
                trained[f"{views}:one:{name}"], value, rtol=2e-4, atol=1e-5
            )

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


class TestPackedImages:
    @pytest.fixture
    def sets(self):
        random = np.random.default_rng(0)

        def made(number):
            images = random.integers(0, 256, (number, 4, 5, 3), "uint8")
            return images, np.arange(number) % 10

        return made(1700), made(30)

    def test_exact(self, sets, tmp_path):
        packed_images.pack(*sets, tmp_path, first=1650)
        found = packed_images.load(tmp_path)
        for (images, labels), expected in zip(found, sets, strict=True):
            order = np.lexsort(images.reshape(len(images), -1).T)
            other = np.lexsort(expected[0].reshape(len(images), -1).T)
            assert_array_equal(images[order], expected[0][other])
            assert_array_equal(labels[order], expected[1][other])

    def test_the_first_file_has_the_same_subset(self, sets, tmp_path):
        whole = cifar.balanced_subset(*sets[0], 100)
        packed_images.pack(*sets, tmp_path, first=1000)[1].unlink()
        train_set, _ = packed_images.load(tmp_path)
        assert len(train_set[0]) == 1000
        for part, expected in zip(
            cifar.balanced_subset(*train_set, 100), whole, strict=True
        ):
            assert_array_equal(part, expected)

    def test_an_empty_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="Received"):
            packed_images.load(tmp_path)


@needs_jax
@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path):
    found = []
    for how in ("whole", "interrupted"):
        output = run("run_gpu_cifar", tmp_path / how, how, KERAS_BACKEND="jax")
        found.append(json.loads(output.splitlines()[-1]))
    assert found[0]["curves"] == found[1]["curves"]
    assert len(found[0]["curves"]["loss"]) == 3
    for name in ("accuracy", "nll", "ece"):
        assert found[0]["scores"][name] == found[1]["scores"][name]

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
@pytest.mark.slow
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
    def made(self, number):
        random = np.random.default_rng(number)
        images = random.integers(0, 256, (number, 4, 5, 3), "uint8")
        return images, np.arange(number) % 10

    def test_round_trip_and_the_subset_of_the_first_file(self, tmp_path):
        sets = self.made(170), self.made(30)
        paths = packed_images.pack(*sets, tmp_path, part=90)
        assert [path.name for path in paths] == ["0.npz", "1.npz"]
        for (images, labels), expected in zip(
            packed_images.load(tmp_path), sets, strict=True
        ):
            order, other = (
                np.lexsort(one.reshape(len(one), -1).T)
                for one in (images, expected[0])
            )
            assert_array_equal(images[order], expected[0][other])
            assert_array_equal(labels[order], expected[1][other])
        whole = cifar.balanced_subset(*sets[0], 20)
        paths[1].unlink()
        train_set, _ = packed_images.load(tmp_path)
        assert len(train_set[0]) == 90
        first = cifar.balanced_subset(*train_set, 20)
        for part, expected in zip(first, whole, strict=True):
            assert_array_equal(part, expected)

    def test_an_empty_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="Received"):
            packed_images.load(tmp_path)


@needs_jax
@pytest.mark.slow
def test_a_run_leaves_a_record(tmp_path):
    output = run("run_gpu_cifar", tmp_path, KERAS_BACKEND="jax")
    record = json.loads(output.splitlines()[-1])
    assert len(record["curves"]["loss"]) == 3
    assert record["environment"]["backend"] == "jax"
    assert 0 <= record["scores"]["accuracy"] <= 1

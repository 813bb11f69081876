"""`experiments.gpu` on a processor, at toy size, without TensorFlow."""

import importlib.util
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

from experiments import records
from experiments.gpu import packed
from tests import cases
from tests.experiments.training import toy_images
from tests.scripts.child import run

needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="jax is not installed"
)
JAX = {
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
}


def text_batches(count=2):
    """What `read_augmented` gives: batches of other lengths."""
    random = np.random.default_rng(0)
    for length in (8, 12):
        shape = (count, packed.VIEWS, length)
        ids = random.integers(1000, 30_000, shape)
        x = {"token_ids": ids, "segment_ids": 0 * ids}
        x["padding_mask"] = (np.arange(length) < 7).astype("int32") + 0 * ids
        yield {"views": x}, np.arange(count) % 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where `pack` has been, without wheels and the tests' cases."""
    folder = tmp_path_factory.mktemp("gpu")
    base = folder / "pack" / "base"
    base.mkdir(parents=True)
    facts = {"commit": "abc", "dirty": False}
    (base / "pack.json").write_text(json.dumps(facts))
    packed.pack_images(toy_images.load("cifar10"), folder / "pack", "cifar10")
    packed.pack_groups(base / "rte.npz", text_batches())
    return folder


def test_images_come_back(tmp_path):
    random = np.random.default_rng(0)

    def made(count):
        images = random.integers(0, 256, (count, 32, 32, 3), "uint8")
        return images, np.arange(count) % 10

    sets = made(130), made(30)
    packed.pack_images(sets, tmp_path, "cifar100", part=110)
    assert packed.datasets(tmp_path) == ["cifar100"]
    found = packed.load_images(tmp_path, "cifar100")
    for part, expected in zip(found, sets, strict=True):
        for array, one in zip(part, expected, strict=True):
            assert_array_equal(array, one)
    (tmp_path / "cifar100-1" / "images.npz").unlink()
    with pytest.raises(FileNotFoundError, match="Received"):
        packed.load_images(tmp_path, "cifar100")
    (images, labels), _ = packed.load_images(tmp_path, "cifar100", whole=False)
    assert_array_equal(images, sets[0][0][:80])
    with pytest.raises(FileNotFoundError, match="Received"):
        packed.load_images(tmp_path / "empty", "cifar10")
    with pytest.raises(FileNotFoundError, match="Received"):
        packed.datasets(tmp_path / "empty")


def test_groups_of_text_come_back(folder):
    x, y = packed.load_groups(folder / "pack", "rte")
    assert x["mask"].all() and x["mask"].shape == (4, packed.VIEWS)
    assert y.tolist() == [0, 1, 0, 1]
    # As long as the longest text.
    start = 0
    for batch, _ in text_batches():
        for name, values in batch["views"].items():
            part = x["views"][name][start : start + len(values)]
            assert part.shape[2] == 7 and part.dtype == "int32"
            assert_array_equal(part, values[..., :7])
        start += len(values)


def test_what_is_too_much_to_carry_is_refused(tmp_path, capsys, monkeypatch):
    for name, size in (("base", 10), ("wheels", 5), ("cifar10-0", 20)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(bytes(size))
    packed.say_sizes(tmp_path)
    assert "cifar10-0" in capsys.readouterr().out
    monkeypatch.setattr(packed, "MOST_BYTES", 34)
    with pytest.raises(ValueError, match="cifar10-0 and base with 35"):
        packed.say_sizes(tmp_path)


@needs_jax
@pytest.mark.slow
def test_every_method_trains_and_goes_on_where_it_was_cut(folder):
    output = run("gpu_at_toy_size", folder, "images", **JAX)
    assert output.splitlines()[-1] == "tensorflow: False"
    record = records.read_record(folder / "out" / "images.json")
    assert record["made"][0]["environment"]["tensorflow"] is None
    by_method = {run["settings"]["method"]: run for run in record["runs"]}
    assert len(by_method) == len(record["runs"]) == 6
    for method, one in by_method.items():
        epochs = 6 if method == "da-long" else 2
        assert len(one["curves"]["loss"]) == epochs
        assert 0 <= one["scores"]["accuracy"] <= 1
    losses = {one["scores"]["nll"] for one in by_method.values()}
    assert len(losses) == 6
    (cut,) = records.read_record(folder / "cut" / "images.json")["runs"]
    for name in ("curves", "scores", "settings"):
        assert cut[name] == by_method["soft 4"][name]
    turned = records.read_record(folder / "turns" / "images.json")
    assert 1 <= turned["plan"]["epochs"] <= 200
    scores = turned["runs"][0]["scores"]
    assert scores["worst_accuracy"] <= scores["mean_accuracy"]
    assert not list(folder.glob("*/images.npz"))


@needs_jax
@pytest.mark.slow
def test_speed_is_measured(folder):
    run("gpu_at_toy_size", folder, "speed", **JAX)
    found = records.read_record(folder / "out" / "speed.json")["runs"]
    by_arm = {}
    for one in found:
        settings = one["settings"]
        arm = (settings["network"], settings["precision"], settings["way"])
        by_arm[arm] = one
        assert len(one["seconds"]) == 7 and min(one["seconds"]) > 0
    assert ("bert", "mixed_bfloat16", "hard") in by_arm
    assert ("resnet", "float32", "program") in by_arm
    parameters = {}
    for (network, _, _), one in by_arm.items():
        parameters.setdefault(network, set()).add(one["parameters"])
    # PyTorch's networks have as many where it is installed.
    assert {len(counts) for counts in parameters.values()} == {1}


@needs_jax
@pytest.mark.slow
def test_the_core_is_compared_with_tensorflow(folder):
    expected = folder / "pack" / "base" / "expected.npz"
    environ = {"KERAS_BACKEND": "tensorflow"}
    run("on_backend", expected, "hard", "ball", **environ)
    run("gpu_at_toy_size", folder, "core", **JAX)
    found = records.read_record(folder / "out" / "core.json")["runs"]
    found = {one["settings"]["question"]: one for one in found}
    deviations = found["cases"]["deviation_over_tolerance"]
    assert set(deviations) == {"hard", "ball"} and not found["cases"]["failed"]
    assert max(deviations.values()) <= 1
    assert found["formulas"]["relative_error"] < 1e-5
    assert found["tests"]["tests"] > 0 and found["tests"]["failed"] == []


# Many steps in one program


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("jax") / "trained.npz"
    run("train_in_one_program", path, KERAS_BACKEND="jax")
    with np.load(path) as found:
        return dict(found)


@needs_jax
@pytest.mark.slow
@pytest.mark.parametrize("views", [1, 3])
def test_one_program_equals_step_by_step(trained, views):
    found = cases.of_case(trained, f"{views}")
    expected = cases.of_case(found, "steps")
    assert len(expected) > 6
    found = cases.of_case(found, "one")
    for name, value in expected.items():
        assert_allclose(found[name], value, rtol=2e-4, atol=1e-5)


@needs_jax
@pytest.mark.slow
def test_logs_are_those_of_the_wrapper(trained):
    logs = {"loss", "original_loss", "effective_views", "accuracy"}
    assert set(trained["3:logs"]) == logs

import functools

import numpy as np
import pytest
import tensorflow as tf

from examples import imagenet as recipe
from experiments import records
from experiments.training import imagenet
from tests.experiments.training import toy_images

TOY = ["--epochs", "1", "--batch_size", "4", "--num_views", "2"]
TOY += ["--image_size", "32"]


def fake_load(args, split, limit=None):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (8, 32, 32, 3)).astype("uint8")
    labels = np.arange(8) % 3
    return tf.data.Dataset.from_tensor_slices((images, labels)), 8, 3


@pytest.mark.slow
@pytest.mark.parametrize("method", ["da", "mmel-h"])
def test_a_run_leaves_a_record_and_is_not_repeated(
    method, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(recipe, "load", fake_load)
    small = functools.partial(toy_images.network, 18)
    monkeypatch.setitem(recipe.NETWORKS, 18, small)
    words = [*TOY, "--method", method, "--out", str(tmp_path / "out")]
    words += ["--work_dir", str(tmp_path / "work")]
    imagenet.main(words)
    (record,) = records.read_records(tmp_path / "out")
    assert imagenet.record_path([*words, "--seeds", "0"]).exists()
    assert record["method"] == method
    assert np.isfinite(record["scores"]["nll"])
    assert record["settings"]["num_views"] == (1 if method == "da" else 2)
    monkeypatch.setattr(recipe, "load", None)
    imagenet.main(words)
    assert "finished before" in capsys.readouterr().out

import numpy as np
import pytest

from experiments import RESULTS
from experiments import digits
from experiments import digits_views
from experiments import records
from tests.experiments.training.toy_images import digits_network


def settings(method, shift=2):
    words = ["--methods", method, "--shifts", str(shift), "--epochs", "1"]
    (found,) = digits.configurations(digits.parse_arguments(words))
    return found


def one_batch(method, seed=5):
    found = settings(method) | {"batch_size": 200, "passes": 1}
    return digits_views.training_data(found, seed=seed)


class TestViews:
    def test_training_digits_are_balanced_and_not_tested_on(self):
        (images, labels), (others, _) = digits_views.load()
        assert np.bincount(labels).tolist() == [20] * 10
        assert (images.shape, len(others)) == ((200, 8, 8, 1), 1597)
        seen = {image.tobytes() for image in images}
        assert not seen & {image.tobytes() for image in others}

    @pytest.mark.parametrize(("down", "right"), [(2, 0), (-3, 1), (0, -2)])
    def test_what_a_shift_leaves(self, down, right):
        images = digits_views.load()[0][0][:5]
        kept = digits_views.cut_back(images, down, right)
        rows, columns = np.indices((8, 8))
        inside = (0 <= rows + down) & (rows + down < 8)
        inside &= (0 <= columns + right) & (columns + right < 8)
        expected = np.where(inside[..., None], images, 0)
        np.testing.assert_array_equal(kept, expected)

    def test_what_is_lost(self):
        cut, lost = digits_views.what_is_lost(2)
        assert cut.shape == lost.shape == (200, 5, 5)
        # The judge has learned the digits as they are.
        assert not cut[:, 2, 2].any() and not lost[:, 2, 2].any()
        assert (np.diff(cut[:, 2, 2:], axis=1) >= 0).all()
        # More is lost by larger shifts, and where more ink is cut away.
        assert lost[:, 0, 0].mean() > lost[:, 1, 2].mean()
        assert cut[lost].mean() > cut[~lost].mean()

    def test_the_groups_that_are_looked_at_are_those_of_training(self):
        data = one_batch("uniform")
        (images, _), _ = digits_views.load()
        for epoch in range(2):
            ((x, _),) = data
            views, down, right = digits_views.groups_of(2, 6, 5, epoch)
            # In another order.
            trained = {v.tobytes() for v in x["views"].numpy()}
            assert trained == {v.tobytes() for v in views}
            assert np.abs(down).max() == np.abs(right).max() == 2
            for of in ((0, 1), (7, 3), (100, 5)):
                back = np.roll(views[of], (-down[of], -right[of]), (0, 1))
                image = images[of[0]][None]
                kept = digits_views.cut_back(image, down[of], right[of])
                np.testing.assert_array_equal(back, kept[0])


class TestMethods:
    def test_plain_is_the_originals_alone(self):
        assert settings("plain", 1) == settings("plain", 3)
        (images, labels), _ = digits_views.load()
        ((x, y),) = one_batch("plain")
        known = {i.tobytes(): n for i, n in zip(images, labels, strict=True)}
        assert [known[image.tobytes()] for image in x.numpy()] == list(y)

    def test_whole_and_fewer_mask_views(self):
        views, down, right = digits_views.groups_of(2, 6, 0, 0)
        masks = {
            name: digits_views.mask_of(name)({"views": views}, None)[0]["mask"]
            for name in ("hard-whole", "hard-fewer")
        }
        whole, fewer = (mask.numpy() for mask in masks.values())
        cut, _ = digits_views.what_is_lost(2)
        rows = np.arange(200)[:, None]
        expected = cut[rows, down + 2, right + 2] <= 0.2 + 1e-6
        np.testing.assert_array_equal(whole, expected)
        assert 0.4 < expected.mean() < 0.95 and expected[:, 0].all()
        # As many, whatever they lost.
        np.testing.assert_array_equal(whole.sum(axis=1), fewer.sum(axis=1))
        assert fewer[:, 0].all()
        left_out = ~whole[:, 1:]
        assert left_out[fewer[:, 1:]].mean() > 0.5 * left_out.mean()
        ((x, _),) = one_batch("uniform-fewer")
        assert not x["mask"].numpy().all()


def test_committed_records_have_the_names_of_their_settings():
    found = digits.configurations(digits.parse_arguments([]))
    paths = (records.ROOT / RESULTS / "digits").iterdir()
    expected = {path.stem for path in paths}
    assert {digits.record_name(settings) for settings in found} == expected


@pytest.mark.slow
def test_a_record_for_each_which_is_not_made_again(tmp_path, monkeypatch):
    words = ["--shifts", "3", "--seeds", "1", "--epochs", "1"]
    words += ["--methods", "uniform", "hard-whole", "--out", str(tmp_path)]
    monkeypatch.setattr(digits, "PASSES", 1)
    monkeypatch.setattr(digits.quickstart, "make_network", digits_network)
    threading = digits.tf.config.threading
    for name in ("intra", "inter"):
        function = f"set_{name}_op_parallelism_threads"
        monkeypatch.setattr(threading, function, lambda count: None)
    digits.main(words)
    monkeypatch.setattr(digits, "train", None)
    digits.main(words)
    found = {r["method"]: r for r in records.read_records(tmp_path)}
    assert list(found) == ["hard-whole", "uniform"]
    for record in found.values():
        assert [run["seed"] for run in record["runs"]] == [0]
        command = record["command"]
        assert command.startswith("python -m experiments.digits --shifts 3")
    for run in found["uniform"]["runs"]:
        scores = run["scores"]
        assert 0 < scores["accuracy"] < 1
        # Equal weights weigh what there is.
        for name in ("lost", "cut"):
            share = pytest.approx(scores[f"{name}_views"], abs=1e-4)
            assert scores[f"{name}_weight"] == share
            assert 0.05 < scores[f"{name}_views"] < 0.9
        assert scores["effective_views"] == pytest.approx(6, abs=1e-4)
    for run in found["hard-whole"]["runs"]:
        assert run["scores"]["cut_views"] == run["scores"]["cut_weight"] == 0
        assert 1 < run["scores"]["effective_views"] < 5

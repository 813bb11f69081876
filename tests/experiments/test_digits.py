import numpy as np
import pytest

from examples import records
from experiments import RESULTS
from experiments import digits
from experiments import digits_views


def settings(method, shift=2):
    words = ["--methods", method, "--shifts", str(shift), "--epochs", "1"]
    (found,) = digits.configurations(digits.parse_arguments(words))
    return found


class TestData:
    def test_training_digits_are_balanced_and_not_tested_on(self):
        (images, labels), (others, other_labels) = digits_views.load()
        assert images.shape == (200, 8, 8, 1)
        assert np.bincount(labels).tolist() == [20] * 10
        assert len(others) == len(other_labels) == 1597
        seen = {image.tobytes() for image in images}
        assert not seen & {image.tobytes() for image in others}

    @pytest.mark.parametrize("down, right", [(2, 0), (-3, 1), (0, -2)])
    def test_what_a_shift_leaves(self, down, right):
        images = digits_views.load()[0][0][:5]
        kept = digits_views.cut_back(images, down, right)
        for image, found in zip(images[..., 0], kept[..., 0], strict=True):
            for row in range(8):
                for column in range(8):
                    inside = 0 <= row + down < 8 and 0 <= column + right < 8
                    expected = image[row, column] if inside else 0
                    assert found[row, column] == expected

    def test_what_is_lost(self):
        cut, lost = digits_views.what_is_lost(2)
        assert cut.shape == lost.shape == (200, 5, 5)
        assert not cut[:, 2, 2].any()
        # The judge has learned the digits as they are.
        assert not lost[:, 2, 2].any()
        assert (np.diff(cut[:, 2, 2:], axis=1) >= 0).all()
        # More is lost by larger shifts, and where more ink is cut away.
        assert lost[:, 0, 0].mean() > lost[:, 1, 2].mean()
        assert cut[lost].mean() > cut[~lost].mean()

    def test_the_groups_are_those_of_training(self):
        found = settings("uniform") | {"batch_size": 200, "passes": 1}
        data = digits_views.training_data(found, seed=5)
        (images, labels), _ = digits_views.load()
        for epoch in range(2):
            ((x, y),) = data
            views, down, right = digits_views.groups_of(2, 6, 5, epoch)
            # In another order.
            trained = {v.tobytes() for v in x["views"].numpy()}
            assert trained == {v.tobytes() for v in views}
            assert np.abs(down).max() == np.abs(right).max() == 2
            for of in ((0, 1), (7, 3), (100, 5)):
                back = np.roll(views[of], (-down[of], -right[of]), (0, 1))
                kept = digits_views.cut_back(
                    images[of[0]][None], down[of], right[of]
                )
                np.testing.assert_array_equal(back, kept[0])


def test_neighbours_are_a_pixel_away():
    image = np.zeros((1, 8, 8, 1), "uint8")
    image[0, 0, 3, 0] = 7
    moved = digits_views.neighbours(image)
    assert moved.shape == (8, 8, 8, 1)
    found = {tuple(np.argwhere(one)[0][:2]) for one in moved if one.any()}
    # Up, the pixel leaves the picture: three of the eight are empty.
    assert found == {(0, 2), (0, 4), (1, 2), (1, 3), (1, 4)}
    assert moved.sum() == 5 * 7


class TestPlain:
    def test_originals_alone(self):
        assert settings("plain", 1) == settings("plain", 3)
        (images, labels), _ = digits_views.load()
        x, y = next(iter(digits_views.training_data(settings("plain"), seed=0)))
        assert x.shape == (20, 8, 8, 1)
        known = {
            image.tobytes(): label
            for image, label in zip(images, labels, strict=True)
        }
        for image, label in zip(x.numpy(), y.numpy(), strict=True):
            assert known[image.tobytes()] == label


class TestWhole:
    def test_views_that_lost_ink_are_masked(self):
        views, down, right = digits_views.groups_of(2, 6, 0, 0)
        x, _ = digits_views.only_whole({"views": views}, None)
        (images, _), _ = digits_views.load()
        cut, _ = digits_views.what_is_lost(2)
        rows = np.arange(200)[:, None]
        expected = cut[rows, down + 2, right + 2] <= 0.2 + 1e-6
        np.testing.assert_array_equal(x["mask"], expected)
        assert 0.4 < expected.mean() < 0.95
        assert expected[:, 0].all()


class TestFewer:
    def test_as_many_are_masked_whatever_they_lost(self):
        views, down, right = digits_views.groups_of(2, 6, 0, 0)
        whole = digits_views.only_whole({"views": views}, None)[0]["mask"]
        fewer = digits_views.as_few({"views": views}, None)[0]["mask"]
        whole, fewer = whole.numpy(), fewer.numpy()
        np.testing.assert_array_equal(whole.sum(axis=1), fewer.sum(axis=1))
        assert fewer[:, 0].all()
        # Of those that are left as many are cut as of all.
        cut = ~whole[:, 1:]
        assert cut[fewer[:, 1:]].mean() > 0.5 * cut.mean()

    @pytest.mark.parametrize(
        "method, mask",
        [
            ("hard-whole", digits_views.only_whole),
            ("uniform-fewer", digits_views.as_few),
        ],
    )
    def test_training_data_are_masked(self, method, mask):
        found = settings(method) | {"batch_size": 200, "passes": 1}
        ((x, _),) = digits_views.training_data(found, seed=5)
        expected, _ = mask({"views": x["views"]}, None)
        np.testing.assert_array_equal(x["mask"], expected["mask"])
        assert not x["mask"].numpy().all()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    words = ["--shifts", "3", "--seeds", "2", "--epochs", "1"]
    words += ["--methods", "uniform", "hard-whole"]
    words += ["--out", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digits, "PASSES", 1)
        threading = digits.tf.config.threading
        for name in ("intra", "inter"):
            function = f"set_{name}_op_parallelism_threads"
            patch.setattr(threading, function, lambda count: None)
        digits.main(words)
        patch.setattr(digits, "train", None)
        digits.main(words)
    found = {r["method"]: r for r in records.read_records(folder)}
    return found


def test_committed_records_have_the_names_of_their_settings():
    found = digits.configurations(digits.parse_arguments([]))
    paths = (records.ROOT / RESULTS / "digits").iterdir()
    expected = {path.stem for path in paths}
    assert {digits.record_name(settings) for settings in found} == expected


class TestRecords:
    def test_a_record_for_each_which_is_not_made_again(self, made):
        assert list(made) == ["hard-whole", "uniform"]
        for record in made.values():
            assert [run["seed"] for run in record["runs"]] == [0, 1]
            for run in record["runs"]:
                assert 0 < run["scores"]["accuracy"] < 1
            command = record["command"]
            assert command.startswith("python -m experiments.digits --shifts 3")

    def test_equal_weights_weigh_what_there_is(self, made):
        for run in made["uniform"]["runs"]:
            scores = run["scores"]
            for name in ("lost", "cut"):
                share, weight = (
                    scores[f"{name}_{what}"] for what in ("views", "weight")
                )
                assert weight == pytest.approx(share, abs=1e-4)
                assert 0.05 < share < 0.9
            assert scores["effective_views"] == pytest.approx(6, abs=1e-4)

    def test_without_cut_views(self, made):
        for run in made["hard-whole"]["runs"]:
            assert run["scores"]["cut_views"] == 0
            assert run["scores"]["cut_weight"] == 0
            assert 1 < run["scores"]["effective_views"] < 5

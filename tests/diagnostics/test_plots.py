"""Pictures: what is drawn, not how it looks."""

import types

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import plot_groups
from keras_mmel.diagnostics import plot_run
from keras_mmel.diagnostics import plot_view_weights
from keras_mmel.pages import pictures
from tests.diagnostics import watched

RANDOM = np.random.default_rng(0)
MASK = np.ones((8, 4), bool)
MASK[0, 3] = False


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def a_run(records=2, **settings):
    losses = RANDOM.gamma(2.0, size=MASK.shape)
    return watched.run_of(losses, (0, 3), records, **settings)


def lines(axes):
    """Label -> (x, y) of the curves that have one."""
    return {
        line.get_label(): line.get_xydata().T
        for line in axes.lines
        if not line.get_label().startswith("_")
    }


def labels_of(texts):
    return [text.get_text() for text in texts]


def test_a_run():
    run = a_run()
    figure = plot_run(run)
    losses, effective, by_view, spread = map(lines, figure.axes)
    assert_allclose(losses["objective R"], [[10, 20], [1, 0]])
    assert figure.axes[0].get_yscale() == "linear"
    assert set(losses) == {"objective R", "validation"}
    assert_allclose(effective["training (log)"][1], 3)
    (probe,) = [v for k, v in effective.items() if "probe" in k]
    assert_allclose(probe[1], [s["effective_views"] for s in run.summaries])
    for view, name in enumerate(run.view_names):
        expected = [s["relative_weight"][view] for s in run.summaries]
        assert_allclose(by_view[name][1], expected)
    assert_allclose(spread["lambda_p"][1], [1, 2])
    (found,) = [v for k, v in spread.items() if k != "lambda_p"]
    assert_allclose(found[1], [s["spread"] for s in run.summaries])


def test_curves_of_a_fit_or_of_a_file(tmp_path):
    curves = {"loss": [2.0, 1.0], "val_loss": [3.0, 2.0], "late": [1.0]}
    for given in (curves, types.SimpleNamespace(history=curves)):
        # No panel without data.
        (losses,) = plot_run(given).axes
        assert_allclose(lines(losses)["objective R"], [[1, 2], [2, 1]])
        assert_allclose(lines(losses)["validation"], [[1, 2], [3, 2]])
        assert losses.get_yscale() == "log"
        assert losses.get_xlabel() == "epoch"
    a_run().save(tmp_path / "run.npz")
    losses = plot_run(tmp_path / "run.npz").axes[0]
    assert_allclose(lines(losses)["objective R"][1], [1, 0])


@pytest.mark.parametrize("given", [5, None, [1.0, 2.0]])
def test_what_is_no_run_is_refused(given):
    with pytest.raises(TypeError, match="`run` must be.*Received: a "):
        plot_run(given)


def test_nan_is_not_drawn():
    run = watched.run_of([[0, 1], [np.inf, 1]])
    _, by_group = plot_view_weights(run.weights[0]).axes
    assert sum(patch.get_height() for patch in by_group.patches) == 1
    assert len(plot_run(watched.run_of([[np.inf, 1]])).axes) == 4


def test_distributions_of_weights():
    run = a_run(1)
    by_view, by_group = plot_view_weights(run).axes
    labels = labels_of(by_view.get_xticklabels())
    assert labels == ["original", "view 1", "view 2", "view 3"]
    counts = [patch.get_height() for patch in by_group.patches]
    assert sum(counts) == 8
    dots = [line for line in by_view.lines if line.get_marker() == "o"]
    relative = run.weights[0] * MASK.sum(axis=1, keepdims=True)
    for view, dot in enumerate(dots):
        expected = np.median(relative[MASK[:, view], view])
        assert_allclose(dot.get_ydata(), [expected], rtol=1e-6)


def test_weights_alone_are_enough_and_soft_ones_leave_the_original_out():
    weights = np.array([[0, 0.25, 0.75], [0, 0.5, 0.5]])
    figure = plot_view_weights(weights, view_names=["x", "crop", "flip"])
    assert labels_of(figure.axes[0].get_xticklabels()) == ["crop", "flip"]


def test_groups_of_images_show_the_most_uneven_first():
    run = a_run(1, classes=[3] * 8)
    images = RANDOM.integers(0, 200, (8, 4, 5, 5, 3), "uint8")
    weights = run.weights[0]
    (axes,) = plot_groups(images, weights, MASK, rows=2).axes
    relative = weights * MASK.sum(axis=1, keepdims=True)
    chosen = np.argsort(-relative.max(axis=1))[:2]
    (shown,) = axes.images
    padded = np.where(MASK[..., None, None, None], images, 255)[chosen]
    expected = pictures.grid(padded, weights[chosen])
    real = MASK[chosen]
    assert_allclose(shown.get_array(), expected)
    assert [f"{w:.2f}" for w in weights[chosen][real]] == labels_of(axes.texts)
    assert labels_of(axes.get_yticklabels()) == [f"group {g}" for g in chosen]
    same = plot_groups({"views": {"a": images}, "mask": MASK}, weights, rows=2)
    assert_allclose(same.axes[0].images[0].get_array(), shown.get_array())
    run.images = images
    (axes,) = plot_groups(run, order=[5, 0], view_names="abcd").axes
    assert labels_of(axes.get_yticklabels()) == ["group 5\n3", "group 0\n3"]
    assert labels_of(axes.get_xticklabels()) == ["a", "b", "c", "d"]
    # The padding of group 0 has neither a picture nor a number.
    assert len(labels_of(axes.texts)) == 7
    height, width = axes.images[0].get_array().shape[:2]
    corner = axes.images[0].get_array()[height // 2 :, 3 * width // 4 :]
    assert corner[:6].min() == 255


def test_groups_of_texts_show_the_words_that_differ():
    texts = [
        ["a good $1 film", "a fine $1 film", "bad"],
        ["x", ("y", "z"), "x"],
    ]
    weights = np.array([[0.2, 0.3, 0.5], [0.3, 0.4, 0.3]])
    figure = plot_groups(texts, weights, order="first")
    assert labels_of(figure.axes[0].texts) == [
        "0.20  a good $1 film",
        "0.30  … fine …",
        "0.50  bad",
    ]
    assert labels_of(figure.axes[1].texts)[1] == "0.40  y ‖ z"


TEXTS, EVEN = [["a"] * 4] * 8, np.ones((8, 4))


@pytest.mark.parametrize(
    "plot, arguments, settings, message",
    [
        (plot_view_weights, [np.ones(3)], {}, "shape .groups, num_views."),
        (plot_view_weights, [[[1.5, -0.5]]], {}, "not be negative.* -0.5"),
        (plot_view_weights, [Run(mask=MASK)], {}, "one of 0 records"),
        (plot_view_weights, [a_run(2)], {"record": 2}, "one of 2 records"),
        (plot_view_weights, [a_run(2)], {"record": -3}, "record=-3"),
        (plot_view_weights, [a_run(), MASK], {}, "`mask` must be left out"),
        (
            plot_view_weights,
            [a_run()],
            {"view_names": ["a"]},
            "one name for each of the 4 views",
        ),
        (plot_run, [{"accuracy": [0.5]}], {}, "records or a curve"),
        (plot_groups, [a_run()], {}, "must hold images or texts"),
        (plot_groups, [np.ones((8, 4, 3)), EVEN], {}, "must be images"),
        (
            plot_groups,
            [np.ones((8, 3, 2, 2, 1)), EVEN],
            {},
            "`images` must have the groups and views of the weights",
        ),
        (plot_groups, [["a", "b"], [[1], [1]]], {}, "for each group.*a str"),
        (plot_groups, [TEXTS[1:], EVEN], {}, "of the 8 groups. Received: 7"),
        (plot_groups, [[["a"] * 3] * 8, EVEN], {}, "3 texts"),
        (plot_groups, [TEXTS, EVEN], {"order": "last"}, '"uneven", "first"'),
        (plot_groups, [TEXTS, EVEN], {"order": [8]}, "There are 8 groups"),
        (plot_groups, [TEXTS, EVEN], {"rows": 0}, "`rows` must be at least 1"),
        (plot_groups, [TEXTS, EVEN], {"record": 5}, "one of 1 records"),
    ],
)
def test_what_cannot_be_shown_is_refused(plot, arguments, settings, message):
    with pytest.raises(ValueError, match=message):
        plot(*arguments, **settings)

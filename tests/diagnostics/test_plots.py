"""Pictures: what is drawn, not how it looks."""

import sys

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.testing import assert_array_equal

matplotlib.use("Agg")

from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import plot_groups
from keras_mmel.diagnostics import plot_run
from keras_mmel.diagnostics import plots
from keras_mmel.diagnostics import tensorboard
from keras_mmel.diagnostics import write_report
from keras_mmel.diagnostics import write_robustness_report
from keras_mmel.text.inspection import inspect_records
from keras_mmel.text.inspection import to_html
from tests.diagnostics.runs import run_of

RANDOM = np.random.default_rng(0)
MASK = np.ones((8, 4), bool)
MASK[0, 3] = False


def a_run(records=2, **settings):
    losses = RANDOM.gamma(2.0, size=MASK.shape)
    return run_of(losses, (0, 3), records, **settings)


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
    # Losses above 0 are drawn on a scale of ratios.
    run.logs.pop()
    assert plot_run(run).axes[0].get_yscale() == "log"


def test_nan_is_not_drawn_and_no_log_is_needed():
    run = run_of([[0, 1], [np.inf, 1]])
    _, by_group = plots.make_figure(plots.draw_weights, run).axes
    assert sum(patch.get_height() for patch in by_group.patches) == 1
    run.logs = []
    assert len(plot_run(run).axes) == 4


def test_distributions_of_weights():
    run = a_run(1)
    by_view, by_group = plots.make_figure(plots.draw_weights, run).axes
    labels = labels_of(by_view.get_xticklabels())
    assert labels == ["original", "view 1", "view 2", "view 3"]
    assert sum(patch.get_height() for patch in by_group.patches) == 8
    # Of each view a box, two lines from it, their caps and the median; then
    # equal shares.
    assert len(by_view.lines) == 4 * 6 + 1
    relative = run.weights[0] * MASK.sum(axis=1, keepdims=True)
    for view in range(4):
        values = relative[MASK[:, view], view]
        quarters = np.percentile(values, [25, 50, 75])
        of_view = [line.get_ydata() for line in by_view.lines[6 * view :][:6]]
        box, lower, upper, _, _, median = of_view
        assert_allclose([box.min(), *median, box.max()], quarters[[0, 1, 1, 2]])
        # Lines end at the last of the values that are within.
        within = np.percentile(values, [5, 95])
        ends = values[(values >= within[0]) & (values <= within[1])]
        assert_allclose([lower[1], upper[1]], [ends.min(), ends.max()])
    soft = a_run(1, original_counts=False, view_names=list("abcd"))
    axes = plots.make_figure(plots.draw_weights, soft).axes[0]
    assert labels_of(axes.get_xticklabels()) == ["b", "c", "d"]


def test_groups_of_images_show_the_most_uneven_first():
    images = RANDOM.integers(0, 200, (8, 4, 5, 5, 3), "uint8")
    run = a_run(1, classes=[3] * 8, view_names=list("abcd"), images=images)
    weights = run.weights[0]
    (axes,) = plot_groups(run, rows=8).axes
    relative = weights * MASK.sum(axis=1, keepdims=True)
    chosen = np.argsort(-relative.max(axis=1))
    # The padding of group 0 has neither a picture nor a number.
    shown = np.array([image.get_array() for image in axes.images])
    assert_array_equal(shown, images[chosen][MASK[chosen]])
    filled = [bar.get_width() / 0.9 for bar in axes.patches[1::2]]
    assert_allclose(filled, weights[chosen][MASK[chosen]], rtol=1e-6)
    numbers = [f"{weight:.2f}" for weight in weights[chosen][MASK[chosen]]]
    assert labels_of(axes.texts) == numbers
    names = [f"group {group}\nclass 3" for group in chosen]
    assert labels_of(axes.get_yticklabels()) == names
    assert labels_of(axes.get_xticklabels()) == ["a", "b", "c", "d"]
    (axes,) = plot_groups(run, rows=2).axes
    assert labels_of(axes.get_yticklabels()) == names[:2]
    # Gray ones are drawn in gray, and what is not finite has no bar.
    run.images, run.weights[0][chosen[0]] = images[..., :1], np.nan
    (axes,) = plot_groups(run, rows=8).axes
    assert axes.patches[-1].get_width() == 0 < axes.patches[1].get_width()
    gray = images[chosen[1], 0][..., [0, 0, 0]]
    assert_array_equal(axes.images[0].get_array(), gray)


def test_what_cannot_be_shown_is_refused():
    run = Run(mask=MASK, images=np.zeros((8, 4, 5, 5, 3), "uint8"))
    for plot in (plot_run, plot_groups):
        with pytest.raises(ValueError, match="must have records.*Received"):
            plot(run)
    with pytest.raises(ValueError, match="must have images.*Received"):
        plot_groups(a_run())


@pytest.mark.parametrize(
    "package, extra, call",
    [
        ("matplotlib", "plots", lambda _: plot_run(a_run())),
        ("jinja2", "plots", lambda path: write_report(a_run(), path / "a")),
        # At once, before models are scored.
        ("jinja2", "plots", lambda _: write_robustness_report(0, [], "a")),
        ("jinja2", "text", lambda _: to_html(inspect_records([]), "x")),
        ("tensorboard", "tensorboard", tensorboard.open_writer),
    ],
)
def test_the_extra_that_is_missing_is_named(
    package, extra, call, tmp_path, monkeypatch
):
    for name in [package, *sys.modules]:
        if name.partition(".")[0] == package:
            # As if it were not installed.
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"install 'keras-mmel.{extra}.'"):
        call(tmp_path)

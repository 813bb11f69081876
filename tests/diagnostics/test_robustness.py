"""The robustness report against plain loops over the same groups."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

import keras_mmel
from keras_mmel.diagnostics import robustness
from keras_mmel.diagnostics import write_robustness_report
from tests.pages.test_page import Reader

layers = keras.layers
NAMES = ["original", "turned", "dark", "half"]
RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.integers(0, 256, (40, 6, 6, 1)).astype("uint8")
LABELS = RANDOM.integers(0, 3, 40)
MOVES = {
    "turned": lambda image: image[::-1],
    "dark": lambda image: image // 4,
    "half": lambda image: image // 2,
}


def network(seed=0, **settings):
    """A network that knows most of the labels by heart."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.Rescaling(1 / 255),
            layers.Flatten(),
            layers.Dense(3, "softmax"),
        ]
    )
    model.compile(
        keras.optimizers.Adam(0.1),
        "sparse_categorical_crossentropy",
        **settings,
    )
    model.fit(IMAGES, LABELS, epochs=25, batch_size=40, verbose=0)
    return model


@pytest.fixture(scope="module")
def model():
    return network()


def groups(images=IMAGES, moves=MOVES):
    examples = tf.data.Dataset.from_tensor_slices((images, LABELS))
    return keras_mmel.data.grid_views(examples, moves, 20)


def text_of(path):
    page = path.read_text(encoding="utf-8")
    return page, " ".join(" ".join(Reader(page).text).split())


def predictions(model):
    """What is predicted for each view, by a loop, `(examples, views)`."""
    every = [lambda image: image, *MOVES.values()]
    columns = []
    for move in every:
        views = np.stack([move(image) for image in IMAGES])
        columns.append(model.predict(views, verbose=0).argmax(axis=1))
    return np.stack(columns, axis=1)


def test_the_page_says_what_a_loop_finds(model, tmp_path):
    names = ["<cat>", "dog", "eel"]
    write_robustness_report(model, groups(), tmp_path / "card.html", names)
    page, text = text_of(tmp_path / "card.html")
    predicted = predictions(model)
    right = predicted == LABELS[:, None]
    broken = right[:, :1] & ~right
    assert 10 < right[:, 0].sum() < 41 and broken.any()
    assert "40 examples under 4 views" in text
    hurt = broken.any(axis=1).sum()
    assert f"{hurt} of {right[:, 0].sum()} examples that are right" in text
    assert f"{right[:, 0].mean():.1%}" in text
    assert f"{right.all(axis=1).mean():.1%} right under every view" in text
    for j, name in enumerate(NAMES):
        count = int(right[:, j].sum())
        low, high = stats.binomtest(count, 40).proportion_ci(
            method="wilson", confidence_level=0.95
        )
        interval = f"({100 * low:.1f} to {100 * high:.1f})"
        share = f"{100 * count / 40:.1f}"
        assert f"{name} {share} {interval} {broken[:, j].sum()}" in text
    for label, name in enumerate(names):
        cells = [100 * right[LABELS == label, j].mean() for j in range(4)]
        assert " ".join([name, *(f"{cell:.0f}" for cell in cells)]) in text
    confused = {}
    for i, j in zip(*np.nonzero(broken), strict=True):
        key = NAMES[j], names[LABELS[i]], names[predicted[i, j]]
        confused[key] = confused.get(key, 0) + 1
    (view, label, other), count = max(confused.items(), key=lambda kv: kv[1])
    of_class = right[LABELS == names.index(label), 0].sum()
    assert f"{view} {label} is taken for {other} {count} of {of_class}" in text
    # The page holds its pictures: two or more views of each broken example.
    alone = broken.sum(axis=1) == 1
    most = np.sort(broken.sum(axis=1)[broken.sum(axis=1) > 1])[::-1][:6]
    pictures = sum(most + 1) + 2 * min(alone.sum(), 6)
    links = [link for link in Reader(page).links if not link.startswith("#")]
    assert len(links) == pictures
    assert all(link.startswith("data:image/png;base64,") for link in links)


def test_two_models_on_one_page(model, tmp_path):
    # Without its count an iterator can be gone through once.
    batches = iter(list(groups()))
    other = network(seed=1, metrics=["accuracy"])
    write_robustness_report(model, batches, tmp_path / "a.html", second=other)
    _, text = text_of(tmp_path / "a.html")
    for place, one in (("first", model), ("second", other)):
        assert f"Confusions · {place} model, {one.name}" in text
    first, second = (
        100 * (predictions(one)[:, 1] == LABELS).mean()
        for one in (model, other)
    )
    assert re.search(rf"view 1 {first:.1f} \(.*\) \d+ {second:.1f} \(", text)


def test_what_nothing_breaks(model, tmp_path):
    same = {"same": lambda image: image}
    write_robustness_report(model, groups(moves=same), tmp_path / "a.html")
    _, text = text_of(tmp_path / "a.html")
    assert "break under at least one view, most under: none." in text


def test_padding_is_never_broken(model, tmp_path):
    views = np.stack([IMAGES, 255 - IMAGES], axis=1)
    mask = np.zeros((40, 2), bool)
    mask[:, 0] = mask[:3, 1] = True
    x = {"views": views, "mask": mask}
    write_robustness_report(model, (x, LABELS), tmp_path / "a.html")
    _, text = text_of(tmp_path / "a.html")
    right = model.predict(255 - IMAGES[:3], verbose=0).argmax(1) == LABELS[:3]
    original = model.predict(IMAGES[:3], verbose=0).argmax(1) == LABELS[:3]
    low, high = robustness.wilson(right.sum(), 3)
    interval = f"{100 * right.mean():.1f} ({100 * low:.1f} to {100 * high:.1f})"
    assert f"view 1 {interval} {(original & ~right).sum()}" in text
    scores = keras_mmel.evaluate_views(model, x, LABELS, by_view=True)
    rights = scores.view_values.classifiers[""].right * mask
    mean = np.mean(rights.sum(1) / mask.sum(1))
    assert f"{mean:.1%} right, mean of the views" in text
    mask[:, 1] = False
    write_robustness_report(model, (x, LABELS), tmp_path / "a.html")
    _, text = text_of(tmp_path / "a.html")
    assert "view 1 no example 0" in text
    assert "nan" not in text


def test_labels_that_move(model, tmp_path):
    x = {"views": np.stack([IMAGES, IMAGES], axis=1)}
    said = model.predict(IMAGES, verbose=0).argmax(axis=1)
    y = {"views": np.stack([said, (said + 1) % 3], axis=1)}
    write_robustness_report(model, (x, y), tmp_path / "a.html")
    _, text = text_of(tmp_path / "a.html")
    assert "original 100.0 (" in text and "view 1 0.0 (0.0 to 8.8) 40" in text
    assert "mean prediction" not in text


def test_texts_are_marked(tmp_path):
    words = layers.TextVectorization(
        vocabulary=["bad", "good"], output_mode="multi_hot"
    )
    said = layers.Dense(2, activation="softmax")
    model = keras.Sequential([keras.Input((), dtype="string"), words, said])
    said.kernel.assign([[0.0, 0.5], [4.0, 0.0], [0.0, 9.0]])
    model.compile(loss="sparse_categorical_crossentropy")
    texts = np.array(
        [
            ["a <bad> film", "the <bad> film", "a <dull> film"],
            ["a <good> film", "a good show", "the good, bad film"],
        ]
    )
    data = tf.data.Dataset.from_tensor_slices(({"views": texts}, [0, 1]))
    names = ["no", "yes"]
    write_robustness_report(model, data.batch(2), tmp_path / "a.html", names)
    page, text = text_of(tmp_path / "a.html")
    assert "1 of 2 examples that are right" in text
    assert "view 2 no is taken for yes 1 of 1" in text
    assert "<bdi>a &lt;<mark>dull</mark>&gt; film</bdi>" in page
    assert page.count("<bdi>") == 2  # the original and the view that broke it
    assert "view 2: yes (0.62)" in text


def test_others_than_classifiers(tmp_path):
    inputs = keras.Input((6, 6, 1))
    flat = layers.Flatten()(inputs)
    outputs = {n: layers.Dense(1, name=n)(flat) for n in ("size", "weight")}
    model = keras.Model(inputs, outputs)
    model.compile(loss="mse", metrics={"size": "mae", "weight": "mae"})
    y = {name: LABELS.astype("float32") for name in outputs}
    x = {"views": np.stack([IMAGES / 255, 1 - IMAGES / 255], axis=1)}
    write_robustness_report(model, (x, y), tmp_path / "a.html")
    _, text = text_of(tmp_path / "a.html")
    found = keras_mmel.evaluate_views(model, x, y, by_view=True)
    assert f"{found['worst_loss']:.4g} worst_loss" in text
    assert f"{found.by_view['size_mae']['view 1']:.3g}" in text
    losses = found.view_values.loss
    largest = (losses[:, 1] - losses[:, 0]).argmax()
    assert "Their loss rises most" in text and "Confusions" not in text
    assert f"view 1: loss {losses[largest, 1]:.3g}" in text


@pytest.mark.parametrize(
    ("right", "count"), [(0, 5), (5, 5), (9, 10), (700, 1000)]
)
def test_the_interval_is_that_of_wilson(right, count):
    expected = stats.binomtest(right, count).proportion_ci(
        method="wilson", confidence_level=0.95
    )
    found = robustness.wilson(right, count)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_wrong_input_is_named(model, tmp_path):
    path = tmp_path / "a.html"
    for names in (["cat", "dog"], "a-string", {"0": "a", "1": "b", "2": "c"}):
        with pytest.raises(ValueError, match="list with a name for each class"):
            write_robustness_report(model, groups(), path, names)
    shuffled = tf.data.Dataset.from_tensor_slices((IMAGES, LABELS)).shuffle(40)
    others = keras_mmel.data.grid_views(shuffled, MOVES, 20)
    with pytest.raises(ValueError, match="same order in every pass.*Received"):
        write_robustness_report(model, others, path)
    with pytest.raises(ValueError, match="needs a compiled loss"):
        write_robustness_report(keras.Sequential(), groups(), path)
    assert not path.exists()


def test_a_model_of_nans_is_never_right(model, tmp_path):
    broken = keras.models.clone_model(model)
    broken.set_weights([np.full_like(w, np.nan) for w in model.get_weights()])
    broken.compile(loss="sparse_categorical_crossentropy")
    with pytest.warns(UserWarning, match="not finite"):
        write_robustness_report(broken, groups(), tmp_path / "card.html")
    _, text = text_of(tmp_path / "card.html")
    assert "The loss of 160 of 160 views is not finite" in text
    assert "0.0% right as they are" in text


def test_logits_of_one_class_are_right_in_one_way_on_the_page(tmp_path):
    """Keras compares their `accuracy` with 0.5, the page with 0."""
    logits = np.linspace(-1, 1, 40, dtype="float32")
    images = np.broadcast_to(logits[:, None, None, None], (40, 6, 6, 1))
    model = keras.Sequential(
        [keras.Input((6, 6, 1)), layers.GlobalAveragePooling2D()]
    )
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(loss=loss, metrics=["accuracy"])
    examples = tf.data.Dataset.from_tensor_slices((images, logits > 0))
    data = keras_mmel.data.grid_views(
        examples, {"half": lambda image: image / 2}, 20
    )
    with pytest.warns(UserWarning, match="BinaryAccuracy\\(threshold=0\\)"):
        write_robustness_report(model, data, tmp_path / "card.html")
    _, text = text_of(tmp_path / "card.html")
    assert "original 100.0" in text
    assert "0 100 100 1 100 100" in text  # the rows by class


def test_a_regression_has_its_own_words(model, tmp_path):
    other = keras.Sequential([keras.Input((6, 6, 1)), layers.Flatten()])
    other.add(layers.Dense(1))
    other.compile(loss="mse")
    write_robustness_report(other, groups(), tmp_path / "card.html")
    _, text = text_of(tmp_path / "card.html")
    assert "right as they are" not in text and "is taken for" not in text
    # Beside a classifier each has its own sections.
    write_robustness_report(
        model, groups(), tmp_path / "both.html", second=other
    )
    _, text = text_of(tmp_path / "both.html")
    for heading in ("By class", "Confusions", "Examples"):
        assert f"{heading} · first model" in text
        assert f"{heading} · second model" not in text
    assert "Losses · second model" in text and "Losses · first" not in text


def test_of_several_outputs_a_classifier_hides_no_other(tmp_path):
    inputs = keras.Input((6, 6, 1))
    flat = layers.Flatten()(inputs)
    kind = layers.Dense(3, "softmax", name="kind")(flat)
    size = layers.Dense(1, name="size")(flat)
    model = keras.Model(inputs, {"kind": kind, "size": size})
    loss = {"kind": "sparse_categorical_crossentropy", "size": "mse"}
    model.compile(loss=loss, metrics={"size": ["mae"]})
    x = {"views": np.stack([IMAGES / 255, 1 - IMAGES / 255], axis=1)}
    y = {"kind": LABELS, "size": LABELS.astype("float32")}
    write_robustness_report(model, (x, y), tmp_path / "a.html")
    _, text = text_of(tmp_path / "a.html")
    assert "Scores by view" in text and "size_mae" in text
    assert "kind_nll" in text and "Confusions" not in text


def test_a_view_that_is_no_number_is_shown_first(tmp_path):
    model = keras.Sequential([keras.Input((6, 6, 1)), layers.Flatten()])
    model.add(layers.Dense(1))
    model.compile(loss="mse")
    views = np.stack([IMAGES / 255, IMAGES / 200, IMAGES / 100], axis=1)
    views[7, 2] = np.nan
    mask = np.ones((40, 3), bool)
    mask[8, 1:] = False
    data = {"views": views, "mask": mask}, LABELS.astype("float32")
    with pytest.warns(UserWarning, match="not finite"):
        write_robustness_report(model, data, tmp_path / "a.html")
    _, text = text_of(tmp_path / "a.html")
    assert "1 of 118 views is not finite: means over them say nothing" in text
    shown = re.findall(r"example (\d+), original: loss \S+ view (\d)", text)
    assert shown[0] == ("7", "2") and len(shown) == 6
    assert "view 2: loss nan" in text


def test_each_of_two_regressions_names_its_columns(tmp_path):
    models = []
    for _ in range(2):
        model = keras.Sequential([keras.Input((6, 6, 1)), layers.Flatten()])
        model.add(layers.Dense(1))
        model.compile(loss="mse")
        models.append(model)
    first, second = models
    write_robustness_report(first, groups(), tmp_path / "a.html", second=second)
    _, text = text_of(tmp_path / "a.html")
    assert "view loss first loss second original" in text
    with pytest.raises(ValueError, match="one output is a classifier.*\\['a'"):
        write_robustness_report(
            first, groups(), tmp_path / "b.html", ["a", "b"]
        )
    assert not (tmp_path / "b.html").exists()

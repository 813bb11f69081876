"""The code of the guides, page by page, at toy size."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import types

import keras
import numpy as np
import PIL.Image
import pytest
import tensorflow as tf

from keras_mmel import text
from keras_mmel.text import files
from tests.docs import blocks
from tests.tasks import small
from tests.text import tiny
from tests.text.files import fakes

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDES = ROOT / "docs" / "guides"
# A block with this is a program of its own.
BACKEND = "KERAS_BACKEND"
# What a page may import beyond the core, by the extra that it has to name
# (Apache Beam is none, and comes by its own name).
EXTRAS = {
    "text": ("keras_hub", "tokenizers", "safetensors", "etils", "tqdm"),
    "datasets": ("tensorflow_datasets",),
    "beam": ("apache_beam",),
    "plots": ("matplotlib", "PIL"),
    "tensorboard": ("tensorboard",),
    "examples": ("sklearn", "scipy"),
}
SEEDS = np.random.default_rng(0).integers(0, 2**31, (4, 3, 2), "int32")
PRESET = "hf://google-bert/bert-base-uncased"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a guide in an empty folder, with two epochs for many.

    What comes with an extra that the page does not name is not to be imported.
    """
    monkeypatch.chdir(tmp_path)

    def run(name, *changes):
        path = GUIDES / f"{name}.md"
        page = path.read_text("utf-8")
        named = re.findall(r"pip install -e '\.\[([a-z,]+)\]'", page)
        extras = set(",".join(named).split(","))
        extras |= {"plots"} if "examples" in extras else set()
        extras |= {"beam"} if "pip install apache-beam" in page else set()
        for extra in EXTRAS.keys() - extras:
            for module in EXTRAS[extra]:
                monkeypatch.setitem(sys.modules, module, None)
        if not extras & {"plots", "text"}:  # pages come with either
            monkeypatch.setitem(sys.modules, "jinja2", None)
        parts = blocks.code(page, "python")
        code = "\n".join(part for part in parts if BACKEND not in part)
        code = re.sub(r"epochs=\d\d", "epochs=2", code)
        for old, new in changes:
            code, count = re.subn(old, new, code)
            assert count, f"{path}: {old}"
        names = {"__name__": name}
        # A file, in which TensorFlow finds the source of functions.
        program = tmp_path / f"{name}.py"
        program.write_text(code, "utf-8")
        exec(compile(code, program, "exec"), names)
        return names

    return run


def test_start(run, tmp_path):
    names = run("start")
    assert names["weights"].shape == (20, 6)
    np.testing.assert_allclose(names["weights"].sum(axis=1), 1, rtol=1e-5)
    assert len(names["history"].history["val_accuracy"]) == 2
    assert (tmp_path / "digits.keras").is_file()


@pytest.mark.slow
def test_model(run, tmp_path):
    made = "__import__('tests.tasks.small').tasks.small.image_classifier(8, 3)"
    preset = r"keras_hub\.models\.ImageClassifier\.from_preset\([^)]*\)"
    names = run("model", (preset, made))
    assert names["said"].shape == (96, 3)
    assert (tmp_path / "report.html").is_file()
    assert names["found"]["kind"].shape == (96, 3)
    assert names["mmel"].lambda_p == 1.0


@pytest.mark.slow
def test_coming_from(run):
    names = run("coming_from")
    x, y = next(iter(names["groups"]))
    views = x["views"].numpy()
    assert views.shape == (8, 3, 32, 32, 3)
    originals = names["images"][:, None]
    chosen = np.abs(originals - views[:, 0].astype(int)[None]).sum((-1, -2, -3))
    # The original first, then it or its mirror image, then it turned.
    same = views[:, 1] == views[:, 0]
    mirrored = views[:, 1] == views[:, 0, :, ::-1]
    assert np.all(same.all((1, 2, 3)) | mirrored.all((1, 2, 3)))
    assert np.all(chosen.min(axis=0) == 0) and len(y) == 8
    assert not np.array_equal(views[:, 2], views[:, 0])


@pytest.mark.slow
def test_augmentation(run, tmp_path):
    names = run("augmentation")
    x, _ = next(iter(names["groups"]))
    shown = x["views"].numpy() * 0.25 + 0.5  # to the range 0 to 1 again
    assert shown.shape == (16, 4, 16, 16, 3)
    assert shown.min() > -1e-6 and shown.max() < 1 + 1e-6
    assert (tmp_path / "groups.png").is_file()
    # The function of a batch shifts and darkens each view by itself.
    original, views = shown[:, 0], shown[:, 1:]
    means = views.mean(axis=(2, 3, 4))
    assert np.all(means < original.mean(axis=(1, 2, 3))[:, None])
    assert len(np.unique(means.round(6))) == means.size


@pytest.fixture
def photos(tmp_path):
    """A folder of few and small photographs: dark ones and bright ones."""
    random = np.random.default_rng(0)
    for part, count in (("train", 16), ("test", 4)):
        for name, low in (("dark", 0), ("bright", 100)):
            folder = tmp_path / "photos" / part / name
            folder.mkdir(parents=True)
            for number in range(count):
                image = random.integers(low, low + 150, (40, 50, 3), "uint8")
                PIL.Image.fromarray(image).save(folder / f"{number}.jpg")


@pytest.mark.slow
def test_labels_that_move(run, tmp_path):
    names = run("labels_that_move")
    for way in ("by_layers", "by_tensors", "by_arrays", "darkened_crops"):
        images, masks = names[way](
            names["train"][0][:4], names["train"][1][:4], SEEDS
        )
        assert masks.shape == images.shape[:-1] == (4, 3, 32, 32)
        # Shapes are brighter than what is behind them, in their own view.
        means = np.ma.masked_array(images[..., 0], masks == 0).mean((2, 3))
        behind = np.ma.masked_array(images[..., 0], masks > 0).mean((2, 3))
        assert np.all(means > behind + 15)
    assert names["scores"].keys() >= {"original_accuracy", "worst_accuracy"}
    assert len(names["watch"].run.logs) == 2
    assert (tmp_path / "report.html").is_file()
    assert (tmp_path / "segmentation.keras").is_file()


class Compose:
    """Stands in for albumentations, which not every machine has."""

    def __init__(self, parts):
        self.set_random_seed(0)

    def set_random_seed(self, seed):
        self.random = np.random.default_rng(seed)

    def __call__(self, image):
        return {"image": np.roll(image, self.random.integers(1, 9), axis=1)}


@pytest.mark.slow
def test_photographs(run, photos, tmp_path, monkeypatch):
    if importlib.util.find_spec("albumentations") is None:
        names = ("HorizontalFlip", "Rotate", "RandomBrightnessContrast")
        library = types.SimpleNamespace(Compose=Compose)
        vars(library).update({name: lambda **_: None for name in names})
        monkeypatch.setitem(sys.modules, "albumentations", library)
    names = run(
        "photographs",
        (r"\(224, 224\)", "(32, 32)"),
        (r'weights="imagenet"', "weights=None"),
    )
    assert len(names["watch"].run.logs) == 4
    assert names["watch"].run.images.shape == (32, 4, 32, 32, 3)
    assert (tmp_path / "report.html").is_file()
    np.testing.assert_allclose(
        names["served"].serve(names["images"]),
        names["model"].predict(names["images"], verbose=0),
        atol=0.05,
    )


@pytest.mark.slow
def test_which_view(run, photos, tmp_path):
    photo_model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            keras.layers.Rescaling(1 / 255, offset=-0.5),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    # Bright or dark, in the order of the names; "darker" breaks it.
    photo_model.layers[-1].kernel.assign([[9.0, -9.0]] * 3)
    photo_model.compile("sgd", "sparse_categorical_crossentropy")
    photo_model.save(tmp_path / "photos.keras")
    names = run("which_view", (r"\(224, 224\)", "(32, 32)"))
    assert names["scores"].view_names == ["original", *names["changes"]]
    assert names["groups"].view_names == names["scores"].view_names
    for page in ("card", "photos", "before_and_after"):
        text = (tmp_path / f"{page}.html").read_text("utf-8")
        assert "data:image/png" in text, page
    assert "bright" in (tmp_path / "photos.html").read_text("utf-8")


@pytest.mark.slow
def test_comparing(run, tmp_path):
    names = run(
        "comparing",
        (r"seeds=3", "seeds=1"),
        (r"epochs=2\b", "epochs=1"),
        (r"slice\(200, 600\)", "slice(200, 240)"),
    )
    assert names["found"].methods[-1] == "plain"
    assert "val_worst_accuracy" in names["history"].history
    assert (tmp_path / "differences.png").is_file()


@pytest.mark.slow
def test_saving(run, tmp_path):
    names = run("saving")
    assert names["hard"].objective.lambda_p == 0.5
    assert names["served"].serve(np.zeros((2, 8), "float32")).shape == (2, 3)
    assert names["groups"].epoch_counter.epoch == 3
    assert not (tmp_path / "backup").exists()


@pytest.mark.slow
@pytest.mark.own_process
def test_devices(run):
    names = run("devices")
    assert names["strategy"].num_replicas_in_sync == 4
    assert np.isfinite(names["model"].get_weights()[0]).all()


@pytest.mark.slow
def test_devices_on_another_backend():
    pytest.importorskip("jax")
    page = (GUIDES / "devices.md").read_text(encoding="utf-8")
    (code,) = (x for x in blocks.code(page, "python") if BACKEND in x)
    code = f"from tests.scripts import strict\nstrict.use()\n{code}"
    code += "\nprint('backend', keras.config.backend())\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "backend jax" in done.stdout


@pytest.mark.slow
def test_text(run, tmp_path):
    bert = tiny.make_checkpoint(tmp_path / "bert", num_hidden_layers=1)
    rows = [f"the movie was very {w},{w}" for w in ("bad", "good")]
    (tmp_path / "reviews.csv").write_text(
        "text,label\n" + "\n".join(rows * 8) + "\n"
    )
    (tmp_path / "served").mkdir()  # of the run before
    (tmp_path / "served" / "saved_model.pb").touch()
    roberta = tmp_path / "roberta"
    small.classifier("Roberta").save_to_preset(str(roberta))
    names = run(
        "text",
        (PRESET, str(bert)),
        (r"epochs=3", "epochs=1"),
        ("roberta_base_en", str(roberta)),
    )
    assert set(names["answer"]["label"].numpy()) <= {b"bad", b"good"}
    x, y = next(iter(text.read_augmented("labelled", batch_size=16)))
    assert x["views"]["token_ids"].shape[:2] == (16, 5)
    assert y["teacher"].shape == (16, 5, 2)
    x, _ = next(iter(names["groups"]))
    assert x["views"].dtype == tf.string and x["views"].shape == (16, 5)
    assert names["said"].shape == (2, 2)
    labelled = list(files.read_records("labelled_by_roberta"))
    assert len(labelled) == 16 and len(labelled[0].teacher) == 2
    loaded = tf.saved_model.load(str(tmp_path / "served"))
    assert "tokenize" in loaded.signatures
    assert (tmp_path / "student.keras").is_file()


@pytest.mark.slow
def test_augmenting_on_several_machines(run, tmp_path, monkeypatch):
    pytest.importorskip("apache_beam")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the other processes
    bert = str(tiny.make_checkpoint(tmp_path / "bert"))
    rows = [f"the movie was {w} {i},{i % 2}" for i, w in enumerate("abc" * 4)]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows, ""]))
    page = (GUIDES / "augmenting_on_several_machines.md").read_text("utf-8")
    page = page.replace(PRESET, bert)
    for code in blocks.code(page, "bash"):
        command = f"{sys.executable} -m keras_mmel_cli"
        code = code.replace("keras-mmel", command)
        subprocess.run(["bash", "-ec", code], check=True)
    (program,) = (x for x in blocks.code(page, "python") if "__main__" in x)
    (tmp_path / "program.py").write_text(program)
    subprocess.run([sys.executable, "program.py"], check=True)
    run("augmenting_on_several_machines", (PRESET, bert))
    augmented = fakes.contents(tmp_path / "augmented")
    assert len(augmented) == 7
    for name in ("python", "loop", "beam"):
        assert fakes.contents(tmp_path / name) == augmented


def test_every_guide_runs_here():
    tests = pathlib.Path(__file__).parent.glob("test_*.py")
    tested = {
        name
        for test in tests
        for name in re.findall(r'run\(\s*"(\w+)"', test.read_text())
    }
    with_code = {
        path.stem
        for path in GUIDES.glob("*.md")
        if blocks.code(path.read_text("utf-8"), "python")
    }
    assert tested == with_code

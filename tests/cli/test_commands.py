"""The commands on small made models: what they write, print and refuse."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import keras
import pytest

from keras_mmel.text import Tokenizer
from keras_mmel.text import files
from keras_mmel.text import load_text_classifier
from keras_mmel_cli import main
from tests.docs import blocks
from tests.text import tiny

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
COMMAND = [sys.executable, "-m", "keras_mmel_cli"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = [
    "a very good film and a bright story",
    "the music was poor, the actor dull",
    "she found the old house in the city",
    "he never told me of the book",
    "a fine scene",
    "it is too slow, and not so funny",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with what the examples of `--help` name."""
    folder = tmp_path_factory.mktemp("commands")
    tiny.make_checkpoint(folder / "bert_tiny_mlm")
    load_text_classifier(folder / "bert_tiny_mlm", 2).save(
        folder / "teacher.keras"
    )
    rows = [
        f'{i},"{t}",{"pos" if i % 2 else "neg"}' for i, t in enumerate(TEXTS)
    ]
    views = [row.replace(" ", " so ", 1) for row in rows]
    for name, some in (("reviews", rows), ("views", rows + views)):
        text = "\n".join(["id,text,label", *some, ""])
        (folder / f"{name}.csv").write_text(text)
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


AUGMENT = ["augment", "--masked_lm", "bert_tiny_mlm", "--data", "reviews.csv"]
COLUMNS = ["--text", "text", "--label", "label", "--id", "id"]


@pytest.fixture(scope="module")
def augmented(made):
    """What one command made of `reviews.csv`, in two files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        run([*AUGMENT, *COLUMNS, "--num_shards", 2, "--out", "two"])
    return made / "two"


def run(argv):
    assert main([str(word) for word in argv]) == 0


def fails(argv, capsys):
    """The last line of a command that fails; nothing else is an error."""
    assert main([str(word) for word in argv]) == 2
    *before, line = capsys.readouterr().err.splitlines()
    assert line.startswith(f"keras-mmel {argv[0]}: error: ")
    assert not [word for word in before if "error" in word.lower()]
    return line


def texts(directory):
    return [
        (r.example_id, r.texts, r.label, [view.texts for view in r.views])
        for r in files.read_records(directory)
    ]


def test_examples_of_the_help_run(folder, augmented, capsys):
    """One after the other, as a user would."""
    for command in ("augment", "import", "label", "inspect"):
        assert main([command, "--help"]) == 0
        example = capsys.readouterr().out.split("For example:\n")[1]
        example = example.split("\n\n")[0].replace("\\\n", "").split()
        assert example[:2] == ["keras-mmel", command]
        run(example[1:])
        out = capsys.readouterr().out
        if command != "inspect":
            assert f"{example[-1]}: 1 of 1 files." in out
        if command == "augment":
            assert "0 none; unknown tokens: 0.0 %." in out
        if command == "label":
            assert "The teacher agrees with the labels of 3 of 6" in out
    run(["inspect", "augmented/reviews", "--json", "--html", "new/page.html"])
    assert (folder / "new" / "page.html").exists()
    numbers = json.loads(capsys.readouterr().out)
    assert (numbers["examples"], numbers["views"]) == (6, 24)
    assert numbers["labels"] == {"0": 3, "1": 3}
    lengths = [len(re.findall(r"\w+|[^\w\s]", text)) for text in TEXTS]
    of_original = numbers["words of an original"]
    assert (of_original["count"], of_original["largest"]) == (6, max(lengths))
    assert of_original["mean"] == pytest.approx(sum(lengths) / 6)
    assert of_original["median"] == sorted(lengths)[2]
    out = " ".join(out.split())
    assert "views 24, 4 of each example" in out
    assert "0 of 6 examples have fewer samples than asked, 0 none;" in out
    assert "Page: reviews.html" in out
    page = (folder / "reviews.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "<mark>" in page

    found = texts("augmented/reviews")
    assert [text for _, (text,), _, _ in found] == TEXTS
    assert [label for _, _, label, _ in found] == [0, 1] * 3
    assert all(len({text, *views}) == 5 for _, text, _, views in found)
    # The example of augment leaves the ids to be numbered: "0", "1", ... too.
    assert texts(augmented) == found
    for record in files.read_records("labelled/reviews"):
        for said in (record.teacher, *(v.teacher for v in record.views)):
            assert len(said) == 2 and sum(said) == pytest.approx(1)
    imported = texts("imported/reviews")
    assert [views for *_, views in imported] == [
        [(text.replace(" ", " so ", 1),)] for text in TEXTS
    ]


def test_parts_are_copied_together(folder, augmented, tmp_path, capsys):
    command = [*AUGMENT, *COLUMNS, "--num_shards", 2, "--out"]
    for number in range(2):
        run([*command, tmp_path / f"{number}", "--shard", f"{number}/2"])
    out = capsys.readouterr().out
    assert "reviews.csv: 6 examples, 2 classes: neg 3, pos 3." in out
    assert "others are for the other parts" in out
    for path in (tmp_path / "1").glob("*.tfrecord*"):
        shutil.copy(path, tmp_path / "0")
    for directory in (tmp_path / "0", augmented):  # and nothing made again
        run([*command, directory])
        out = capsys.readouterr().out
        assert "2 of 2 files, 2 of them from before." in out
    for path in augmented.iterdir():
        assert (tmp_path / "0" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_processes_write_the_same_files(
    folder, augmented, tmp_path, capfd, monkeypatch
):
    monkeypatch.delenv(LOG_LEVEL, raising=False)
    command = [*AUGMENT, *COLUMNS, "--num_shards", 2, "--out", tmp_path / "o"]
    run([*command, "--processes", 2])
    out, err = capfd.readouterr()
    assert f"{tmp_path / 'o'}: 2 of 2 files.\n" in out
    assert "6/6" in err
    for line in re.split(r"[\r\n]+", err.strip()):
        assert re.search(r"^ *\d+%\|.* sentences", line), line
    for path in augmented.iterdir():
        assert (tmp_path / "o" / path.name).read_bytes() == path.read_bytes()


def test_settings_reach_the_augmenter(folder, tmp_path, capsys):
    settings = {
        "num_augmented": 2,
        "mask_ratio": 0.25,
        "search": "beam",
        "unit": "word",
        "pairs": "concatenated",
        "max_length": 32,
        "seed": 7,
    }
    words = [w for k, v in settings.items() for w in (f"--{k}", str(v))]
    words += ["--slots", "8", "--limit", "2", "--split", "test"]
    run([*AUGMENT, *COLUMNS, *words, "--out", tmp_path / "o"])
    manifest = files.read_manifest(tmp_path / "o")
    settings["num_beams"] = 3
    assert settings.items() <= manifest.made["augmenter"].items()
    assert (manifest.num_examples, manifest.split) == (2, "test")
    assert manifest.made["source"]["limit"] == 2
    # What is told of all examples is told of a part of them.
    assert "Note: labels are words" in capsys.readouterr().out


def test_a_tfds_data_set_is_augmented(folder, augmented, tmp_path):
    """Files of ours are one: the views of a run can be augmented again."""
    run(
        ["augment", "--masked_lm", "bert_tiny_mlm", "--data", augmented]
        + ["--split", "train[:2]", "--text", "text_a", "--label", "label"]
        + ["--id", "example_id", "--num_augmented", "1", "--out", tmp_path]
    )
    assert files.read_manifest(tmp_path).label_names == ("neg", "pos")
    assert [text for _, (text,), _, _ in texts(tmp_path)] == TEXTS[:2]


@pytest.mark.slow
def test_glue_is_augmented_by_a_real_model(shared_dir, tmp_path):
    model = shared_dir / "models" / "bert_tiny_mlm"
    run(
        ["augment", "--masked_lm", model, "--unit", "word", "--limit", "5"]
        + ["--data_dir", shared_dir / "data" / "tfds", "--data", "glue/rte"]
        + ["--out", tmp_path / "o"]
    )
    manifest = files.read_manifest(tmp_path / "o")
    assert manifest.label_names == ("entailment", "not_entailment")
    tokenizer = Tokenizer.from_directory(model)
    for record in files.read_records(tmp_path / "o"):
        rows = (record, *record.views)
        assert len({row.texts for row in rows}) == 5
        encoded = tokenizer.encode([row.texts for row in rows], 512)
        ids = [one.token_ids for one in encoded]
        assert ids == [row.token_ids for row in rows]


def test_a_check_writes_nothing(folder, capsys):
    run(["import", "views.csv", *COLUMNS, "--check"])
    out = capsys.readouterr().out
    assert "6 examples, 6 views, 2 classes: neg 3, pos 3." in out


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        ('{"t": "a", "v": ["b", "c"]}\n', ["--views", "v"]),
        ('{"o": "a", "t": "b"}\n{"o": "a", "t": "c"}\n', ["--original", "o"]),
    ],
)
def test_other_forms_are_imported(rows, options, tmp_path):
    path = tmp_path / "views.jsonl"
    path.write_text(rows)
    run(["import", path, "--text", "t", *options, "--out", tmp_path / "o"])
    assert texts(tmp_path / "o") == [("0", ("a",), None, [("b",), ("c",)])]


def test_wrong_settings_and_models_are_one_line(folder, tmp_path, capsys):
    out = ["--out", tmp_path / "o"]
    line = fails([*AUGMENT, *COLUMNS, *out, "--max_length", 999], capsys)
    assert "`max_length` must be at most" in line
    for name in ("no_such_data", "glue/no_such_task"):
        line = fails([*AUGMENT[:-1], name, *COLUMNS, *out], capsys)
        assert line.endswith(f"of a TFDS data set. Received: --data {name}")
    for option, value in (("--split", "train[:1]"), ("--data_dir", "x")):
        # Which nothing would heed.
        line = fails([*AUGMENT, *COLUMNS, *out, option, value], capsys)
        assert line.startswith(f"keras-mmel augment: error: {option} is")
    (tmp_path / "empty.jsonl").write_text("")
    command = [*AUGMENT[:-1], tmp_path / "empty.jsonl", *COLUMNS]
    assert fails([*command, *out], capsys).endswith("empty.jsonl: no rows")
    argv = ["augment", "--masked_lm", tmp_path / "x", "--data", "reviews.csv"]
    # Before the data are read.
    line = fails([*argv[:-1], "glue/rte", *out], capsys)
    assert line.endswith(f"No such directory: {tmp_path / 'x'}")
    tiny.make_checkpoint(tmp_path / "x", head=False)
    assert "head" in fails([*argv, *COLUMNS, *out], capsys)
    assert not (tmp_path / "o").exists()


def test_wrong_directories_are_one_line(folder, augmented, tmp_path, capsys):
    command = [*AUGMENT, *COLUMNS, "--num_shards", 2, "--out", augmented]
    line = fails([*command, "--seed", 1], capsys)
    assert "made.augmenter.seed=0 in place of made.augmenter.seed=1" in line
    line = fails(["inspect", augmented, "--id", "0", "x", "y"], capsys)
    assert "--id must name examples of" in line and "x, y, of which" in line
    line = fails(["inspect", folder], capsys)
    assert "hold augmented examples" in line
    out = shutil.copytree(augmented, tmp_path / "o")
    damaged = sorted(out.glob("*.tfrecord*"))[1]
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    assert damaged.name in fails(["inspect", out], capsys)
    damaged.unlink()
    line = fails(["inspect", out], capsys)
    assert f"lacks 1 of 2 shards, first '{damaged.name}'" in line


def test_a_teacher_must_be_a_classifier(folder, augmented, tmp_path, capsys):
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]).save(
        tmp_path / "t.keras"
    )
    command = ["label", augmented, "--out", tmp_path / "l", "--teacher"]
    line = fails([*command, tmp_path / "t.keras"], capsys)
    assert "t.keras, which holds a Sequential" in line
    whole_file = (tmp_path / "t.keras").read_bytes()
    (tmp_path / "t.keras").write_bytes(whole_file[:200])
    whole = "--teacher must be a whole model that model.save saved"
    assert whole in fails([*command, tmp_path / "t.keras"], capsys)
    with zipfile.ZipFile(tmp_path / "t.keras", "w") as archive:
        archive.writestr("other.json", "{}")
    assert whole in fails([*command, tmp_path / "t.keras"], capsys)
    assert "reviews.csv" in fails([*command, folder / "reviews.csv"], capsys)


@pytest.mark.slow
@pytest.mark.parametrize("level", [None, "3"])
def test_installed_command_prints_only_what_it_should(folder, tmp_path, level):
    env = {k: v for k, v in os.environ.items() if k != LOG_LEVEL}
    if level:
        env[LOG_LEVEL] = level
    done = subprocess.run(
        [*COMMAND, "import", "views.csv", *COLUMNS, "--out", tmp_path / "o"],
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 0
    assert done.stdout.endswith(f"{tmp_path / 'o'}: 1 of 1 files.\n")
    for line in re.split(r"[\r\n]+", done.stderr.strip()):
        assert re.search(r"^ *\d+%\|.* sentences", line), line


@pytest.mark.parametrize(
    "words, completed",
    [
        (["in"], ["inspect"]),
        (["augment", "--se"], ["--search", "--seed"]),
        (["augment", "--search", ""], ["greedy", "beam"]),
        (["augment", "--data", "reviews.c"], ["reviews.csv"]),
        (["inspect", "teach"], ["teacher.keras"]),
        (["import", "reviews.c"], ["reviews.csv"]),
        (["inspect", "--json", "teach"], ["teacher.keras"]),
    ],
)
def test_the_tab_key_completes(words, completed, folder):
    """By the lines of the documentation, in a shell that has nothing else."""
    page = (ROOT / "docs/api/command_line.md").read_text(encoding="utf-8")
    (script,) = blocks.code(page, "bash")
    command = shlex.join(COMMAND)
    script = script.replace("keras-mmel --tyro", f"{command} --tyro")
    name = re.search(r"-F (\w+) keras-mmel", script)[1]
    line = shlex.join(["keras-mmel", *words])
    # As Bash calls it: the command, the word and the word before.
    script += f"\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}\n"
    script += f'{name} keras-mmel "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"\n'
    script += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.split() == completed, done.stderr

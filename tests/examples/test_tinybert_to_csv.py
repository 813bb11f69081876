"""train_aug.tsv, written here by the loop that TinyBERT's script runs."""

import csv
import shlex

import pytest

import keras_mmel_cli
from examples import tinybert_to_csv
from keras_mmel.text import files
from keras_mmel.text.sources.tables import BadFile

# The text columns of the script, columns in all, place and words of the label.
# CoLA alone has no header.
LAYOUTS = {
    "mrpc": ([3, 4], 5, 0, ["0", "1"]),
    "mnli": ([8, 9], 12, 11, ["neutral", "contradiction"]),
    "cola": ([3], 4, 1, ["1", "0"]),
    "sst2": ([0], 2, 1, ["1", "0"]),
    "stsb": ([7, 8], 10, 9, ["2.500", "5.000"]),
    "qqp": ([3, 4], 6, 5, ["1", "0"]),
    "qnli": ([1, 2], 4, 3, ["not_entailment", "entailment"]),
    "rte": ([1, 2], 4, 3, ["entailment", "not_entailment"]),
}
TEXTS = ['He said "no"\' twice.', "A caf\u00e9, at 5% off."]


def train_rows(task, size=4):
    """Rows of a train.tsv with distinct cells."""
    texts, width, place, labels = LAYOUTS[task]
    header = [f"column{i}" for i in range(width)]
    rows = [[f"{i}c{j}" for j in range(width)] for i in range(size)]
    for i, row in enumerate(rows):
        row[place] = labels[i % 2]
        for j, column in enumerate(texts):
            row[column] = f"{TEXTS[(i + j) % 2]} {i} {j}"
    return [header] * (task != "cola") + rows


def write_plain(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def candidates(text):
    """What the script's augmentor returns: the original, then its samples."""
    if "alone" in text:
        return [text]
    return [text, f"{text} \u00e9x", f'{text} "y"', f"{text} z"]


def augment_as_tinybert(folder, task, fixed=False):
    """`read_augment_write` of TinyBERT; `fixed` restores the line."""
    with open(folder / "train.tsv", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quotechar=None))
    path = folder / "train_aug.tsv"
    with open(path, "w", newline="\n", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t")
        for i, line in enumerate(rows):
            if i == 0 and task != "cola":
                writer.writerow(line)
                continue
            for column in LAYOUTS[task][0]:
                before = line[column]
                for text in candidates(line[column]):
                    line[column] = text
                    writer.writerow(line)
                if fixed:
                    line[column] = before
    return path


def convert(path, task):
    """What is imported of the CSV, as its command does it, and the note."""
    *notes, command = tinybert_to_csv.convert(path, task, path.with_name("c"))
    columns = [w for w in shlex.split(command) if w.startswith("sentence")]
    names = tinybert_to_csv.LABEL_NAMES.get(task)
    source = files.from_long(
        path.with_name("c"), columns, "label", id="id", label_names=names
    )
    return source, notes


def views_of(source):
    return [[view.texts for view in one.views] for one in source.records]


@pytest.mark.parametrize("task", LAYOUTS)
def test_every_layout_is_read(task, tmp_path):
    rows = train_rows(task)
    write_plain(tmp_path / "train.tsv", rows)
    path = augment_as_tinybert(tmp_path, task)
    texts, _, place, _ = LAYOUTS[task]
    source, _ = convert(path, task)
    assert len(source) == 4
    for row, record in zip(rows[-4:], source.records, strict=True):
        original = tuple(row[column] for column in texts)
        assert record.texts == original
        assert [view.texts for view in record.views] == [
            original[:side] + (sample,) + original[side + 1 :]
            for side, text in enumerate(original)
            for sample in candidates(text)[1:]
        ]
        if source.label_names:
            assert source.label_names[record.label] == row[place]
        else:
            assert record.label == float(row[place])
            assert isinstance(record.label, float) == (task == "stsb")


def test_fault_of_pairs_is_mended_and_explained(tmp_path):
    write_plain(tmp_path / "train.tsv", train_rows("rte"))
    path = augment_as_tinybert(tmp_path, "rte")
    mended, (_, note) = convert(path, "rte")
    assert "in 4 of 4 groups 12 samples of sentence 2" in note
    assert "overwrites sentence 1 in place" in note
    assert "put back" in note
    path = augment_as_tinybert(tmp_path, "rte", fixed=True)
    right, notes = convert(path, "rte")
    assert not any("sentence 2" in note for note in notes)
    assert views_of(right) == views_of(mended)


def test_a_sentence_without_samples(tmp_path):
    rows = [
        ["index", "a", "b", "label"],
        ["0", "alone", "q", "entailment"],
        ["1", "p", "alone", "entailment"],
        ["2", "alone", "alone", "entailment"],
    ]
    write_plain(tmp_path / "train.tsv", rows)
    path = augment_as_tinybert(tmp_path, "rte")
    source, notes = convert(path, "rte")
    assert not any("sentence 2" in note for note in notes)
    assert views_of(source) == [
        [("alone", q) for q in candidates("q")[1:]],
        [(p, "alone") for p in candidates("p")[1:]],
        [],
    ]


def write_sst2(path, texts):
    write_plain(path, [["sentence", "label"], *([t, "1"] for t in texts)])


@pytest.mark.parametrize(
    ("originals", "views"),
    [
        (["same", "same", "x"], [["a", "b"], ["a", "b"], ["c"]]),
        # A view that equals the next original.
        (["p", "p z", "r"], [["p x", "p z", "p y"], ["p z x"], ["r x"]]),
    ],
)
def test_examples_without_ids(tmp_path, originals, views):
    write_sst2(tmp_path / "train.tsv", originals)
    path = tmp_path / "train_aug.tsv"
    rows = zip(originals, views, strict=True)
    write_sst2(path, [text for own, more in rows for text in (own, *more)])
    source, _ = convert(path, "sst2")
    assert [one.texts for one in source.records] == [(t,) for t in originals]
    assert views_of(source) == [[(t,) for t in more] for more in views]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["0", "a1", "b"], "line 3: 3 columns where 4 are expected"),
        (["1", "a1", "b", "maybe"], "line 3: 'label' is none of the label"),
        (["0", "a1", "b", "not_entailment"], "but 'entailment' in line 2"),
        (["", "a1", "b", "entailment"], "line 3: no id"),
        (["0", " ", "", "entailment"], "line 3: an empty view"),
    ],
)
def test_bad_lines_are_named(tmp_path, row, message):
    path = tmp_path / "train_aug.tsv"
    header = ["index", "sentence1", "sentence2", "label"]
    write_plain(path, [header, ["0", "a", "b", "entailment"], row])
    with pytest.raises((SystemExit, BadFile), match=message):
        convert(path, "rte")


@pytest.mark.parametrize(
    ("originals", "message"),
    [
        ("pq", "train.tsv, line 3: not in .*train_aug.tsv"),
        ("y", "train_aug.tsv, line 2: the file must begin with the first row"),
    ],
)
def test_files_must_be_of_the_same_examples(tmp_path, originals, message):
    write_sst2(tmp_path / "train.tsv", originals)
    write_sst2(tmp_path / "train_aug.tsv", "pxy")
    with pytest.raises(SystemExit, match=message):
        convert(tmp_path / "train_aug.tsv", "sst2")


def test_tasks_without_ids_need_their_originals(tmp_path, capsys):
    write_sst2(tmp_path / "train_aug.tsv", "px")
    with pytest.raises(SystemExit, match=r"No such file: .*train\.tsv"):
        convert(tmp_path / "train_aug.tsv", "sst2")
    with pytest.raises(SystemExit):
        tinybert_to_csv.main([str(tmp_path / "x"), "--task", "wnli"])
    assert "invalid choice: 'wnli'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"sentence\tlabel\n", "train_aug.tsv: no rows"),
        (b"", "train_aug.tsv: no rows"),
        (b'sentence\tlabel\n"a"b\t1\n', "line 2: not a row of a table"),
        (b"sentence\tlabel\n\xff\t1\n", "not a row of a table in UTF-8"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, message):
    path = tmp_path / "train_aug.tsv"
    path.write_bytes(content)
    with pytest.raises(SystemExit, match=message):
        convert(path, "sst2")


def test_its_command_imports_the_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["0\tp\tq", "0\tp1\tq", "0\tp1\tq", "0\tp1\tq1"]
    (tmp_path / "train_aug.tsv").write_text(
        "index\tsentence1\tsentence2\tlabel\n"
        + "".join(f"{row}\tentailment\n" for row in rows)
    )
    tinybert_to_csv.main(["train_aug.tsv", "--task", "rte"])
    first, note, command = capsys.readouterr().out.splitlines()
    assert first == "rte.csv: 1 groups, 3 samples."
    assert "in 1 of 1 groups 1 samples of sentence 2 stand" in note
    assert keras_mmel_cli.main(shlex.split(command)[1:]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "1 examples, 2 views, 2 classes: entailment 1," in out
    assert "Note: 1 views are left out, equal to their original" in out
    (record,) = files.read_records(tmp_path / "imported" / "rte")
    assert (record.example_id, record.texts, record.label) == (
        "0",
        ("p", "q"),
        0,
    )
    assert [v.texts for v in record.views] == [("p1", "q"), ("p", "q1")]

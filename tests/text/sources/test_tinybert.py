"""train_aug.tsv, written here by the loop that TinyBERT's script runs."""

import csv

import pytest

from keras_mmel.text import sources

# The text columns of the script, and whether it keeps a header.
COLUMNS = {
    "mrpc": ([3, 4], True, 5),
    "mnli": ([8, 9], True, 12),
    "cola": ([3], False, 4),
    "sst2": ([0], True, 2),
    "stsb": ([7, 8], True, 10),
    "qqp": ([3, 4], True, 6),
    "qnli": ([1, 2], True, 4),
    "rte": ([1, 2], True, 4),
}
LABELS = {
    "mrpc": (0, ["0", "1"]),
    "mnli": (11, ["neutral", "contradiction"]),
    "cola": (1, ["1", "0"]),
    "sst2": (1, ["1", "0"]),
    "stsb": (9, ["2.500", "5.000"]),
    "qqp": (5, ["1", "0"]),
    "qnli": (3, ["not_entailment", "entailment"]),
    "rte": (3, ["entailment", "not_entailment"]),
}
TEXTS = ['He said "no"\' twice.', "A caf\u00e9, at 5% off."]


def train_rows(task, size=4):
    """Rows of a train.tsv with distinct cells."""
    texts, has_header, width = COLUMNS[task]
    place, labels = LABELS[task]
    header = [f"column{i}" for i in range(width)]
    rows = [[f"{i}c{j}" for j in range(width)] for i in range(size)]
    for i, row in enumerate(rows):
        row[place] = labels[i % 2]
        for j, column in enumerate(texts):
            row[column] = f"{TEXTS[(i + j) % 2]} {i} {j}"
    return [header] * has_header + rows


def write_plain(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def candidates(text):
    """What the script's augmentor returns: the original, then its samples."""
    if "alone" in text:
        return [text]
    return [text, f"{text} \u00e9x", f'{text} "y"', f"{text} z"]


def augment_as_tinybert(folder, task, fixed=False):
    """`read_augment_write` of TinyBERT; `fixed` restores the line."""
    texts, has_header, _ = COLUMNS[task]
    with open(folder / "train.tsv", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quotechar=None))
    path = folder / "train_aug.tsv"
    with open(path, "w", newline="\n", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t")
        for i, line in enumerate(rows):
            if i == 0 and has_header:
                writer.writerow(line)
                continue
            for column in texts:
                before = line[column]
                for text in candidates(line[column]):
                    line[column] = text
                    writer.writerow(line)
                if fixed:
                    line[column] = before
    return path


def views_of(source):
    return [[view.texts for view in one.views] for one in source.records]


@pytest.mark.parametrize("task", COLUMNS)
def test_every_layout_is_read(task, tmp_path):
    rows = train_rows(task)
    write_plain(tmp_path / "train.tsv", rows)
    path = augment_as_tinybert(tmp_path, task)
    texts, has_header, _ = COLUMNS[task]
    source = sources.from_tinybert(path, task)
    assert len(source) == 4
    place, _ = LABELS[task]
    for row, record in zip(rows[has_header:], source.records, strict=True):
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
    mended = sources.from_tinybert(path, "rte")
    *_, note = mended.notes
    assert "in 4 of 4 groups 12 samples of sentence 2" in note
    assert "overwrites sentence 1 in place" in note
    assert "put back" in note
    path = augment_as_tinybert(tmp_path, "rte", fixed=True)
    right = sources.from_tinybert(path, "rte")
    assert not any("sentence 2" in note for note in right.notes)
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
    source = sources.from_tinybert(path, "rte")
    assert not any("sentence 2" in note for note in source.notes)
    assert views_of(source) == [
        [("alone", q) for q in candidates("q")[1:]],
        [(p, "alone") for p in candidates("p")[1:]],
        [],
    ]


def test_equal_neighbours_stay_two_examples(tmp_path):
    rows = [["sentence", "label"], ["same", "1"], ["same", "1"], ["x", "1"]]
    write_plain(tmp_path / "train.tsv", rows)
    path = augment_as_tinybert(tmp_path, "sst2")
    records = sources.from_tinybert(path, "sst2").records
    assert [(r.example_id, r.texts, len(r.views)) for r in records] == [
        ("0", ("same",), 3),
        ("1", ("same",), 3),
        ("2", ("x",), 3),
    ]


def write_sst2(path, texts, label="1"):
    write_plain(path, [["sentence", "label"], *([t, label] for t in texts)])


def test_a_view_that_equals_the_next_original(tmp_path):
    write_sst2(tmp_path / "train.tsv", ["p", "p z", "r"])
    path = tmp_path / "train_aug.tsv"
    write_sst2(path, ["p", "p x", "p z", "p y", "p z", "p z x", "r", "r x"])
    assert views_of(sources.from_tinybert(path, "sst2")) == [
        [("p x",), ("p z",), ("p y",)],
        [("p z x",)],
        [("r x",)],
    ]


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
    with pytest.raises(sources.BadFile, match=message):
        sources.from_tinybert(path, "rte")


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
    with pytest.raises(sources.BadFile, match=message):
        sources.from_tinybert(tmp_path / "train_aug.tsv", "sst2")


def test_tasks_without_ids_need_their_originals(tmp_path):
    write_sst2(tmp_path / "train_aug.tsv", "px")
    with pytest.raises(FileNotFoundError, match="sst2 has no ids") as raised:
        sources.from_tinybert(tmp_path / "train_aug.tsv", "sst2")
    assert raised.value.filename.endswith("train.tsv")
    write_sst2(tmp_path / "other.tsv", "p")
    source = sources.from_tinybert(
        tmp_path / "train_aug.tsv", "sst2", originals=tmp_path / "other.tsv"
    )
    assert views_of(source) == [[("x",)]]


def test_unknown_task_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`task` must be one of cola"):
        sources.from_tinybert(tmp_path / "x", "wnli")

"""train_aug.tsv, written here by the loop that TinyBERT's script runs."""

import csv

import pytest

from examples.glue_tasks import TASKS
from keras_mmel.text import sources
from keras_mmel.text.sources import tinybert

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


@pytest.mark.parametrize("task", COLUMNS)
def test_every_layout_is_read(task, tmp_path):
    rows = train_rows(task)
    write_plain(tmp_path / "train.tsv", rows)
    path = augment_as_tinybert(tmp_path, task)
    texts, has_header, _ = COLUMNS[task]
    groups = list(sources.from_tinybert(path, task).groups())
    assert len(groups) == 4
    place, _ = LABELS[task]
    answers = TASKS[task].answers
    for row, group in zip(rows[has_header:], groups, strict=True):
        original = tuple(row[column] for column in texts)
        assert group.texts == original
        expected = [
            original[:side] + (sample,) + original[side + 1 :]
            for side, text in enumerate(original)
            for sample in candidates(text)[1:]
        ]
        assert list(group.views) == expected
        if answers:
            assert answers[group.label] == row[place]
        else:
            assert group.label == float(row[place])
            assert isinstance(group.label, float) == (task == "stsb")


def test_columns_are_those_of_the_tasks():
    assert set(tinybert.LAYOUTS) == set(TASKS)
    for task, layout in tinybert.LAYOUTS.items():
        assert len(layout.text) == len(TASKS[task].columns)


def test_fault_of_pairs_is_found_and_explained(tmp_path):
    write_plain(tmp_path / "train.tsv", train_rows("rte"))
    path = augment_as_tinybert(tmp_path, "rte")
    groups = sources.from_tinybert(path, "rte")
    (note,) = groups.notes()
    assert "in 4 of 4 groups 12 samples of sentence 2" in note
    assert "overwrites sentence 1 in place" in note
    assert "put back" in note


def test_a_corrected_script_has_no_fault(tmp_path):
    write_plain(tmp_path / "train.tsv", train_rows("rte"))
    mended = list(
        sources.from_tinybert(
            augment_as_tinybert(tmp_path, "rte"), "rte"
        ).groups()
    )
    right = sources.from_tinybert(
        augment_as_tinybert(tmp_path, "rte", fixed=True), "rte"
    )
    assert right.notes() == []
    views = [group.views for group in right.groups()]
    assert views == [group.views for group in mended]


def test_fault_can_be_kept_or_pairs_combined(tmp_path):
    rows = [["index", "a", "b", "label"], ["7", "p", "q", "entailment"]]
    write_plain(tmp_path / "train.tsv", rows)
    path = augment_as_tinybert(tmp_path, "rte")

    def views(pair_fault):
        groups = sources.from_tinybert(path, "rte", pair_fault=pair_fault)
        (group,) = groups.groups()
        assert group.example_id == "7"
        return list(group.views)

    x, y, z = " \u00e9x", ' "y"', " z"
    first = [(f"p{w}", "q") for w in (x, y, z)]
    assert views("repair") == first + [("p", f"q{w}") for w in (x, y, z)]
    assert views("keep") == first + [("p z", f"q{w}") for w in (x, y, z)]
    assert views("combine") == [(f"p{w}", f"q{w}") for w in (x, y, z)]


@pytest.mark.parametrize("pair_fault", ["repair", "keep", "combine"])
def test_a_sentence_without_samples(tmp_path, pair_fault):
    rows = [
        ["index", "a", "b", "label"],
        ["0", "alone", "q", "entailment"],
        ["1", "p", "alone", "entailment"],
        ["2", "alone", "alone", "entailment"],
    ]
    write_plain(tmp_path / "train.tsv", rows)
    groups = sources.from_tinybert(
        augment_as_tinybert(tmp_path, "rte"), "rte", pair_fault=pair_fault
    )
    assert groups.notes() == []
    first, second, third = groups.groups()
    assert first.views == tuple(("alone", q) for q in candidates("q")[1:])
    assert second.views == tuple((p, "alone") for p in candidates("p")[1:])
    assert third.views == ()


def test_equal_neighbours_stay_two_examples(tmp_path):
    rows = [["sentence", "label"], ["same", "1"], ["same", "1"], ["x", "1"]]
    write_plain(tmp_path / "train.tsv", rows)
    path = augment_as_tinybert(tmp_path, "sst2")
    groups = sources.from_tinybert(path, "sst2")
    read = [(g.example_id, g.texts, len(g.views)) for g in groups.groups()]
    assert read == [
        ("0", ("same",), 3),
        ("1", ("same",), 3),
        ("2", ("x",), 3),
    ]


def test_a_view_that_equals_the_next_original(tmp_path):
    write_plain(
        tmp_path / "train.tsv",
        [["sentence", "label"], ["p", "1"], ["p z", "1"], ["r", "1"]],
    )
    path = tmp_path / "train_aug.tsv"
    texts = ["p", "p x", "p z", "p y", "p z", "p z x", "r", "r x"]
    write_plain(path, [["sentence", "label"], *([t, "1"] for t in texts)])
    groups = list(sources.from_tinybert(path, "sst2").groups())
    assert [g.views for g in groups] == [
        (("p x",), ("p z",), ("p y",)),
        (("p z x",),),
        (("r x",),),
    ]


def bad_line(path, task="rte", **options):
    with pytest.raises(sources.BadFile) as raised:
        sources.from_tinybert(path, task, **options)
    return str(raised.value)


HEADER = ["index", "sentence1", "sentence2", "label"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["0", "a1", "b"], "line 3: 3 columns where 4 are expected"),
        (["0", "a1", "b", "maybe"], "line 3: 'label' is none of the label"),
        (["0", "a1", "b", "not_entailment"], "but 'entailment' in line 2"),
        (["", "a1", "b", "entailment"], "line 3: no id"),
        (["0", " ", "", "entailment"], "line 3: an empty view"),
    ],
)
def test_bad_lines_are_named(tmp_path, row, message):
    path = tmp_path / "train_aug.tsv"
    write_plain(path, [HEADER, ["0", "a", "b", "entailment"], row])
    assert message in bad_line(path)


def test_an_id_that_comes_again_is_refused(tmp_path):
    path = tmp_path / "train_aug.tsv"
    rows = [[i, "a", "b", "entailment"] for i in "010"]
    write_plain(path, [HEADER, *rows])
    assert "line 4: id '0' again, which began in line 2" in bad_line(path)


def test_all_bad_lines_are_named_up_to_a_limit(tmp_path):
    path = tmp_path / "train_aug.tsv"
    write_plain(path, [HEADER, *([str(i), "a"] for i in range(30))])
    message = bad_line(path)
    assert message.count("columns where") == 20
    assert message.endswith("there may be more")
    assert bad_line(path, max_problems=1).count("columns where") == 1


def test_tasks_without_ids_need_their_originals(tmp_path):
    path = tmp_path / "train_aug.tsv"
    write_plain(path, [["sentence", "label"], ["p", "1"], ["p x", "1"]])
    with pytest.raises(FileNotFoundError, match="sst2 has no ids") as raised:
        sources.from_tinybert(path, "sst2")
    assert raised.value.filename.endswith("train.tsv")
    originals = tmp_path / "other.tsv"
    write_plain(originals, [["sentence", "label"], ["q", "1"]])
    assert "line 2: the file must begin with" in bad_line(
        path, "sst2", originals=originals
    )
    write_plain(originals, [["sentence", "label"], ["p", "1"], ["q", "1"]])
    assert "ends before line 3 of" in bad_line(
        path, "sst2", originals=originals
    )
    write_plain(path, [["sentence", "label"], ["p", "1"], ["p x", "0"]])
    assert "line 3: belongs neither" in bad_line(
        path, "sst2", originals=originals
    )


def test_wrong_words_are_refused(tmp_path):
    with pytest.raises(ValueError, match="`task` must be one of cola"):
        sources.from_tinybert(tmp_path / "x", "wnli")
    with pytest.raises(ValueError, match="`pair_fault` must be one of"):
        sources.from_tinybert(tmp_path / "x", "rte", pair_fault="mend")

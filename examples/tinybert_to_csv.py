r"""TinyBERT's train_aug.tsv of a task of GLUE as a CSV in long form.

Python alone is enough. RTE/train_aug.tsv is what TinyBERT's script
`data_augmentation.py` wrote; five seconds on two CPU cores for 150,000 rows:

    python tinybert_to_csv.py RTE/train_aug.tsv --task rte --out rte.csv

Expected: rte.csv, the number of its groups and samples, a note of how many
pairs were mended, and a command. With `keras-mmel[text,datasets]` that command
checks the CSV, leaves out views that are equal to their original or to another
one, and writes the files that `keras_mmel.text.read_augmented` reads.

What is mended: the script takes each line of train.tsv and, for each text
column, writes the line once for every candidate text, the original among them
first. It writes the candidate into the line *in place*, so that after the first
column of a pair the line keeps the last candidate of sentence 1, and every
candidate of sentence 2 is written beside that one, not beside the original
sentence 1:

    a0 b0 | a1 b0 | ... | am b0 | am b0 | am b1 | ... | am bn

Whoever trains on it sees every sentence 2 with a sentence 1 that is as far
from the original as the last sample, under the label of the original. As the
script looks at one sentence at a time, sentence 2 itself is not affected, and
putting a0 back gives exactly what a corrected script would have written.
"""

import argparse
import csv
import itertools
import pathlib
import shlex
from typing import NamedTuple

# Columns of each task's train.tsv in GLUE's own download.
COLUMNS = {
    "cola": "source label mark sentence",
    "sst2": "sentence label",
    "mrpc": "label id1 id2 sentence1 sentence2",
    "stsb": "id genre filename year old_index source1 source2 sentence1 "
    "sentence2 label",
    "qqp": "id qid1 qid2 sentence1 sentence2 label",
    "mnli": "id promptID pairID genre binary_parse1 binary_parse2 parse1 "
    "parse2 sentence1 sentence2 label1 label",
    "qnli": "id sentence1 sentence2 label",
    "rte": "id sentence1 sentence2 label",
}
NO_HEADER = ("cola",)
# They have no ids: nothing but train.tsv says where an example ends.
NEED_ORIGINALS = ("cola", "sst2")

# The classes 0, 1, ... as TFDS numbers them; other tasks have numbers.
ENTAILMENT = ("entailment", "not_entailment")
LABEL_NAMES = {
    "mnli": ("entailment", "neutral", "contradiction"),
    "qnli": ENTAILMENT,
    "rte": ENTAILMENT,
}


class Row(NamedTuple):
    """Cells by their column, and the number of the first line they are in."""

    line: int
    cells: dict[str, str]


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(
        description=f"{__doc__.partition(chr(10))[0]} In pairs the original "
        "sentence 1 is put back beside the samples of sentence 2.",
    )
    add = parser.add_argument
    add(
        "file",
        type=pathlib.Path,
        help="TinyBERT's train_aug.tsv; for cola and sst2 the train.tsv it was "
        "made from must stand beside it, for they have no ids",
    )
    add("--task", choices=COLUMNS, required=True, help="the task of the file")
    add(
        "--out",
        type=pathlib.Path,
        metavar="CSV",
        help="the file to write (default: TASK.csv)",
    )
    args = parser.parse_args(argv)
    args.out = args.out or pathlib.Path(f"{args.task}.csv")
    return args


def fail(path, line, problem):
    """Ends the script with what is wrong in a line of a file."""
    raise SystemExit(f"{path}, line {line}: {problem}")


def read_rows(path, task, quoting):
    """Reads the rows below the header, if the task's files have one."""
    if not path.is_file():
        raise SystemExit(f"No such file: {path}")
    columns = COLUMNS[task].split()
    rows, line = [], 1
    # Python's csv stops at 131,072 characters in a cell by itself.
    csv.field_size_limit(max(csv.field_size_limit(), path.stat().st_size))
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        reader = csv.reader(file, delimiter="\t", quoting=quoting, strict=True)
        try:
            if task not in NO_HEADER:
                next(reader, None)
                line = reader.line_num + 1
            for cells in reader:
                if cells and len(cells) != len(columns):
                    fail(
                        path,
                        line,
                        f"{len(cells)} columns where {len(columns)} are "
                        f"expected ({', '.join(columns)})",
                    )
                if cells:  # no empty line
                    cell_of = dict(zip(columns, cells, strict=True))
                    rows.append(Row(line, cell_of))
                line = reader.line_num + 1
        except (csv.Error, UnicodeDecodeError) as error:
            fail(path, line, f"not a row of a table in UTF-8: {error}")
    if not rows:
        raise SystemExit(f"{path}: no rows")
    return rows


def keys_by_id(path, rows):
    """Gives the id of each row."""
    names = [n for n in ("id", "id1", "id2") if n in rows[0].cells]
    keys = []
    for row in rows:
        # STS-B and others number their lines; pairs of MRPC have two ids.
        ids = [row.cells[name] for name in names]
        if not any(ids):
            fail(path, row.line, "no id")
        keys.append("-".join(ids))
    return keys


def keys_by_originals(path, rows, originals_path, originals):
    """Finds the number of the example of each row of a table without ids.

    A group begins with its original. The last one is looked for first: a view
    may be equal to the original that comes after it.
    """
    starts, start = set(), len(rows)
    for original in reversed(originals):
        before = reversed(range(start))
        start = next((i for i in before if rows[i].cells == original.cells), -1)
        if start < 0:
            problem = f"not in {path}, or not in its place"
            fail(originals_path, original.line, problem)
        starts.add(start)
    if start:
        problem = f"the file must begin with the first row of {originals_path}"
        fail(path, rows[0].line, problem)
    begins = (index in starts for index in range(len(rows)))
    return [str(number - 1) for number in itertools.accumulate(begins)]


def mend(pairs):
    """Puts the original sentence 1 back beside the samples of sentence 2."""
    original_1, original_2 = pairs[0]
    # The last candidate of sentence 1 still stands beside its own sentence 2.
    last = next(a for a, b in reversed(pairs) if b == original_2)
    return [
        (original_1, b) if a == last and b != original_2 else (a, b)
        for a, b in pairs
    ]


def convert(path, task, out):
    """Writes the CSV; gives sentences that tell what was done."""
    # The script writes through Python's csv module, which encloses a text
    # with a quote in it in quotes, but reads train.tsv without that rule.
    rows = read_rows(path, task, csv.QUOTE_MINIMAL)
    if task in NEED_ORIGINALS:
        originals_path = path.with_name("train.tsv")
        originals = read_rows(originals_path, task, csv.QUOTE_NONE)
        keys = keys_by_originals(path, rows, originals_path, originals)
    else:
        keys = keys_by_id(path, rows)
    groups = {}
    for key, row in zip(keys, rows, strict=True):
        groups.setdefault(key, []).append(row.cells)

    columns = [name for name in rows[0].cells if "sentence" in name]
    num_faulty_groups = num_faults = 0
    with open(out, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        # The first row of an id is the original.
        writer.writerow(["id", *columns, "label"])
        for key, group in groups.items():
            texts = [tuple(cells[name] for name in columns) for cells in group]
            mended = mend(texts) if len(columns) == 2 else texts
            for cells, row_texts in zip(group, mended, strict=True):
                writer.writerow([key, *row_texts, cells["label"]])
            pairs = zip(texts, mended, strict=True)
            faults = sum(before != after for before, after in pairs)
            num_faults += faults
            num_faulty_groups += faults > 0

    notes = [f"{out}: {len(groups)} groups, {len(rows) - len(groups)} samples."]
    if num_faults:
        notes.append(
            f"Note: in {num_faulty_groups} of {len(groups)} groups "
            f"{num_faults} samples of sentence 2 stand beside the last "
            "augmented sentence 1, because TinyBERT's script overwrites "
            "sentence 1 in place; the original sentence 1 is put back."
        )
    command = ["keras-mmel", "import", str(out), "--text", *columns]
    command += ["--label", "label", "--id", "id"]
    if task in LABEL_NAMES:
        command += ["--label_names", *LABEL_NAMES[task]]
    notes.append(shlex.join([*command, "--out", f"imported/{task}"]))
    return notes


def main(argv=None):
    args = parse_arguments(argv)
    for note in convert(args.file, args.task, args.out):
        print(note)


if __name__ == "__main__":
    main()

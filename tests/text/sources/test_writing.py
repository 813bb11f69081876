"""Imported groups in our files."""

import json
import math

import pytest

from keras_mmel.text import Tokenizer
from keras_mmel.text import sources
from keras_mmel.text.files import read_manifest
from keras_mmel.text.files import read_records
from tests.text import tiny

ROWS = [
    {"t": "a good film", "v": ["the good film", "a bad film"], "y": "pos"},
    {"t": "dull", "v": [], "y": "neg"},
    {"t": "a fine song", "v": ["a fine book"], "y": "pos"},
]


def wide(path, rows=ROWS, text=("t",)):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = sources.open_table(path)
    return sources.WideForm(table, text, ("v",), "y")


def test_files_hold_what_was_imported(tmp_path):
    groups = wide(tmp_path / "w.jsonl")
    told = []
    sources.write_imported(
        tmp_path / "out",
        groups,
        num_shards=2,
        split="test",
        progress=lambda *numbers: told.append(numbers),
    )
    assert told[-1] == (3, 3)
    manifest = read_manifest(tmp_path / "out")
    assert manifest.split == "test" and manifest.num_shards == 2
    assert manifest.label_names == ("neg", "pos")
    assert manifest.made["augmenter"]["tokenizer"] is None
    records = list(read_records(tmp_path / "out"))
    for number, (row, record) in enumerate(zip(ROWS, records, strict=True)):
        assert record.example_id == str(number)
        assert record.texts == (row["t"],)
        assert ["neg", "pos"][record.label] == row["y"]
        assert [view.texts for view in record.views] == [
            (text,) for text in row["v"]
        ]
        assert record.token_ids == ()
        for view in record.views:
            assert view.token_ids == view.positions == view.teacher == ()
            assert math.isnan(view.log_prob)


def test_ids_of_a_tokenizer_are_stored(tmp_path):
    tiny.make_checkpoint(tmp_path / "bert")
    tokenizer = Tokenizer.from_directory(tmp_path / "bert")
    rows = [{"p": "a film", "q": "good", "v": [["the film", "bad"]], "y": 1.5}]
    groups = wide(tmp_path / "w.jsonl", rows, ("p", "q"))
    sources.write_imported(
        tmp_path / "out", groups, tokenizer=tokenizer, progress=False
    )
    (record,) = read_records(tmp_path / "out")
    words = [tokenizer.vocabulary[i] for i in record.token_ids]
    assert words == ["[CLS]", "a", "film", "[SEP]", "good", "[SEP]"]
    words = [tokenizer.vocabulary[i] for i in record.views[0].token_ids]
    assert words == ["[CLS]", "the", "film", "[SEP]", "bad", "[SEP]"]
    made = read_manifest(tmp_path / "out").made
    assert made["augmenter"]["tokenizer"] == tokenizer.fingerprint


def test_another_file_is_refused_in_the_same_directory(tmp_path):
    write = sources.write_imported
    write(tmp_path / "out", wide(tmp_path / "w.jsonl"), progress=False)
    written = write(
        tmp_path / "out", wide(tmp_path / "w.jsonl"), progress=False
    )
    assert written.num_written == 0
    with pytest.raises(ValueError, match="source.sha256"):
        write(
            tmp_path / "out",
            wide(tmp_path / "w.jsonl", [ROWS[0], ROWS[0], ROWS[0]]),
            progress=False,
        )

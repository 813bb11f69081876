import sys

import pytest

from experiments.benchmarks import measured
from experiments.benchmarks import since
from keras_mmel.text.files import read_records
from keras_mmel.text.reading.table_loading import make_table


def test_compare():
    found = {
        "reading 9 now": [{"a": 1, "b": 3}, {"a": 3, "b": 3}],
        "reading 9 before": [{"a": 2, "b": 1}, {"a": 4, "b": 1}],
        "saved now": [{"c": 5}, {"c": 7}],
    }
    figures = since.compare(found)
    assert list(figures) == ["a", "b", "c"]
    medians = {
        (name, arm): one["median"]
        for name, arms in figures.items()
        for arm, one in arms.items()
    }
    assert medians == pytest.approx(
        {
            ("a", "now"): 2,
            ("a", "before"): 3,
            ("a", "ratio"): (1 / 2 + 3 / 4) / 2,
            ("b", "now"): 3,
            ("b", "before"): 1,
            ("b", "ratio"): 3,
            ("c", "now"): 6,
        }
    )


def test_the_made_files_and_tables(tmp_path):
    folder = since.write_files(tmp_path, 3)
    table = make_table(read_records(folder), None)
    assert table.views.tolist() == [measured.ROWS] * 3
    made = measured.make(4, 5)
    assert made.lengths.tolist() == [5] * 4 * measured.ROWS
    arrays = (made.token_ids, made.starts, made.borders, made.first)
    arrays += (made.keys, made.labels)
    ids = sum(map(sys.getsizeof, made.example_ids))
    expected = sum(array.nbytes for array in arrays) + ids
    assert measured.megabytes(made) * 2**20 == pytest.approx(expected)

"""Augmenting on Beam: the files of one process."""

import os
import pathlib

import pytest

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import augment_on_beam
from keras_mmel.text import load_masked_lm
from keras_mmel.text import write_augmented
from tests.text.files.fakes import contents
from tests.text.files.fakes import make_source

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_two_workers_write_the_files_of_one(tmp_path, checkpoint, monkeypatch):
    apache_beam = pytest.importorskip("apache_beam")
    source, checkpoint = make_source(40, 2), str(checkpoint)
    made = tmp_path / "made"
    made.mkdir()

    def make_augmenter():
        (made / f"{os.getpid()}").touch(exist_ok=False)  # once in a process
        return MaskedLMAugmenter(load_masked_lm(checkpoint), slots=8)

    # The workers are processes of their own.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    options = apache_beam.options.pipeline_options.PipelineOptions(
        direct_running_mode="multi_processing", direct_num_workers=2
    )
    with apache_beam.Pipeline("DirectRunner", options) as pipeline:
        augment_on_beam(
            pipeline,
            tmp_path / "beam",
            lambda: source,
            make_augmenter,
            num_shards=7,
        )
    assert len(list(made.iterdir())) in (1, 2)
    write_augmented(
        tmp_path / "one", source, make_augmenter(), num_shards=7, progress=False
    )
    assert contents(tmp_path / "beam") == contents(tmp_path / "one")

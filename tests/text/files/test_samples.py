"""What is said of examples that got fewer samples than were asked for."""

import pytest

from keras_mmel.text import files
from keras_mmel_cli import main
from tests.text.files import fakes

THAI = "\u0e20\u0e32\u0e1e \u0e14\u0e35"  # two words, unknown to the masked LM


@pytest.fixture(scope="module")
def written(tmp_path_factory, augmenter):
    texts = ["the film was so good", THAI, "", f"a good {THAI}"]
    records = [files.Record(f"{i}", (text,)) for i, text in enumerate(texts)]
    source = files.InMemory(records, notes=["it was looked at"])
    folder = tmp_path_factory.mktemp("samples")
    return folder, source, augmenter


def test_a_last_line_tells(written, capsys):
    folder, source, augmenter = written
    parts = {"num_shards": 2}
    files.write_augmented(folder, source, augmenter, shard=(0, 2), **parts)
    assert capsys.readouterr().out == "Note: it was looked at.\n"
    for _ in range(2):  # the second time there is nothing to do
        files.write_augmented(folder, source, augmenter, **parts)
        out = capsys.readouterr().out.splitlines()
        # Of 5 + 2 + 0 + 4 tokens, 2 + 2 are unknown words.
        assert out[-1] == (
            "2 of 4 examples have fewer samples than asked, 2 none; "
            "unknown tokens: 36.4 %."
        )
    views = [len(record.views) for record in files.read_records(folder)]
    assert views == [4, 0, 0, 4]
    files.write_augmented(folder, source, augmenter, progress=False, **parts)
    assert capsys.readouterr().out == ""
    assert main(["inspect", str(folder)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Samples samples {out[-1]} Lengths" in shown


def test_samples_of_others_are_not_counted(tmp_path, capsys):
    fakes.write(tmp_path, progress=True)
    assert capsys.readouterr().out == ""
    assert files.AugmentedFiles(tmp_path).describe_samples() == ""

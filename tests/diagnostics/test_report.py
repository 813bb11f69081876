"""The HTML report: complete, self-contained, and the same every time."""

import numpy as np
import pytest

from keras_mmel.diagnostics import Run
from keras_mmel.diagnostics import write_report
from keras_mmel.pages import pictures
from tests.diagnostics.runs import run_of
from tests.pages.test_page import Reader


def read(path):
    text = path.read_text(encoding="utf-8")
    return text, Reader(text)


def a_run(**settings):
    names = {"classes": [0, 1, 0], "class_names": ["<cat>", "dog"]}
    losses = [[1, 2, 3], [1, 1, 1], [5, 0.25, 0]]
    return run_of(losses, (2, 2), records=2, **names, **settings)


def test_a_page_of_images(tmp_path):
    images = np.full((3, 3, 4, 4, 3), 1, "uint8")
    images *= np.arange(9, dtype="uint8").reshape(3, 3, 1, 1, 1)
    run = a_run(images=images)
    write_report(run, tmp_path / "new" / "page.html", title="A <run>")
    page, found = read(tmp_path / "new" / "page.html")
    text = " ".join(found.text)
    effective = run.summaries[-1]["effective_views"]
    for part in (
        "A <run>",
        "objective Hard(lambda_p=1.0)",
        f"{effective:.2f} of 2.67",  # eight views of three groups
        "group 2, <cat>",
        "group 2, original: weight 0.91, loss 5",
    ):
        assert part in text
    # Nothing is asked for from elsewhere.
    links = [link for link in found.links if not link.startswith("#")]
    assert all(link.startswith("data:image/png;base64,") for link in links)
    hardest = f'<img src="{pictures.data_uri(images[2, 0])}"'
    assert page.index("<img") == page.index(hardest)
    # The drawings have the colours of the page, light or dark.
    assert page.count("<svg") == 2 and "currentColor" in page
    assert "#333333" not in page


def test_texts_are_marked_and_the_same_run_gives_the_same_page(tmp_path):
    run = a_run(texts=[["a <b> film", "a <i> film", "a <b> film now"]] * 3)
    write_report(run, tmp_path / "one.html")
    write_report(run, tmp_path / "two.html")
    page, _ = read(tmp_path / "one.html")
    assert page == (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "a &lt;<mark>i</mark>&gt; film" in page
    assert "a &lt;b&gt; film <mark>now</mark>" in page


def test_what_is_not_finite_and_what_is_empty(tmp_path):
    run = Run(mask=np.ones((2, 2), bool), texts=[["a", "b"]] * 2)
    with pytest.raises(ValueError, match="must have records.*Received"):
        write_report(run, tmp_path / "a.html")
    run.add(run.mask * np.nan, run.mask * np.nan, step=1, epoch=1)
    write_report(run, tmp_path / "b.html")
    _, found = read(tmp_path / "b.html")
    assert any("2 of 2 groups have a view loss" in text for text in found.text)

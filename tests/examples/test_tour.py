"""The notebook: its cells as a program, and as a notebook shows them."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK = json.loads((ROOT / "examples" / "tour.ipynb").read_text("utf-8"))
CODE = [
    "".join(cell["source"])
    for cell in NOTEBOOK["cells"]
    if cell["cell_type"] == "code"
]


def shorter(code):
    return re.sub(r"(epochs|seeds)=\d+", r"\1=2", code)


def test_it_has_ten_cells_and_what_they_show():
    cells = [c for c in NOTEBOOK["cells"] if c["cell_type"] == "code"]
    assert len(cells) == 10
    kinds = [
        {kind for output in cell["outputs"] for kind in output.get("data", ())}
        for cell in cells
    ]
    assert sum("text/html" in of_cell for of_cell in kinds) == 3
    assert sum("image/png" in of_cell for of_cell in kinds) == 2
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [o for o in outputs if o["output_type"] == "error"]
    assert not [o for o in outputs if o.get("name") == "stderr"]


@pytest.mark.slow
def test_its_cells_are_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "tour"}
    program = tmp_path / "tour.py"  # where TensorFlow finds functions
    program.write_text("\n".join(map(shorter, CODE)), "utf-8")
    exec(compile(program.read_text("utf-8"), program, "exec"), names)
    assert {p.name for p in tmp_path.iterdir()} > {"card.html", "digits.keras"}
    assert names["comparison"].methods == ["uniform", "hard 0.3", "plain"]


@pytest.mark.slow
def test_a_kernel_shows_our_pictures_and_after_them_those_of_the_user(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    new = nbformat.v4.new_code_cell
    # Without what takes long and shows no picture.
    cells = [new(shorter(code)) for code in CODE if "compare(" not in code]
    cells += [
        new("import matplotlib.pyplot as plt\nplt.plot([1, 2])"),
        new("plt.plot([2, 1]); watch.run"),
    ]
    book = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=600, resources=resources).execute()
    shown = {
        cell.source: [dict(o.get("data", {})) for o in cell.outputs]
        for cell in cells
    }
    for code, outputs in shown.items():
        if "plot" in code:
            pictures = [o for o in outputs if "image/png" in o]
            assert len(pictures) == 1, code
    (run,) = (o for o in shown[cells[-1].source] if "text/html" in o)
    assert run["text/plain"].startswith("<Run: ")
    card = next(o for code in shown for o in shown[code] if "views>" in str(o))
    assert "turned left" in card["text/html"]

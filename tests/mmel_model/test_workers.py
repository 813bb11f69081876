"""`fit` of two processes under `MultiWorkerMirroredStrategy` beside one."""

import signal

import keras
import numpy as np
import pytest

from keras_mmel.diagnostics import Run
from tests import cases
from tests.scripts import on_workers
from tests.scripts.child import run_together
from tests.scripts.child import selected
from tests.scripts.child import tf_config

KILLED = -signal.SIGKILL
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results(request, tmp_path_factory):
    """The folder, and what each worker found, by "case:name"."""
    folder = tmp_path_factory.mktemp("workers")
    names = selected(request, "name")
    run_together("on_workers", folder, *names, environs=tf_config)
    return folder, [dict(np.load(folder / f"{i}.npz")) for i in range(2)]


@pytest.mark.parametrize("name", on_workers.TABLE)
def test_two_workers_equal_one_process(results, name):
    folder, of_workers = results
    case = on_workers.TABLE[name]
    expected = on_workers.train(name)
    for found in of_workers:
        cases.assert_close(cases.of_case(found, name), expected)
        # The scores of views, next, are the chief's alone.
        expected = {k: v for k, v in expected.items() if k[:6] != "views/"}
    if name == "watched":
        saved = keras.models.load_model(folder / "2.keras")
        logs = {key for key in expected if key.startswith("log/")}
        expected = {k: expected[k] for k in expected.keys() - logs}
        cases.assert_close(cases.result(saved, case), expected)
        assert list(Run.load(folder / "run.npz").steps) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("compare", "must give a model of one process"),
        ("fit", "must be whole batches"),
    ],
)
def test_refusals(results, call, message):
    for found in results[1]:
        assert message in str(found[f"refused:{call}"])


def test_killed_workers_go_on_where_they_were(tmp_path):
    killed, unbroken = tmp_path / "killed", tmp_path / "unbroken"
    for folder in (killed, unbroken):
        folder.mkdir()

    def run(folder, *codes):
        return run_together(
            "train_with_backup", folder, codes=codes, environs=tf_config
        )

    for name in ("killed-0", "killed-1"):
        (unbroken / name).touch()
    run(unbroken, 0, 0)
    # One dies, and the other ends with an error.
    (killed / "killed-0").touch()
    output, _ = run(killed, 1, KILLED)
    assert "UnavailableError" in output
    for name in ("killed-0", "killed-1"):
        (killed / name).unlink()
    run(killed, KILLED, KILLED)
    run(killed, 0, 0)
    for name in ("final-0.npz", "final-1.npz"):
        found, expected = (dict(np.load(f / name)) for f in (killed, unbroken))
        for key in expected:
            if key.startswith("log/"):
                expected[key] = expected[key][2:]
        assert cases.differences(found, expected) == {}
    assert not (killed / "backup").exists()

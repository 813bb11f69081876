"""Runs of a script that are stopped, and started again."""

import numpy as np
import pytest

from experiments.training.runs import Progress


def check_goes_on(run, whole, epoch, monkeypatch, capsys):
    """Stopped in an epoch, from 0, `run` goes on to the record `whole`."""
    begin = Progress.on_epoch_begin

    def stop(self, number, logs=None):
        if number == epoch:
            raise KeyboardInterrupt
        begin(self, number, logs)

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "on_epoch_begin", stop)
        with pytest.raises(KeyboardInterrupt):
            run()
    capsys.readouterr()
    parts = run()
    assert f"continues after epoch {epoch}" in capsys.readouterr().out
    assert parts["settings"] == whole["settings"]
    assert parts["curves"].keys() == whole["curves"].keys()
    for name, curve in whole["curves"].items():
        np.testing.assert_allclose(
            parts["curves"][name], curve, rtol=1e-4, err_msg=name
        )

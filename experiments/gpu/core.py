"""The core on the card, XLA on: it trains as TensorFlow does on a processor.

    python -m experiments.gpu run core

Five minutes. Three questions, a run of the record each: the cases of
`tests/test_backends.py`, against what TensorFlow gave where `pack` ran; the
formulas against NumPy in float64; those tests that need no TensorFlow. Matrix
products are in full float32 (`JAX_DEFAULT_MATMUL_PRECISION=highest`), since the
tolerances are for it. Expected: no case beyond its tolerance, nothing failed.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import jax
import numpy as np

from experiments import records
from experiments.gpu import results
from keras_mmel import objectives
from tests import oracle

# Writes what every case gives to a file.
CASES_COMMAND = (sys.executable, "-m", "tests.scripts.on_backend")
TOLERANCE = 1e-5
PRECISION = {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}
TESTS = (
    "tests/losses/test_compiled.py",
    "tests/losses/test_soft_targets.py",
    "tests/mmel_model/test_as_keras.py",
    "tests/mmel_model/test_view_weights.py",
    "tests/training/test_view_statistics.py",
)
# Running eagerly reads TensorFlow's tensors.
PYTEST = ("-q", "--noconftest", "-m", "", "-k", "not eagerly")


def add_options(parser):
    add = parser.add_argument
    questions = ("cases", "formulas", "tests")
    add("--only", nargs="+", choices=questions, default=questions)
    add("--cases", nargs="*", default=(), help="all of them by default")
    add("--tests", nargs="+", default=TESTS)


def _child(command):
    """Runs a command in the root of the project; its exit status."""
    environ = os.environ | PRECISION | {"KERAS_BACKEND": "jax"}
    return subprocess.run(command, env=environ, cwd=records.ROOT).returncode


def deviation(found, expected) -> float:
    """The largest difference, as a multiple of what is let pass.

    1e9 where shapes differ, or one alone is finite.
    """
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    if found.shape != expected.shape:
        return 1e9
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    bound = TOLERANCE * (1 + np.abs(expected))
    off = np.where(same, 0.0, np.abs(found - expected) / bound)
    worst = np.max(off, initial=0.0)
    return float(np.nan_to_num(worst, nan=1e9, posinf=1e9))


def compare_cases(found, expected) -> dict:
    """The largest deviation of each case; what was not there or failed.

    Args:
        found: Arrays by "case:name".
        expected: The same, of TensorFlow.
    """
    cases = sorted({key.partition(":")[0] for key in found if ":" in key})
    cases = [case for case in cases if case != "refused"]
    worst, failed = {}, {}
    for case in cases:
        if f"{case}:error" in found:
            failed[case] = str(found[f"{case}:error"]).splitlines()[-1]
            continue
        # What JAX adds, such as whether a saved model goes on, is no number
        # of TensorFlow's.
        names = [key for key in found if key.startswith(f"{case}:")]
        numbers = [name for name in names if name in expected]
        worst[case] = max(deviation(found[n], expected[n]) for n in numbers)
    return {"deviation_over_tolerance": worst, "failed": failed}


def cases(args) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "found.npz"
        status = _child([*CASES_COMMAND, path, *args.cases])
        if status:
            return {"failed": {"all": f"exit status {status}"}}
        expected = pathlib.Path(args.data) / "base" / "expected.npz"
        with np.load(path) as found, np.load(expected) as expected:
            return compare_cases(dict(found), dict(expected))


def formulas(args) -> dict:
    """The largest deviations over values of lambda_p and sizes of losses."""
    random, worst = np.random.default_rng(0), {"value": 0.0, "weights": 0.0}
    for lambda_p in oracle.LAMBDAS:
        of_losses = jax.jit(objectives.Hard(lambda_p).value_and_weights)
        for scale in (1e-3, 1.0, 1e3):
            losses = scale * random.gamma(1.0, size=(256, 20))
            losses = losses.astype("float32")
            value, weights = of_losses(losses)
            expected = oracle.maximal_expected_loss(losses, lambda_p)
            error = np.max(np.abs(value / expected - 1))
            worst["value"] = max(worst["value"], float(error))
            expected = oracle.view_weights(losses, lambda_p)
            error = np.max(np.abs(weights - expected))
            worst["weights"] = max(worst["weights"], float(error))
    return {"relative_error": worst["value"], "error": worst["weights"]}


def tests(args) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tests.xml"
        command = [sys.executable, "-m", "pytest", *PYTEST]
        command += ["-p", "no:cacheprovider", f"--junitxml={path}", *args.tests]
        status = _child(command)
        if not path.exists():
            return {"failed": [f"exit status {status}"]}
        root = xml.etree.ElementTree.parse(path).getroot()
        named = list(root.iter("testcase"))
        failed = [
            f"{one.get('classname')}.{one.get('name')}"
            for one in named
            if one.find("failure") is not None or one.find("error") is not None
        ]
        return {"tests": len(named), "failed": failed}


def main(args, command):
    kept = results.Results(args.out, "core", args.data, command)
    for question in args.only:
        ask = {"cases": cases, "formulas": formulas, "tests": tests}[question]
        settings = {"question": question, **PRECISION}
        if kept.has(settings):
            print(f"{question}: finished before", flush=True)
            continue
        found = ask(args)
        kept.add(settings, **found)
        print(f"{question}: {found}", flush=True)

"""`fit` under `tf.distribute.MirroredStrategy` beside a single device.

One process trains all cases of `scripts/on_replicas.py` for each number of
replicas; their sums and the uneven last batch equal those of one device, which
`test_reference.py` compares with a plain loop.
"""

import functools

import numpy as np
import pytest

from tests import cases
from tests import older
from tests.scripts import on_replicas
from tests.scripts.child import Child

# Keras weights the losses of single outputs as if all replicas had the same
# number of examples, in plain `fit` as well.
OF_OUTPUTS = {"log/first_loss", "log/second_loss"}
NOT_EXACT = {"two_outputs": OF_OUTPUTS, "moving": OF_OUTPUTS}
# docs/limits.md says it.
OLD_KERAS = older.not_before(14, "adds an activity regularizer up over a batch")
RUNS = [
    pytest.param(
        name,
        count,
        id=f"{name}-{count}",
        marks=[OLD_KERAS]
        if name == "soft_everything" and count == 2
        else [pytest.mark.slow]
        if {name, f"{name}-{count}"} & on_replicas.SLOW
        else [],
    )
    for name in on_replicas.TABLE
    for count in on_replicas.COUNTS.get(name, (2,))
]


@functools.cache
def one_device(name):
    return cases.train(on_replicas.case_of(name))


@pytest.fixture(scope="module")
def results(request, tmp_path_factory):
    """What was found, by "case:name" for each number of replicas."""
    folder = tmp_path_factory.mktemp("replicas")
    wanted = {}
    for item in request.session.items:
        if item.path == request.path:
            parameters = item.callspec.params
            names = wanted.setdefault(parameters["replicas"], [])
            names.append(parameters["name"])
    children = {
        count: Child("on_replicas", count, folder / f"{count}.npz", *names)
        for count, names in wanted.items()
    }
    for child in children.values():
        child.finish()
    return {count: dict(np.load(folder / f"{count}.npz")) for count in children}


@pytest.mark.parametrize("name, replicas", RUNS)
def test_replicas_equal_one_device(results, name, replicas):
    found = cases.of_case(results[replicas], name)
    if name == "last_of_1":
        message = found.pop("message").item()
        assert "A replica got no example of a batch" in message
        assert f"the number of replicas, {replicas}, divides" in message
        # The batch of 8 before it has trained, the batch of 1 has not.
        case = on_replicas.case_of(name)
        mmel = cases.compiled(case)
        x, y, _ = cases.data_for(case)
        mmel.train_on_batch({"views": x["views"][:8]}, y[:8])
        expected = cases.result(mmel, case)
    else:
        expected = one_device(name)
    atol = 3e-3 if name == "mixed_float16" else 1e-6
    cases.assert_close(
        found, expected, atol=atol, but=NOT_EXACT.get(name, set())
    )

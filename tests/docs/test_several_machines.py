"""The programs of the guide on several machines: many processes beside one."""

import functools

import keras
import numpy as np
import pytest

from tests.docs import blocks
from tests.scripts import child


def run(guide, part, folder, environs, processes=1, change=("", "")):
    """Weights of the models that a program of a guide saved."""
    page = child.ROOT / "docs" / "guides" / f"{guide}.md"
    code = blocks.code(page.read_text("utf-8"), "python")
    code = {
        # What makes its own views goes on where the first program ends.
        "tensorflow": f"{code[0]}{code[1]}\nif is_chief: model.save('5.keras')",
        "jax": code[2],
        "torch": code[3],
    }[part].replace(*change)
    folder.mkdir()
    program = folder / "train.py"
    program.write_text(
        f"from tests.scripts import strict\nstrict.use()\n{code}\n"
    )
    child.run_together(program, codes=(0,) * processes, environs=environs)
    return {
        path.name: keras.models.load_model(path).get_weights()
        for path in folder.glob("*.keras")
    }


def assert_close(found, expected):
    assert found.keys() == expected.keys() > set()
    for name, weights in expected.items():
        for one, other in zip(found[name], weights, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=2e-6)


def with_tf_config(index, hosts):
    return child.tf_config(index, hosts) if len(hosts) > 1 else {}


def for_jax(index, hosts, devices):
    return {
        "COORDINATOR": hosts[0],
        "PROCESSES": str(len(hosts)),
        "PROCESS": str(index),
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "JAX_PLATFORMS": "cpu",
    }


def for_torch(index, hosts):
    address, port = hosts[0].split(":")
    ranks = {"RANK": str(index), "WORLD_SIZE": str(len(hosts))}
    return {"MASTER_ADDR": address, "MASTER_PORT": port, **ranks}


@pytest.mark.slow
def test_tensorflow(tmp_path):
    settings = "several_machines", "tensorflow"
    expected = run(*settings, tmp_path / "1", with_tf_config)
    assert len(expected) == 5
    assert_close(run(*settings, tmp_path / "2", with_tf_config, 2), expected)


@pytest.fixture(scope="module")
def one_jax_device(tmp_path_factory):
    environs = functools.partial(for_jax, devices=1)
    folder = tmp_path_factory.mktemp("jax") / "1"
    return run("several_machines", "jax", folder, environs)


MODEL_PARALLEL = """
layout = keras.distribution.LayoutMap(
    keras.distribution.DeviceMesh((2, 2), ["batch", "model"])
)
layout["conv.*kernel"] = (None, None, None, "model")
layout["dense.*kernel"] = ("model", None)
keras.distribution.set_distribution(
    keras.distribution.ModelParallel(
        layout_map=layout, batch_dim_name="batch"
    )
)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "devices", "change"),
    [
        (2, 2, ("", "")),
        pytest.param(
            1,
            4,
            ("keras.utils.set", f"{MODEL_PARALLEL}keras.utils.set"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_jax(tmp_path, one_jax_device, processes, devices, change):
    environs = functools.partial(for_jax, devices=devices)
    settings = "several_machines", "jax", tmp_path / "many"
    found = run(*settings, environs, processes, change)
    assert_close(found, one_jax_device)


def test_torch(tmp_path):
    pytest.importorskip("torch")
    settings = "several_machines", "torch"
    expected = run(*settings, tmp_path / "1", for_torch)
    assert_close(run(*settings, tmp_path / "2", for_torch, 2), expected)

"""Everything that a training run depends on, as NumPy arrays by name."""

import numpy as np


def state(mmel, history=None, x=None):
    """Variables, optimizer, random states, log and predictions.

    Args:
        mmel: An `MMELModel`.
        history: What `fit` returned.
        x: Plain examples to predict.
    """
    variables = {
        "model": mmel.model.weights,
        "all": mmel.variables,
        "optimizer": mmel.optimizer.variables,
    }
    found = {
        f"{kind}/{i}": np.array(variable.numpy())
        for kind, group in variables.items()
        for i, variable in enumerate(group)
    }
    if history is not None:
        for name, values in history.history.items():
            found[f"log/{name}"] = np.array(values)
    if x is not None:
        prediction = mmel.predict(x, verbose=0)
        parts = prediction if isinstance(prediction, list) else [prediction]
        found |= {f"predict/{i}": part for i, part in enumerate(parts)}
    return found


def differences(found, expected):
    """Names of what is not bit-equal, with the largest difference."""
    if found.keys() != expected.keys():
        return {"names": sorted(set(found) ^ set(expected))}
    return {
        name: float(np.max(np.abs(found[name] - expected[name])))
        for name in expected
        if not np.array_equal(found[name], expected[name])
    }

"""One step of an `MMELModel` on groups of one view beside plain Keras."""

import keras
import numpy as np

import keras_mmel


def assert_same_step(
    make_model, x, y, *, rate=1.0, rtol=1e-5, sample_weight=None, **settings
):
    """Trains two equal models for one step of SGD and compares all there is.

    Args:
        make_model: Returns a new model.
        x: Plain examples, a nest of arrays.
        y: Labels.
        rate: Learning rate; small where the gradient is large, so that the
            updated weights keep the digits of the update.
        rtol: Relative tolerance of what is logged.
        sample_weight: For `fit`.
        **settings: For `compile`.

    Returns:
        The log of `MMELModel`.
    """
    plain, model = make_model(), make_model()
    before = plain.get_weights()
    model.set_weights(before)
    mmel = keras_mmel.MMELModel(model)
    groups = {"views": keras.tree.map_structure(lambda a: a[:, None], x)}
    for trained in (plain, mmel):
        trained.compile(keras.optimizers.SGD(rate), **settings)
    data = {"y": y, "sample_weight": sample_weight, "return_dict": True}
    expected = plain.train_on_batch(x, **data)
    found = mmel.train_on_batch(groups, **data)
    for name, value in expected.items():
        np.testing.assert_allclose(
            found[name], value, rtol=rtol, err_msg=f"log of {name}"
        )
    np.testing.assert_allclose(
        found["original_loss"], expected["loss"], rtol=rtol
    )
    assert found["effective_views"] == 1
    moved = 0.0
    for old, new, same in zip(
        before, plain.get_weights(), model.get_weights(), strict=True
    ):
        size = np.abs(new - old).max(initial=0)
        moved = max(moved, size)
        # The update to a few float32 roundings, of it and of the weights.
        np.testing.assert_allclose(
            same, new, rtol=1e-6, atol=1e-6 * size + 1e-9
        )
    assert moved > 1e-3 * rate, "the step has no gradient to compare"
    return found

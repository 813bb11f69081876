"""Ways to train that are saved, loaded and resumed.

tests/mmel_model/test_saving.py trains each `Case` of `SAVED`, saves it, loads
it in another process that imports nothing but keras_mmel, and trains on: the
result must be that of a run that never stopped. `SAVED_WITH_USER_OBJECTS` needs
what a user has registered, too (tests/scripts/user_objects.py).

Each case is one thing that a file can lose: a setting of an objective, the
state of an optimizer, a policy, a random state, what was compiled before. To
add one, such as a new objective, give it a name here. `SAVED_SLOW` names those
that only the slow tests run.
"""

import dataclasses

import keras_mmel
from tests.cases import Case
from tests.cases import adamw
from tests.cases import fit
from tests.cases import sgd
from tests.cases import state
from tests.scripts import user_objects


def go_on(mmel, case):
    """The state after more training, with `lambda_p` as it is."""
    case = dataclasses.replace(case, lambdas=(), epochs=1, evaluate=True)
    return state(mmel, case, fit(mmel, case))


_HARD, _SOFT = keras_mmel.objectives.Hard, keras_mmel.objectives.Soft
SAVED = {
    "hard": Case(_HARD(0.5), model="functional", optimizer=adamw()),
    "float16": Case(
        teacher=True,
        model="convolutional",
        precision="mixed_float16",
        optimizer=sgd(0.1, nesterov=True),
    ),
    # Two steps an epoch, and three of them belong together.
    "accumulation": Case(
        _SOFT(0.3, 0.7, stop_gradient=False),
        model="dropout",
        teacher=True,
        optimizer=adamw(use_ema=True, gradient_accumulation_steps=3),
        epochs=2,
    ),
    "bfloat16": Case("soft", regression=True, precision="mixed_bfloat16"),
    "lambda_p": Case(_HARD(3.0), lambdas=(1.0, 0.2), epochs=2),
    "ball": Case(keras_mmel.objectives.KLBall(0.3)),
    "compiled_before": Case("uniform", model="compiled_before"),
    "seeded_dropout": Case("soft", model="seeded_dropout"),
    "two_outputs": Case(model="two_outputs"),
    "bert": Case("soft", model="bert", teacher=True),
}
SAVED_WITH_USER_OBJECTS = {
    "subclassed": Case("soft", model="subclassed"),
    "losses": Case(
        "soft",
        loss=user_objects.PowerError(2.5),
        soft_loss=user_objects.squared_distance,
    ),
    "without_training": Case(_HARD(0.0), model="without_training"),
    "objective": Case(user_objects.Hardest(lambda_p=0.4, share=0.7)),
}
SAVED_SLOW = {
    "accumulation",
    "ball",
    "bert",
    "bfloat16",
    "compiled_before",
    "float16",
    "lambda_p",
    "losses",
    "objective",
    "seeded_dropout",
    "subclassed",
    "two_outputs",
    "without_training",
}

"""The private names of Keras, TensorFlow and keras-hub that the package uses.

Where a release breaks something, this is what to look at first: each name is
here once, with what has it, and fails by its name where it is gone.
"""

import ast
import functools
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import ops as tf_ops

from keras_mmel.mmel_model import MMELModel
from keras_mmel.training.fit import GroupTrainer
from tests.test_structure import MODULES


@functools.cache
def model():
    """Compiled, with a metric of each kind, after a step."""
    stepped = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    stepped.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mae"])
    stepped.train_on_batch(np.ones((2, 2)), np.ones((2, 1)))
    return stepped


def metrics():
    return model()._compile_metrics


def loss():
    return model()._compile_loss


def shuffled():
    return tf.data.Dataset.range(2).shuffle(2)


@functools.cache
def block():
    hub = pytest.importorskip("keras_hub")
    built = hub.layers.TransformerEncoder(4, 2)
    built(np.ones((1, 3, 4)))
    return built


@functools.cache
def head():
    hub = pytest.importorskip("keras_hub")
    built = hub.layers.MaskedLMHead(vocabulary_size=5)
    built(np.ones((1, 3, 4)), np.zeros((1, 1), "int32"))
    return built


PRIVATE = {
    "_assert_compile_called": model,
    "_call_has_training_arg": model,
    "_compile_config": model,
    "_compile_loss": model,
    "_compile_metrics": model,
    "_direction": keras.metrics.SparseCategoricalAccuracy,
    "_distribute_strategy": model,
    "_ema_weights_in_model": keras.callbacks.SwapEMAWeights,
    "_flat_metrics": metrics,
    "_flat_weighted_metrics": metrics,
    "_flatten_layers": model,
    "_flatten_y": metrics,
    "_fn": lambda: metrics().metrics[0],
    "_fn_kwargs": keras.losses.CategoricalCrossentropy,
    "_in_multi_worker_mode": lambda: tf.distribute.get_strategy().extended,
    "_inputs": shuffled,
    "_keras_logits": lambda: keras.activations.softmax(tf.ones((1, 2))),
    "_keras_mask": lambda: keras.layers.Masking()(tf.ones((1, 2, 3))),
    "_maybe_symbolic_build": model,
    "_registry": lambda: tf_ops.gradient_registry,
    "_reshuffle_each_iteration": shuffled,
    "_user_loss": loss,
    "_user_loss_weights": loss,
    # keras-hub's
    "_bias": head,
    "_intermediate_dense": head,
    "_intermediate_layer_norm": head,
    "_kernel": head,
    "_feedforward_intermediate_dense": block,
    "_feedforward_layer_norm": block,
    "_feedforward_output_dense": block,
    "_self_attention_layer": block,
    "_self_attention_layer_norm": block,
}
# Modules that are no public part of what they belong to.
IMPORTED = {
    "keras.src.backend.common.tensor_attributes",
    "keras.src.metrics.reduction_metrics",
    "tensorflow.python.framework",
}
PYTHONS = {"_exit", "_replace"}  # of `os`, and of named tuples
# Looked for, and done without in an older Keras.
OPTIONAL = {"_transform_images"}


@pytest.mark.parametrize("name", PRIVATE)
def test_the_name_is_there(name):
    assert hasattr(PRIVATE[name](), name), name


def names_of(tree):
    """Private attributes that a module takes, and those that it gives."""
    taken, given = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            is_taken = isinstance(node.ctx, ast.Load)
            (taken if is_taken else given).add(node.attr)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            given.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.add(node.id)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "getattr",
            "hasattr",
            "setattr",
        ):
            taken |= {a.value for a in node.args if isinstance(a, ast.Constant)}
    return taken, given


@pytest.mark.skipif(not MODULES, reason="the source is not beside the tests")
def test_the_table_is_complete():
    taken, given, imported = set(), set(), set()
    for path in MODULES.values():
        tree = ast.parse(path.read_text("utf-8"))
        of_module = names_of(tree)
        taken |= {
            name for name in map(str, of_module[0]) if re.match("_[a-z]", name)
        }
        given |= of_module[1]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module)
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
    # What we override of Keras is ours by its place, and Keras's by its name.
    overridden = {
        name
        for ours in (GroupTrainer, MMELModel)
        for name in vars(ours)
        if re.match("_[a-z]", name) and hasattr(keras.Model, name)
    }
    overridden.add("_call_has_training_arg")  # of an instance
    foreign = taken - given - PYTHONS - OPTIONAL | overridden
    # Taken in a loop over the two.
    assert foreign | {"_keras_logits", "_keras_mask"} == set(PRIVATE)
    private = re.compile(r"(keras|keras_hub|tensorflow)\.(src|python)\b")
    assert {m for m in imported if private.match(m or "")} == IMPORTED

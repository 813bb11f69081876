"""Augmenters and their masked LMs, for every test of the folder."""

import keras_hub
import pytest

from keras_mmel.text import MaskedLMAugmenter


@pytest.fixture(scope="session")
def augmenter(masked_lm):
    return MaskedLMAugmenter(masked_lm)


@pytest.fixture(scope="session")
def hub_masked_lm():
    """Makes a small masked LM by keras-hub itself, given its vocabulary."""

    def make(vocabulary_size):
        backbone = keras_hub.models.BertBackbone(
            vocabulary_size,
            num_layers=2,
            num_heads=2,
            hidden_dim=16,
            intermediate_dim=32,
            max_sequence_length=20,
        )
        return keras_hub.models.BertMaskedLM(backbone)

    return make

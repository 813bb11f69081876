"""A made masked LM and what is made of it, for every test of the folders."""

import pytest

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm
from tests.text import tiny


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    return tiny.make_checkpoint(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="session")
def masked_lm(checkpoint):
    return load_masked_lm(checkpoint)


@pytest.fixture(scope="session")
def tokenizer(masked_lm):
    return masked_lm.tokenizer


@pytest.fixture(scope="session")
def augmenter(masked_lm):
    return MaskedLMAugmenter(masked_lm)

import pytest

from keras_mmel.text import Tokenizer
from tests.text import tiny


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoint")
    return Tokenizer.from_directory(tiny.make_checkpoint(folder))

import pytest

from keras_mmel.text.files import ids


def find(names):
    hashes = ids.IdHashes()
    for name in names:
        hashes.add(name)
    assert len(hashes) == len(names)
    return hashes.repeated(iter(names))


def test_distinct_ids():
    assert find([]) is None
    assert find([str(n) for n in range(5000)]) is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b", "a"], ("a", 0, 2)),
        (["b", "a", "a", "b"], ("a", 1, 2)),
        (["x", *map(str, range(99)), "x", "x"], ("x", 0, 100)),
    ],
)
def test_first_repetition_is_named(names, expected):
    assert find(names) == expected


def test_equal_hashes_of_different_ids_are_no_repetition(monkeypatch):
    class Collides:
        def __init__(self, data, digest_size):
            del data, digest_size

        def digest(self):
            return bytes(8)

    monkeypatch.setattr(ids.hashlib, "blake2b", Collides)
    assert find(["a", "b", "c"]) is None
    assert find(["a", "b", "c", "b"]) == ("b", 1, 3)

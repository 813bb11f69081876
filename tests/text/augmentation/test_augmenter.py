import collections
import itertools
import pickle

import keras
import keras_hub
import numpy as np
import pytest

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm
from keras_mmel.text.augmentation import augmenter as augmenters
from keras_mmel.text.augmentation.masking import count_masked
from tests.text import tiny


def made_texts(count, seed=0):
    """Sentences and pairs of 0 to 12 words."""
    random = np.random.default_rng(seed)
    words = [*tiny.WORDS, "Café", "unbelievable,", "(so)", "don't", "中"]
    sides = [
        " ".join(random.choice(words, random.integers(0, 13)))
        for _ in range(2 * count)
    ]
    return [
        sides[i] if i % 3 else (sides[i], sides[count + i])
        for i in range(count)
    ]


def ids_of(samples):
    return [one.token_ids for one in samples]


def test_samples_differ_only_at_their_positions(augmenter):
    tokenizer = augmenter.tokenizer
    texts = [text for text in made_texts(30) if "".join(text)]
    for encoded, samples in zip(
        tokenizer.encode(texts), augmenter.augment(texts), strict=True
    ):
        assert len(samples) == 4
        assert len({one.token_ids for one in samples}) == 4
        for one in samples:
            assert one.token_ids != encoded.token_ids
            assert len(one.token_ids) == len(encoded.token_ids)
            same = np.equal(one.token_ids, encoded.token_ids)
            assert set(np.flatnonzero(~same)) <= set(one.positions)
            assert one.log_prob < 0
            filled = {one.token_ids[p] for p in one.positions}
            assert not filled & set(tokenizer.banned_ids.tolist())
            sides = [encoded.sequence_ids[p] for p in one.positions]
            assert sides == sorted(sides)


def test_seed_and_id_decide(masked_lm, augmenter):
    text = "the film was very good and the plot was not so bad at all"
    base = augmenter.augment([text])[0]
    assert augmenter.augment([text], ["0"])[0] == base
    assert augmenter.augment([text], [np.int64(0)])[0] == base
    other = augmenter.augment([text], ["a"])[0]
    assert other[0].positions != base[0].positions
    seeded = MaskedLMAugmenter(masked_lm, seed=1).augment([text])[0]
    assert seeded[0].positions != base[0].positions


def test_sides_of_a_pair_are_masked_differently(augmenter):
    text = "the film was very good and the plot was not so bad at all"
    sample = augmenter.augment([(text, text)])[0][0]
    middle = sample.token_ids.index(augmenter.tokenizer.sep_id)
    first = [p for p in sample.positions if p < middle]
    second = [p - middle for p in sample.positions if p > middle]
    assert len(first) == len(second) and first != second
    # The first one as if it stood alone.
    alone = augmenter.augment([text])[0][0]
    assert list(alone.positions) == first
    assert sample.text[0] == alone.text


def test_concatenated_pairs_see_each_other(masked_lm):
    joint = MaskedLMAugmenter(masked_lm, pairs="concatenated")
    pairs = [("the film was good", second) for second in ("a book", "it was")]
    found = [joint.augment([pair], ["7"])[0] for pair in pairs]
    encoded = joint.tokenizer.encode(pairs)
    for one, samples in zip(encoded, found, strict=True):
        length = sum(s is not None for s in one.sequence_ids)
        assert len(samples[0].positions) == count_masked(length, length, 0.4)
    # Same masks in both, other words because of the other sentence.
    assert found[0][0].positions == found[1][0].positions
    assert [one.text[0] for one in found[0]] != [o.text[0] for o in found[1]]


def test_a_side_without_words_stays(augmenter):
    samples = augmenter.augment([("the film was good", ""), ("", "a book")])
    assert [one.text[1] for one in samples[0]] == [""] * 4
    assert [one.text[0] for one in samples[1]] == [""] * 4
    assert [len(set(ids_of(one))) for one in samples] == [4, 4]


def test_whole_words(masked_lm):
    by_word = MaskedLMAugmenter(masked_lm, 3, unit="word")
    tokenizer = by_word.tokenizer
    texts = made_texts(60, seed=1)
    for encoded, samples in zip(
        tokenizer.encode(texts), by_word.augment(texts), strict=True
    ):
        pieces = collections.Counter(
            zip(encoded.sequence_ids, encoded.word_ids, strict=True)
        )
        for one in samples:
            again = tokenizer.encode([one.text])[0]
            assert again.token_ids == one.token_ids
            for p in one.positions:
                assert pieces[encoded.sequence_ids[p], encoded.word_ids[p]] == 1
                assert "##" not in tokenizer.vocabulary[one.token_ids[p]]


@pytest.mark.parametrize("search", ["greedy", "beam"])
def test_independent_of_batch_order_shard_and_slots(masked_lm, search):
    texts = made_texts(10)
    names = [f"id {i}" for i in range(10)]
    base = MaskedLMAugmenter(masked_lm, 3, search=search)
    expected = base.augment(texts, names)
    assert base.augment(texts, names) == expected
    order = np.random.default_rng(0).permutation(10)
    for slots in (1, 7):
        other = MaskedLMAugmenter(masked_lm, 3, search=search, slots=slots)
        shuffled = other.augment(
            [texts[i] for i in order], [names[i] for i in order]
        )
        assert shuffled == [expected[i] for i in order]
    assert base.augment(texts[1::3], names[1::3]) == expected[1::3]
    assert base.augment(texts[:1], names[:1]) == expected[:1]


def test_stream_is_lazy_and_in_order(masked_lm, monkeypatch):
    augmenter = MaskedLMAugmenter(masked_lm, 1, slots=2)
    taken = []

    def examples():
        for i in itertools.count():
            taken.append(i)
            yield i, ("the film",) if i % 2 else ("the film", "a book")

    stream = augmenter.augment_stream(examples())
    first = next(stream)
    # 8 texts a slot, and no more.
    assert len(taken) == 16
    rest = list(itertools.islice(stream, 29))
    assert len(taken) == 32
    expected = augmenter.augment([("the film", "a book"), "the film"] * 15)
    assert [first, *rest] == expected
    # Fewer of a wide model, as this one of width 16 now is.
    monkeypatch.setattr(augmenters, "_WIDTH", 32)
    taken.clear()
    assert next(augmenter.augment_stream(examples())) == first
    assert len(taken) == 4


def test_half_precision(masked_lm, augmenter):
    half = MaskedLMAugmenter(masked_lm, dtype="bfloat16")
    differ = half.get_config().items() ^ augmenter.get_config().items()
    assert {name for name, _ in differ} == {"dtype", "masked_lm"}
    texts = [text for text in made_texts(30) if "".join(text)]
    pairs = zip(half.augment(texts), augmenter.augment(texts), strict=True)
    for samples, expected in pairs:
        assert len(samples) == len(expected)
        assert {s.positions for s in samples} == {s.positions for s in expected}
    sent = pickle.loads(pickle.dumps(half))
    assert ids_of(sent.augment(texts[:1])[0]) == ids_of(
        half.augment(texts[:1])[0]
    )


def test_config_tells_what_decides(tmp_path, masked_lm, augmenter):
    base = augmenter.get_config()
    assert base["tokenizer"] == masked_lm.tokenizer.fingerprint
    same = MaskedLMAugmenter(masked_lm, slots=5)
    assert same.get_config() == base
    assert set(map(type, base.values())) <= {int, float, str, type(None)}
    changes = [
        *({"search": "beam"}, {"search": "beam", "num_beams": 7}),
        *({"num_augmented": 5}, {"mask_ratio": 0.2}, {"unit": "word"}),
        *({"seed": 1}, {"pairs": "concatenated"}, {"max_length": 20}),
    ]
    configs = [MaskedLMAugmenter(masked_lm, **c).get_config() for c in changes]
    for change, config in zip(changes, configs, strict=True):
        assert config.items() >= change.items()
    other = load_masked_lm(tiny.make_checkpoint(tmp_path, seed=1))
    weights = MaskedLMAugmenter(other).get_config()
    differ = weights.items() ^ base.items()
    assert {name for name, _ in differ} == {"masked_lm"}
    seen = [base, *configs]
    assert all(a != b for a, b in itertools.combinations(seen, 2))


def test_texts_with_little_to_mask(augmenter):
    texts = ["", "  \t", "film", "中", ".", "中中", "a\u200b"]
    result = augmenter.augment(texts)
    assert [len(samples) for samples in result] == [0, 0, 4, 0, 4, 0, 4]


def test_as_many_samples_as_there_are_words(masked_lm):
    tokenizer = masked_lm.tokenizer
    words = len(tokenizer.vocabulary) - len(tokenizer.banned_ids)
    samples = MaskedLMAugmenter(masked_lm, words).augment(["film"])[0]
    # Every word but the original.
    assert len(samples) == len(set(ids_of(samples))) == words - 1


def test_mask_ratio_0_and_1(masked_lm):
    for ratio, count in ((0, 1), (1.0, 4)):
        augmenter = MaskedLMAugmenter(masked_lm, mask_ratio=ratio)
        samples = augmenter.augment(["the film was good"])[0]
        assert [len(set(one.positions)) for one in samples] == [count] * 4


def test_long_texts_are_cut_before_masks_are_chosen(masked_lm, augmenter):
    words = list(itertools.islice(itertools.cycle(["good", "film"]), 600))
    text = " ".join(words)
    samples = augmenter.augment([text, (text, "the book")])
    for one in samples[0] + samples[1]:
        assert len(one.token_ids) == 64
        assert one.token_ids[-1] == augmenter.tokenizer.sep_id
    assert len(samples[0][0].positions) == count_masked(62, 62, 0.4)
    # What was cut off stays as it was.
    assert samples[0][0].text.endswith(" ".join(["", *words[62:]]))
    assert len(set(ids_of(samples[0]))) == 4
    shorter = MaskedLMAugmenter(masked_lm, max_length=10)
    assert {len(z) for z in ids_of(shorter.augment([text])[0])} == {10}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_augmented": 0}, "num_augmented.*at least 1.*Received.*0"),
        ({"mask_ratio": 1.1}, "mask_ratio.*0 to 1.*1.1"),
        ({"mask_ratio": float("nan")}, "mask_ratio"),
        ({"search": "sampling"}, "search.*'greedy', 'beam'.*sampling"),
        ({"max_length": 2}, "max_length.*at least 3"),
        ({"max_length": 65}, "max_length.*at most 64.*65"),
        ({"search": "beam", "num_beams": 3}, "num_beams.*at least 4"),
        ({"num_beams": 50}, 'is of search="beam" alone.*=50 with .*greedy'),
        ({"slots": 0}, "slots.*at least 1.*Received.*0"),
        ({"dtype": "half"}, "dtype.*'float32', 'bfloat16'.*half"),
    ],
    ids=str,
)
def test_settings_out_of_range(masked_lm, options, words):
    with pytest.raises(ValueError, match=words):
        MaskedLMAugmenter(masked_lm, **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_augmented", 2.0),
        ("seed", 0.5),
        ("slots", "8"),
        ("max_length", True),
        ("num_beams", 5.0),
    ],
)
def test_counts_are_integers(masked_lm, name, value):
    with pytest.raises(
        TypeError, match=f"`{name}` must be an integer.*{value}"
    ):
        MaskedLMAugmenter(masked_lm, search="beam", **{name: value})


@pytest.mark.parametrize(
    ("texts", "ids", "error", "words"),
    [
        ("the film", None, TypeError, "sequence of texts"),
        ([("a", "b", "c")], None, TypeError, "strings"),
        (["a", "b"], ["7", 7], ValueError, "'7' twice"),
        (["a", "b"], ["7"], ValueError, "1 ids for 2 texts"),
        (["a"], [1.0], TypeError, "strings or integers.*1.0"),
    ],
    ids=str,
)
def test_wrong_texts_and_ids(augmenter, texts, ids, error, words):
    with pytest.raises(error, match=words):
        augmenter.augment(texts, ids)


def test_no_texts(augmenter):
    assert augmenter.augment([]) == []
    assert list(augmenter.augment_stream(iter(()))) == []


def test_masked_lm_of_keras_hub_with_a_tokenizer(masked_lm):
    tokenizer = masked_lm.tokenizer
    # Some checkpoints have more rows than words; those are never filled in.
    model = tiny.make_hub_masked_lm(len(tokenizer.vocabulary) + 7)
    augmenter = MaskedLMAugmenter(model, 2, tokenizer=tokenizer)
    samples = augmenter.augment(["the film was good"])[0]
    assert len(samples) == 2
    assert max(max(z) for z in ids_of(samples)) < len(tokenizer.vocabulary)


def test_model_and_tokenizer_must_belong_together(masked_lm):
    tokenizer = masked_lm.tokenizer
    with pytest.raises(TypeError, match="tokenizer.*from_directory"):
        MaskedLMAugmenter(tiny.make_hub_masked_lm(300))
    small = tiny.make_hub_masked_lm(len(tokenizer.vocabulary) - 1)
    with pytest.raises(ValueError, match="more tokens than the masked LM"):
        MaskedLMAugmenter(small, tokenizer=tokenizer)
    with pytest.raises(TypeError, match="BertMaskedLM.*Received: Sequential"):
        MaskedLMAugmenter(keras.Sequential(), tokenizer=tokenizer)


def test_one_that_was_used_can_be_sent_to_another_process(augmenter):
    samples = augmenter.augment(["the movie was good"])
    sent = pickle.loads(pickle.dumps(augmenter))
    assert sent.augment(["the movie was good"]) == samples


def test_other_masked_lms_are_refused_in_one_line():
    """Before a tokenizer is asked for, which would not help."""
    backbone = keras_hub.models.RobertaBackbone(
        20, 1, 2, 8, 16, max_sequence_length=8
    )
    model = keras_hub.models.RobertaMaskedLM(backbone)
    with pytest.raises(TypeError, match="BERT.*as_text.*RobertaMaskedLM") as e:
        MaskedLMAugmenter(model)
    assert "tokenizer" not in str(e.value).split("where")[0]
    assert "\n" not in str(e.value)

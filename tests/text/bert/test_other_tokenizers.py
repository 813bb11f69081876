"""What a checkpoint says of its tokenizer and is not followed is refused."""

import json

import pytest
import tokenizers

from keras_mmel.text import Tokenizer
from keras_mmel.text import load_masked_lm
from tests.text import tiny


def add(directory, name, **entries):
    path = directory / name
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(before | entries))


def token(content, special=False):
    return {"content": content, "special": special}


CONFIG = "tokenizer_config.json"
ADDED = "added.tokens.* \\['covid', 'film noir'\\]"


@pytest.mark.parametrize(
    ("name", "entries", "message"),
    [
        (CONFIG, {"tokenizer_class": "BertJapaneseTokenizer"}, "Japanese"),
        # In older checkpoints the model's config has it.
        ("config.json", {"tokenizer_class": "KoBertTokenizer"}, "KoBert"),
        (
            CONFIG,
            {"word_tokenizer_type": "mecab"},
            "word_tokenizer_type': 'mecab'",
        ),
        (CONFIG, {"subword_tokenizer_type": "character"}, "'character'"),
        (CONFIG, {"do_basic_tokenize": False}, "do_basic_tokenize': False"),
        (CONFIG, {"never_split": ["film noir"]}, "never_split"),
        (CONFIG, {"clean_text": False}, "clean_text': False"),
        (CONFIG, {"mask_token": "<mask>"}, "mask_token': '<mask>'"),
        ("special_tokens_map.json", {"unk_token": token("<unk>")}, "'<unk>'"),
        ("added_tokens.json", {"covid": 233, "film noir": 234}, ADDED),
        (
            CONFIG,
            {"added_tokens_decoder": {"233": token("film noir")}},
            r"'added_tokens': \['film noir'\]",
        ),
    ],
)
def test_other_tokenizers_are_refused(tmp_path, name, entries, message):
    size = len(tiny.VOCABULARY) + 2
    tiny.make_checkpoint(tmp_path, tokenizer="vocab.txt", vocab_size=size)
    load_masked_lm(tmp_path)
    add(tmp_path, name, **entries)
    with pytest.raises(ValueError, match=f"tokenizer must.*{message}"):
        load_masked_lm(tmp_path)


def test_pieces_of_sentencepiece_are_refused(tmp_path):
    pieces = [*tiny.SPECIAL, "film", "\u2581film", "\u2581"]
    tiny.make_checkpoint(tmp_path, tokenizer="vocab.txt", vocabulary=pieces)
    with pytest.raises(ValueError, match="'sentencepiece'"):
        load_masked_lm(tmp_path)


def test_what_changes_nothing_is_taken(tmp_path):
    """As transformers writes it beside a plain tokenizer."""
    tiny.make_checkpoint(tmp_path, tokenizer="vocab.txt")
    before = Tokenizer.from_directory(tmp_path).fingerprint
    special = {str(i): token(t, True) for i, t in enumerate(tiny.SPECIAL)}
    add(tmp_path, "added_tokens.json", **{"[MASK]": 4, "[E1]": 233})
    for name in ("BertTokenizerFast", "TokenizersBackend", None):
        add(
            tmp_path,
            CONFIG,
            tokenizer_class=name,
            do_basic_tokenize=True,
            never_split=None,
            mask_token=token("[MASK]", True),
            unk_token="[UNK]",
            additional_special_tokens=[token("[E1]", True)],
            added_tokens_decoder=special,
        )
        assert Tokenizer.from_directory(tmp_path).fingerprint == before


def test_added_tokens_are_refused_at_loading(tmp_path):
    """And not at export, after all the training."""
    tiny.make_checkpoint(tmp_path)
    path = str(tmp_path / "tokenizer.json")
    library = tokenizers.Tokenizer.from_file(path)
    library.add_special_tokens(["[E1]"])
    library.save(path)
    assert "[E1]" in Tokenizer.from_directory(tmp_path).vocabulary
    library.add_tokens(["film noir", "covid"])
    library.save(path)
    for read in (load_masked_lm, Tokenizer.from_directory):
        with pytest.raises(ValueError, match=f"have no added.*{ADDED}"):
            read(tmp_path)
    with pytest.raises(ValueError, match=ADDED):
        Tokenizer(library)


def test_special_tokens_beside_the_five_are_told_of(tmp_path, caplog):
    """In a text they are text, as `[MASK]` is."""
    tiny.make_checkpoint(tmp_path, vocabulary=[*tiny.VOCABULARY, "[E1]"])
    load_masked_lm(tmp_path)
    assert not caplog.records
    path = str(tmp_path / "tokenizer.json")
    library = tokenizers.Tokenizer.from_file(path)
    library.add_special_tokens(["[E1]"])
    library.save(path)
    tokenizer = load_masked_lm(tmp_path).tokenizer
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "special tokens [E1]: in a text they are" in record.getMessage()
    (encoded,) = tokenizer.encode(["[E1]"])
    assert len(tiny.VOCABULARY) not in encoded.token_ids


@pytest.mark.parametrize(
    "changed",
    [{"suffix_indicator": "@@"}, {"split": False}, {"oov_token": "<unk>"}],
)
def test_options_of_keras_hub(tmp_path, changed):
    folder = tmp_path / "assets" / "tokenizer"
    folder.mkdir(parents=True)
    lines = "".join(f"{piece}\n" for piece in [*tiny.VOCABULARY, "\u00e9"])
    (folder / "vocabulary.txt").write_text(lines, "utf-8")

    def read(class_name="BertTokenizer", **config):
        state = {"class_name": class_name, "config": config}
        (tmp_path / "tokenizer.json").write_text(json.dumps(state))
        return Tokenizer.from_directory(tmp_path)

    plain = {"split": True, "suffix_indicator": "##", "oov_token": "[UNK]"}
    kept = read(lowercase=False, strip_accents=False, **plain)
    stripped = read(lowercase=False, strip_accents=True, **plain)
    e = tiny.VOCABULARY.index("e")
    assert kept.encode(["\u00e9"])[0].token_ids[1] == len(tiny.VOCABULARY)
    assert stripped.encode(["\u00e9"])[0].token_ids[1] == e
    with pytest.raises(ValueError, match=f"'{next(iter(changed))}'"):
        read(**plain | changed)
    with pytest.raises(ValueError, match="tokenizer_class': 'MyTokenizer'"):
        read("MyTokenizer", **plain)

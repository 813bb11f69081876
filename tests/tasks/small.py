"""Small random tasks of keras-hub, each with its preprocessor."""

import functools
import io
import json

import keras
import keras_hub
import sentencepiece
import tokenizers
from tokenizers import pre_tokenizers
from tokenizers import trainers

from tests.text import tiny

hub = keras_hub.models
LENGTH = 10
# Others than English letters, and words that no vocabulary has.
TEXTS = ["the film was good", "a très bad 映画", "no plot at all, really"]
SIZES = {
    "num_layers": 1,
    "hidden_dim": 8,
    "intermediate_dim": 16,
    "max_sequence_length": LENGTH,
    "dropout": 0.0,
}


@functools.cache
def byte_pairs():
    """Vocabulary and merges of a byte-pair encoding, as RoBERTa's."""
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    model.train_from_iterator([" ".join(tiny.WORDS)], trainer)
    found = json.loads(model.to_str())["model"]
    return found["vocab"], [" ".join(pair) for pair in found["merges"]]


@functools.cache
def sentence_pieces(*special, first=("<pad>", "<unk>")):
    """A model of sentencepiece with some special pieces, as bytes."""
    model = io.BytesIO()
    place = {piece: index for index, piece in enumerate(first)}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(tiny.WORDS)] * 2),
        model_writer=model,
        vocab_size=90,
        hard_vocab_limit=False,
        user_defined_symbols=list(special),
        pad_id=place.get("<pad>", -1),
        unk_id=place["<unk>"],
        bos_id=-1,
        eos_id=-1,
        minloglevel=2,
    )
    return model.getvalue()


def _tokenizer(family):
    if family == "Roberta":
        vocabulary, merges = byte_pairs()
        return hub.RobertaTokenizer(vocabulary=vocabulary, merges=merges)
    if family in ("Bert", "DistilBert"):
        tokenizer = getattr(hub, f"{family}Tokenizer")
        return tokenizer(vocabulary=tiny.VOCABULARY, lowercase=True)
    if family == "DebertaV3":
        special = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")
        return hub.DebertaV3Tokenizer(
            sentence_pieces(*special, first=("<unk>",))
        )
    if family == "XLMRoberta":
        pieces = sentence_pieces(first=("<unk>",))
        return hub.XLMRobertaTokenizer(pieces)
    pieces = sentence_pieces("[CLS]", "[SEP]", "[MASK]")
    return getattr(hub, f"{family}Tokenizer")(pieces)


def classifier(family, num_classes=2, seed=0, **settings):
    """A random text classifier."""
    keras.utils.set_random_seed(seed)
    tokenizer = _tokenizer(family)
    more = {"embedding_dim": 8} if family == "Albert" else {}
    more |= {"bucket_size": 8} if family == "DebertaV3" else {}
    more |= {} if family == "FNet" else {"num_heads": 2}
    backbone = getattr(hub, f"{family}Backbone")(
        tokenizer.vocabulary_size(), **SIZES, **more
    )
    preprocessor = getattr(hub, f"{family}TextClassifierPreprocessor")(
        tokenizer, sequence_length=LENGTH
    )
    return getattr(hub, f"{family}TextClassifier")(
        backbone, num_classes, preprocessor=preprocessor, **settings
    )


def image_classifier(size=8, num_classes=2, seed=0):
    """A classifier of pictures whose values are from 0 to 255."""
    keras.utils.set_random_seed(seed)
    inputs = keras.Input((size, size, 3))
    outputs = keras.layers.Conv2D(4, 3, activation="tanh")(inputs)
    backbone = hub.Backbone(inputs=inputs, outputs=outputs)
    converter = keras_hub.layers.ImageConverter(
        image_size=(size, size), scale=1 / 255, offset=-0.5
    )
    return hub.ImageClassifier(
        backbone,
        num_classes,
        preprocessor=hub.ImageClassifierPreprocessor(converter),
    )


def loss():
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

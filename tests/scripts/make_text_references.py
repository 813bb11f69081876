"""Write what transformers computes, for the tests of keras_mmel.text.

Needs torch and transformers, which the project does not depend on:

    python tests/scripts/make_text_references.py \
        --masked_lm ../shared/models/bert_tiny_mlm

writes tests/text/bert/reference/{masked_lm,tokenizer}.json.
"""

import argparse
import json
import pathlib

import numpy as np
import torch
import transformers

TESTS = pathlib.Path(__file__).resolve().parents[1]
OUT = TESTS / "text" / "bert" / "reference"

SENTENCES = [
    "The committee will meet again on Tuesday to discuss the new budget.",
    "He is my daughter, and she has never been happier in her whole life.",
    "Although it rained all night, the match started on time.",
    "A gripping, funny and oddly moving film about two brothers.",
    "Nothing in this overlong sequel is worth the price of a ticket.",
    "Scientists found water on Mars, according to a report by NASA.",
    "The cat that the dog chased ran up a tree.",
    "Shares of the company fell 3.5% to $27.10 after the announcement.",
    "I don't think that they knew what they were doing.",
    "Paris is the capital of France.",
    "She sold sea shells by the seashore for almost forty years.",
    "Why would anyone want to live there?",
    "The new law, which passed last week, takes effect in January.",
    "More than 200 people were injured when the bridge collapsed.",
    "Music was playing softly in the next room.",
    "It was the best of times, it was the worst of times.",
]
PAIRS = [
    ("A man is playing a guitar.", "Someone is playing an instrument."),
    ("How old is the city of Rome?", "Rome was founded long ago, in 753 BC."),
    ("Yes.", "The boy, who was hungry, ate an apple and then two more."),
]

# Every one of these makes some tokenizer differ from BERT's own.
STRINGS = [
    "",
    " ",
    "na\u00efve caf\u00e9 r\u00e9sum\u00e9 \u00c5ngstr\u00f6m",
    "nai\u0308ve cafe\u0301 with combining marks",
    "stra\u00dfe \u0152uvre \ufb01nd \ufb02ight \u0130stanbul",
    "foo\u00a0bar hello\u202fworld thin\u2009space",
    "zero\u200bwidth soft\u00adhyphen bom\ufeffinside",
    "tab\tnew\nline\r\nreturn\x0bvertical\x0cfeed",
    "con\x00trol ch\x01ar\x1facters \x7f del",
    "private \ue000 use \ufffd replacement",
    "\U0001f600 smile \U0001f468\u200d\U0001f469\u200d\U0001f467 family",
    "flag \U0001f1eb\U0001f1f7 thumbs\U0001f44d\U0001f3fd up",
    "\u4e2d\u6587\u5b57\u7b26 mixed \u65e5\u672c\u8a9e \u30ab\u30bf\u30ab",
    "\ud55c\uad6d\uc5b4 Hangul \u1100\u1161 jamo",
    "m\u00b2 \u00bd \u2122 \u2163 \u2460 \u00b5m 10\u00b0C \u215b",
    "wait\u2026 \u201cquoted\u201d \u2018single\u2019 em\u2014dash \u00a1hola!",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u03b3\u03b5\u03b9\u03ac \u05e9\u05dc"
    "\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u1012 \u0b95\u0bbe",
    "a" * 100 + " " + "b" * 101,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "didn't can't o'clock rock'n'roll U.S.A. e.g. 3,000.50 #tag @user",
    "http://www.example.org/path?query=1&other=2 user@example.org",
    "ALL CAPS MiXeD CaSe \u0391\u0392\u0393",
    "\u2028line\u2029paragraph\u0085next",
    "$^`~|<>+= currency \u20ac \u00a3 \u00a5",
    "\U00020000 rare \u9fff \uf900 \u3400 ideographs",
    "1\u0301 \u0301 lone mark \u064b",
    "unaffable [ mask ] (sep) # # s ##ing",
]


def masked_lm(directory):
    model = transformers.BertForMaskedLM.from_pretrained(directory).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    rng = np.random.default_rng(0)
    fixed = np.sort(rng.choice(model.config.vocab_size, 48, replace=False))
    cases = []
    for text in SENTENCES + PAIRS:
        pair = (text,) if isinstance(text, str) else text
        ids = tokenizer(*pair)["input_ids"]
        segments = tokenizer(*pair)["token_type_ids"]
        inner = [i for i, t in enumerate(ids) if t not in (101, 102)]
        count = max(1, round(0.4 * len(inner)))
        masks = np.sort(rng.choice(inner, count, replace=False)).tolist()
        masked = [103 if i in masks else t for i, t in enumerate(ids)]
        # Two masks and an unmasked position are enough to see a difference.
        positions = [*masks[:2], 0]
        with torch.no_grad():
            logits = model(
                torch.tensor([masked]),
                token_type_ids=torch.tensor([segments]),
            ).logits[0, positions]
        top = logits.topk(16)
        cases.append(
            {
                "text": text,
                "token_ids": masked,
                "segment_ids": segments,
                "positions": positions,
                "fixed": rounded(logits[:, fixed]),
                "top_ids": top.indices.tolist(),
                "top": rounded(top.values),
                "mean": rounded(logits.double().mean(-1)),
                "norm": rounded(logits.double().norm(dim=-1)),
            }
        )
    return {"versions": versions(), "fixed": fixed.tolist(), "cases": cases}


def tokens(directory):
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
    cased = transformers.BertTokenizer(
        vocab=dict(tokenizer.get_vocab()), do_lower_case=False
    )
    return {
        "versions": versions(),
        "cases": [
            {
                "text": text,
                "uncased": tokenizer(text)["input_ids"],
                "cased": cased(text)["input_ids"],
            }
            for text in STRINGS
        ],
    }


def rounded(values):
    return np.round(np.asarray(values, np.float64), 6).tolist()


def versions():
    return {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--masked_lm", required=True)
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    for name, made in {
        "masked_lm": masked_lm(arguments.masked_lm),
        "tokenizer": tokens(arguments.masked_lm),
    }.items():
        text = json.dumps(made, separators=(",", ":"))
        (OUT / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()

"""`keras-mmel augment`: write augmented samples of a data set."""

import argparse

from keras_mmel.text import MaskedLMAugmenter
from keras_mmel.text import load_masked_lm
from keras_mmel.text import write_augmented
from keras_mmel.text.files import First
from keras_mmel_cli import data_sets
from keras_mmel_cli.written import tell

# The options that are arguments of `MaskedLMAugmenter`, with its defaults.
SETTINGS = (
    "num_augmented",
    "mask_ratio",
    "search",
    "unit",
    "seed",
    "pairs",
    "max_length",
    "num_beams",
    "slots",
    "jit_compile",
)


def run(options: argparse.Namespace) -> None:
    """Augment what the options name, and write it."""
    # The data first: it is read in a moment, the masked LM may be large.
    source = data_sets.open_source(options)
    if options.limit:
        source = First(source, options.limit)
    given = {k: v for k, v in vars(options).items() if k in SETTINGS}
    augmenter = MaskedLMAugmenter(load_masked_lm(options.masked_lm), **given)
    written = write_augmented(
        options.out,
        source,
        augmenter,
        num_shards=options.num_shards,
        shard=options.shard,
        split=data_sets.split_name(options.split),
        progress=True,
    )
    tell(options.out, written)

"""Data of GLUE: sources by TFDS, augmented files, tables of token ids."""

import functools

from keras_mmel.text import files
from keras_mmel.text import load_table


@functools.cache
def splits(task, data_dir):
    """Names of the splits that a TFDS folder has."""
    import tensorflow_datasets as tfds

    builder = tfds.builder(task.tfds_name, data_dir=data_dir)
    builder.download_and_prepare()
    return tuple(builder.info.splits)


def source(task, split, data_dir, limit=None, hidden=False):
    """A split as a source of examples; `hidden` reads no labels."""
    found = files.from_tfds(
        task.tfds_name,
        split,
        task.columns,
        None if hidden else task.label,
        task.id,
        data_dir=data_dir,
    )
    return files.First(found, limit) if limit else found


def evaluation_tables(task, args, tokenizer):
    """The development splits that are there, the first one first."""
    there = splits(task, args.data_dir)
    if task.eval_splits[0] not in there:
        raise ValueError(
            f"{task.name} must have the split {task.eval_splits[0]}. "
            f"Received: splits {there}"
        )
    return {
        split: load_table(
            source(task, split, args.data_dir, args.eval_limit),
            tokenizer,
            max_length=args.max_length,
        )
        for split in task.eval_splits
        if split in there
    }


def test_tables(task, args, tokenizer):
    """The test splits that are there."""
    there = splits(task, args.data_dir)
    return {
        split: load_table(
            source(task, split, args.data_dir, hidden=True),
            tokenizer,
            max_length=args.max_length,
        )
        for split in task.test_splits
        if split in there
    }

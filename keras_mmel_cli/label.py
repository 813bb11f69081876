r"""Add a teacher's predictions to augmented files.

Example:
  keras-mmel label augmented/reviews --teacher teacher.keras \
    --out labelled/reviews
"""

import argparse
import functools

from keras_mmel_cli import shared


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `label`."""
    add = parser.add_argument
    add("directory", help="what `augment` or `import` wrote")
    add(
        "--teacher",
        required=True,
        metavar="FILE",
        help="a fine-tuned text classifier, saved by model.save",
    )
    # Arguments of `label_augmented`.
    number = functools.partial(
        add, type=shared.positive, metavar="N", action=shared.Setting
    )
    number(
        "--batch_size", help="texts of one call of the teacher (default: 64)"
    )
    number(
        "--max_length",
        help="tokens of a text or a pair that the teacher sees (default: 128)",
    )
    shared.add_shard(parser)
    add("--out", required=True, metavar="DIR", help="where to write")


def check(options: argparse.Namespace) -> None:
    """Raises `ValueError` or `OSError` for what is wrong at first sight."""
    shared.check_exists(options.directory, "directory")
    shared.check_exists(options.teacher)


def run(options: argparse.Namespace) -> None:
    """Labels the files that the options name with their teacher."""
    with shared.quiet():
        import keras

        from keras_mmel.tasks.preprocessing import preprocess_of
        from keras_mmel.text import BertTextClassifier
        from keras_mmel.text import label_augmented

    teacher = keras.saving.load_model(options.teacher, compile=False)
    is_ours = isinstance(teacher, BertTextClassifier)
    if not is_ours and preprocess_of(teacher) is None:
        raise ValueError(
            "--teacher must be a text classifier of load_text_classifier or of "
            "keras-hub, with its preprocessor, saved by model.save. Received: "
            f"{options.teacher}, which holds a {type(teacher).__name__}"
        )
    files, out, shard = options.directory, options.out, options.shard
    written = label_augmented(
        files, teacher, out, shard=shard, **options.settings
    )
    shared.tell(out, written)

"""The command `keras-mmel label`."""

import dataclasses

import tyro

from keras_mmel_cli import shared


@dataclasses.dataclass
class Label:
    r"""Add a teacher's predictions to augmented files.

    For example:
      keras-mmel label augmented/reviews --teacher teacher.keras \
        --out labelled/reviews

    Attributes:
        directory: what `augment` or `import` wrote
        teacher: a fine-tuned text classifier, saved by model.save
        out: where to write
        batch_size: texts of one call of the teacher
        max_length: tokens of a text or a pair that the teacher sees
    """

    directory: tyro.conf.Positional[shared.Directory]
    teacher: shared.File
    out: shared.Directory
    batch_size: int = 64
    max_length: int = 128
    shard: shared.Share = None

    def validate(self) -> None:
        """Raises `ValueError` or `OSError` for what is wrong at first sight."""
        shared.check_exists(self.directory, "directory")
        shared.check_exists(self.teacher)
        shared.parse_share(self.shard)

    def run(self) -> None:
        """Labels the files that the options name with their teacher."""
        with shared.quiet():
            import keras

            from keras_mmel.tasks.preprocessing import preprocess_of
            from keras_mmel.text import BertTextClassifier
            from keras_mmel.text import label_augmented

        try:
            teacher = keras.saving.load_model(self.teacher, compile=False)
        except Exception as error:  # of zip files, JSON and Keras
            raise ValueError(
                "--teacher must be a whole model that model.save saved, of "
                "classes of Keras, keras-hub or this package. "
                f"Received: {self.teacher}: {str(error):.200}"
            ) from error
        is_ours = isinstance(teacher, BertTextClassifier)
        if not is_ours and preprocess_of(teacher) is None:
            raise ValueError(
                "--teacher must be a text classifier of load_text_classifier "
                "or of keras-hub, with its preprocessor, saved by model.save. "
                f"Received: {self.teacher}, which holds a "
                f"{type(teacher).__name__}"
            )
        written = label_augmented(
            self.directory,
            teacher,
            self.out,
            shard=shared.parse_share(self.shard),
            batch_size=self.batch_size,
            max_length=self.max_length,
        )
        shared.tell(self.out, written)

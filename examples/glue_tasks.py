"""The GLUE tasks of the paper: what their columns, labels and scores are."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class GlueTask:
    """One task of GLUE, as TFDS has it and as the GLUE server scores it.

    Attributes:
        name: the name of the task; `tfds_name` is that of its TFDS builder.
        columns: the text columns, one or two.
        num_classes: number of classes; 1 is regression.
        epochs: of fine-tuning, as in appendix B of the paper.
        metrics: what is measured; the first is what section 4.2 of the paper
            reports on the development set.
        submissions: for each test split the name of its file for the server.
        answers: for each class the word that the server expects; empty where
            it expects the number.
        train_split: name of the training split.
        eval_splits: development splits; scores of the first come first.
        id: the column of the example ids, unique within a split.
        label: the column of the labels; -1 stands for a hidden one.
    """

    name: str
    columns: tuple[str, ...]
    num_classes: int
    epochs: int
    metrics: tuple[str, ...]
    submissions: tuple[tuple[str, str], ...]
    answers: tuple[str, ...] = ()
    train_split: str = "train"
    eval_splits: tuple[str, ...] = ("validation",)
    id: str = "idx"
    label: str = "label"

    @property
    def tfds_name(self) -> str:
        return f"glue/{self.name}"

    @property
    def is_regression(self) -> bool:
        return self.num_classes == 1

    @property
    def test_splits(self) -> tuple[str, ...]:
        return tuple(split for split, _ in self.submissions)


_PAIR = ("sentence1", "sentence2")
_ENTAILMENT = ("entailment", "not_entailment")

TASKS = {
    task.name: task
    for task in (
        GlueTask(
            "cola",
            ("sentence",),
            2,
            10,
            ("matthews", "accuracy"),
            (("test", "CoLA.tsv"),),
        ),
        GlueTask(
            "sst2",
            ("sentence",),
            2,
            10,
            ("accuracy",),
            (("test", "SST-2.tsv"),),
        ),
        GlueTask(
            "mrpc",
            _PAIR,
            2,
            10,
            ("accuracy", "f1"),
            (("test", "MRPC.tsv"),),
        ),
        GlueTask(
            "stsb",
            _PAIR,
            1,
            10,
            ("spearman", "pearson"),
            (("test", "STS-B.tsv"),),
        ),
        GlueTask(
            "qqp",
            ("question1", "question2"),
            2,
            3,
            ("accuracy", "f1"),
            (("test", "QQP.tsv"),),
        ),
        GlueTask(
            "mnli",
            ("premise", "hypothesis"),
            3,
            3,
            ("accuracy",),
            (
                ("test_matched", "MNLI-m.tsv"),
                ("test_mismatched", "MNLI-mm.tsv"),
            ),
            answers=("entailment", "neutral", "contradiction"),
            eval_splits=("validation_matched", "validation_mismatched"),
        ),
        GlueTask(
            "qnli",
            ("question", "sentence"),
            2,
            10,
            ("accuracy",),
            (("test", "QNLI.tsv"),),
            answers=_ENTAILMENT,
        ),
        GlueTask(
            "rte",
            _PAIR,
            2,
            10,
            ("accuracy",),
            (("test", "RTE.tsv"),),
            answers=_ENTAILMENT,
        ),
    )
}

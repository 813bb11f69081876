"""The cells of the text tables: 3, 4 and 6, figure 2, and two sweeps.

At `--scale small` a small BERT is masked LM, teacher and student, on the four
tasks of GLUE that are small. A small cell has no value of the paper beside it.
"""

from experiments.reproduce.cells import Cell
from experiments.reproduce.cells import Places
from experiments.reproduce.paper import PaperValue
from experiments.reproduce.paper import read
from experiments.training.glue_tasks import TASKS

PAPER_SEEDS = (0, 1, 2, 3, 4)
SMALL_SEEDS = (0, 1, 2)
SMALL_TASKS = ("cola", "mrpc", "stsb", "rte")
# Of the rates that the small BERTs were published with (Turc et al., 2019),
# the largest: they are trained from little.
SMALL = ("--learning_rate", "3e-4", "--epochs", "5")
SMALL_PRESET = "hf://google/bert_uncased_L-2_H-128_A-2"
# What the sweeps are made on.
SWEEP_TASK = "stsb"
LAMBDA_P = (0.0, 0.1, 0.3, 1.0, 3.0)
NUM_VIEWS = (2, 3, 5)
METHODS = ("baseline", "da-long", "uniform", "mmel-h", "mmel-s")
# The last epoch is a rule that no development score decides.
REPORT = "last"


def table3(scale: str, places: Places) -> list[Cell]:
    """GLUE development sets: five methods, labels of the teacher."""
    return [
        _cell("table3", scale, places, of["task"], of["method"], value)
        for of, value in _read("table3", scale)
        if of["split"] == "validation" and of["method"] in METHODS
    ]


def figure2(scale: str, places: Places) -> list[Cell]:
    """Development scores during training: the runs of table 3."""
    return [
        _cell("figure2", scale, places, task, method)
        for task in (SMALL_TASKS if scale == "small" else TASKS)
        for method in METHODS
        if method != "da-long"
    ]


def table4(scale: str, places: Places) -> list[Cell]:
    """GLUE: labels of the originals, or predictions of the teacher."""
    chosen = [
        (of["task"], of["method"], of["labels"], value)
        for of, value in _read("table4", scale)
    ]
    if scale == "small":
        # What they are compared with; the paper's table does without.
        chosen += [
            (task, "uniform", labels, None)
            for task in dict.fromkeys(task for task, *_ in chosen)
            for labels in ("original", "teacher")
        ]
        chosen.sort(key=lambda one: [*TASKS].index(one[0]))
    return [
        _cell(
            *("table4", scale, places, task, method, value),
            suffix=f" {labels} labels",
            labels=labels,
        )
        for task, method, labels, value in chosen
    ]


def table6(scale: str, places: Places) -> list[Cell]:
    """GLUE: greedy or beam, separate or concatenated, 0.2 or 0.4 masked."""
    found = []
    for of, value in _read("table6", scale):
        suffix, data = "", ()
        if "search" in of:
            how = of["search"], of["pairs"], f"{of['mask_ratio']:g}"
            suffix = f" {' '.join(how)}"
            names = ("--search", "--pairs", "--mask_ratio")
            data = sum(zip(names, how, strict=True), ())
        found.append(
            _cell(
                *("table6", scale, places, of["task"], of["method"], value),
                suffix=suffix,
                data=data,
                reference="baseline",
            )
        )
    return found


def glue_lambda_p(scale: str, places: Places) -> list[Cell]:
    """GLUE, STS-B: MMEL-H from the maximum (0) to the mean (inf)."""
    found = []
    for value in (*LAMBDA_P, float("inf")):
        method, options = "uniform", ()
        if value in LAMBDA_P:
            method, options = "mmel-h", ("--lambda_p", f"{value:g}")
        found.append(
            _cell(
                *("glue_lambda_p", scale, places, SWEEP_TASK, method),
                suffix=f" lambda_p={value:g}",
                options=options,
                reference="uniform lambda_p=inf",
            )
        )
    return found


def glue_views(scale: str, places: Places) -> list[Cell]:
    """GLUE, STS-B: the number of views, drawn from the same four samples."""
    return [
        _cell(
            *("glue_views", scale, places, SWEEP_TASK, method),
            suffix=f" {views} views",
            data=("--num_augmented", str(max(NUM_VIEWS) - 1)),
            options=("--num_views", str(views)),
        )
        for views in NUM_VIEWS
        for method in ("uniform", "mmel-h", "mmel-s")
    ]


def _read(table, scale):
    """The paper's numbers of single tasks."""
    tasks = SMALL_TASKS if scale == "small" else TASKS
    return [(of, value) for of, value in read(table) if of["task"] in tasks]


def _cell(
    table: str,
    scale: str,
    places: Places,
    task: str,
    method: str,
    value: PaperValue | None = None,
    suffix: str = "",
    labels: str = "teacher",
    data: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    reference: str | None = None,
) -> Cell:
    """A cell; the samples depend on `data`, not on `options`."""
    seeds = PAPER_SEEDS
    if value is not None and value.std is None:
        # A number without a deviation is, where the paper tells, of one run.
        seeds = PAPER_SEEDS[:1]
    common = ["--tasks", task, *data, *places.options("glue")]
    if scale == "small":
        seeds, value = SMALL_SEEDS, None
        common += SMALL
    for name in ("masked_lm", "teacher", "student"):
        preset = getattr(places, name)
        if preset is None and scale == "small":
            preset = SMALL_PRESET
        if preset is not None:
            common += [f"--{name}", preset]
    common = ("--labels", labels, *common)
    metric = TASKS[task].metrics[0]
    scores = [f"{REPORT}.{metric}"]
    if task == "mnli" and scale == "paper":
        scores.append(f"{REPORT}.{metric}_mismatched")
    first = ("experiments.training.glue", "prepare", *common)
    return Cell(
        table=table,
        row=f"{task} ({metric})",
        column=method + suffix,
        name=f"{task}-{method}{suffix}".replace(" ", "-"),
        module="experiments.training.glue",
        arguments=("train", "--method", method, *common, *options),
        seeds=seeds,
        scores=tuple(scores),
        paper=value,
        reference=reference or f"uniform{suffix}",
        first=None if method == "baseline" else first,
    )

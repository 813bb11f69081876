"""The cells of the text tables: 3, 4 and 6, figure 2, and two sweeps.

At `--scale small` a small BERT is masked LM, teacher and student, on the four
tasks of GLUE that are small. A small cell has no value of the paper beside it.
"""

from examples.glue_tasks import TASKS
from experiments.reproduce.cells import Cell
from experiments.reproduce.cells import Places
from experiments.reproduce.paper import PaperValue
from experiments.reproduce.paper import read

PAPER_SEEDS = (0, 1, 2, 3, 4)
SMALL_SEEDS = (0, 1, 2)
SMALL_TASKS = ("cola", "mrpc", "stsb", "rte")
# Of the rates that the small BERTs were published with (Turc et al., 2019),
# the largest: they are trained from little.
SMALL_RATE = "3e-4"
SMALL_EPOCHS = "5"
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
        _cell("table3", of["task"], of["method"], value, scale, places)
        for of, value in read("table3")
        if of["split"] == "validation" and of["method"] in METHODS
        if _is_task(of["task"], scale)
    ]


def figure2(scale: str, places: Places) -> list[Cell]:
    """Development scores during training: the runs of table 3."""
    return [
        _cell("figure2", task, method, None, scale, places)
        for task in TASKS
        if _is_task(task, scale)
        for method in METHODS
        if method != "da-long"
    ]


def table4(scale: str, places: Places) -> list[Cell]:
    """GLUE: labels of the originals, or predictions of the teacher."""
    chosen = [
        (of["task"], of["method"], of["labels"], value)
        for of, value in read("table4")
        if _is_task(of["task"], scale)
    ]
    if scale == "small":
        # What they are compared with; the paper's table does without.
        tasks = dict.fromkeys(task for task, *_ in chosen)
        chosen += [
            (task, "uniform", labels, None)
            for task in tasks
            for labels in ("original", "teacher")
        ]
        order = [*tasks]
        chosen.sort(key=lambda one: order.index(one[0]))
    return [
        _cell("table4", task, method, value, scale, places, labels=labels)
        for task, method, labels, value in chosen
    ]


def table6(scale: str, places: Places) -> list[Cell]:
    """GLUE: greedy or beam, separate or concatenated, 0.2 or 0.4 masked."""
    found = []
    for of, value in read("table6"):
        if not _is_task(of["task"], scale):
            continue
        how = {name: of.get(name) for name in ("search", "pairs", "mask_ratio")}
        found.append(
            _cell(
                "table6", of["task"], of["method"], value, scale, places, **how
            )
        )
    return found


def glue_lambda_p(scale: str, places: Places) -> list[Cell]:
    """GLUE, STS-B: MMEL-H from the maximum (0) to the mean (inf)."""
    methods = dict.fromkeys(LAMBDA_P, "mmel-h") | {float("inf"): "uniform"}
    return [
        _cell(
            "glue_lambda_p",
            SWEEP_TASK,
            method,
            None,
            scale,
            places,
            lambda_p=value,
        )
        for value, method in methods.items()
    ]


def glue_views(scale: str, places: Places) -> list[Cell]:
    """GLUE, STS-B: the number of views, drawn from the same four samples."""
    return [
        _cell(
            "glue_views",
            SWEEP_TASK,
            method,
            None,
            scale,
            places,
            num_views=views,
        )
        for views in NUM_VIEWS
        for method in ("uniform", "mmel-h", "mmel-s")
    ]


def _is_task(name, scale):
    return name in (SMALL_TASKS if scale == "small" else TASKS)


def _cell(
    table: str,
    task: str,
    method: str,
    value: PaperValue | None,
    scale: str,
    places: Places,
    labels: str = "teacher",
    search: str | None = None,
    pairs: str | None = None,
    mask_ratio: float | None = None,
    lambda_p: float | None = None,
    num_views: int | None = None,
) -> Cell:
    column, data, reference = method, [], "uniform"
    # What the samples do not depend on.
    training = ()
    if table == "table4":
        column += f" {labels} labels"
        reference = f"uniform {labels} labels"
    if search is not None:
        column += f" {search} {pairs} {mask_ratio:g}"
        reference = "baseline"
        data += ["--search", search, "--pairs", pairs]
        data += ["--mask_ratio", f"{mask_ratio:g}"]
    if lambda_p is not None:
        column += f" lambda_p={lambda_p:g}"
        reference = "uniform lambda_p=inf"
        if method != "uniform":
            training = ("--lambda_p", f"{lambda_p:g}")
    if num_views is not None:
        column += f" {num_views} views"
        reference = f"uniform {num_views} views"
        training = ("--num_views", str(num_views))
        data += ["--num_augmented", str(max(NUM_VIEWS) - 1)]
    seeds = PAPER_SEEDS
    if value is not None and value.std is None:
        # A number without a deviation is, where the paper tells, of one run.
        seeds = PAPER_SEEDS[:1]
    options = ["--tasks", task, *data, *places.options("glue")]
    if scale == "small":
        seeds, value = SMALL_SEEDS, None
        options += ["--learning_rate", SMALL_RATE, "--epochs", SMALL_EPOCHS]
    for name in ("masked_lm", "teacher", "student"):
        preset = getattr(places, name)
        if preset is None and scale == "small":
            preset = SMALL_PRESET
        if preset is not None:
            options += [f"--{name}", preset]
    options = tuple(options)
    prepare = ("examples.glue", "prepare", "--labels", labels, *options)
    metric = TASKS[task].metrics[0]
    scores = [f"{REPORT}.{metric}"]
    if task == "mnli" and scale == "paper":
        scores.append(f"{REPORT}.{metric}_mismatched")
    return Cell(
        table,
        f"{task}-{column}".replace(" ", "-"),
        "examples.glue",
        (
            *("train", "--method", method, "--labels", labels),
            *(*options, *training),
        ),
        seeds,
        tuple(scores),
        f"{task} ({metric})",
        column,
        value,
        reference,
        (prepare,) if method != "baseline" else (),
    )

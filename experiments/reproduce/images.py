"""The cells of the image tables: 1, 2 and 5, and beyond the paper.

At `--scale small` the same comparison fits two CPU cores: a class-balanced
1,000 images, shallower networks, batches of 50. A small cell has no value of
the paper beside it: it answers another question.
"""

from experiments.reproduce.cells import Cell
from experiments.reproduce.cells import Places
from experiments.reproduce.paper import PaperValue
from experiments.reproduce.paper import read

PAPER_SEEDS = (0, 1, 2, 3, 4)
SMALL_SEEDS = (0, 1, 2)
# Section 4.1: "selected from {0.5, 1.0, 2.0}"; where by, it does not say.
LAMBDA_T = (0.5, 1.0, 2.0)
# What is in a batch, and its views where a table does not vary them.
BATCH = {"paper": 128, "small": 50}
VIEWS = {"paper": 10, "small": 5}
SMALL_DEPTHS = {20: 8, 32: 14, 44: 20, 56: 26}
# Training images and epochs: 100 and 250 images a class.
FEW_LABELS = {1000: 60, 2500: 40}
RIVALS = ("maxup", "tilted", "consistency")
LAMBDA_P = (0.0, 0.1, 0.3, 1.0, 3.0, float("inf"))
# The ends of the sweep have names of their own, and records among the rivals.
ENDS = {0.0: "maxup", float("inf"): "uniform"}


def table1(scale: str, places: Places) -> list[Cell]:
    """CIFAR: five methods, four depths, two data sets."""
    return [
        _cifar("table1", scale, places, **of, **pick, value=value)
        for of, value in read("table1")
        for pick in _picks(of["method"])
    ]


def table2(scale: str, places: Places) -> list[Cell]:
    """CIFAR: 2, 5, 10 and 20 views."""
    found = []
    for of, value in read("table2"):
        views = of.pop("num_views")
        of |= {"value": value, "views": max(views, 2), "reference": "da"}
        for pick in _picks(of["method"], f"-{views}" if views > 1 else ""):
            found.append(_cifar("table2", scale, places, **of, **pick))
    return found


def rivals(scale: str, places: Places) -> list[Cell]:
    """CIFAR-10: other ways to use the same views, at equal compute."""
    methods = ("da", "da-long", "uniform", "mmel-h", "mmel-s", *RIVALS)
    limits = FEW_LABELS if scale == "small" else (None,)
    return [
        _cifar("rivals", scale, places, method, limit=limit)
        for limit in limits
        for method in methods
    ]


def equal_steps(scale: str, places: Places) -> list[Cell]:
    """CIFAR-10: as many steps and view passes as plain training has."""
    # As many views in a step as `da-long` has images.
    few = BATCH[scale] // VIEWS[scale]
    batches = {"da-long": None, "uniform": few, "mmel-h": few, "mmel-s": few}
    return [
        _cifar("equal_steps", scale, places, method, batch=batch)
        for method, batch in batches.items()
    ]


def lambda_p(scale: str, places: Places) -> list[Cell]:
    """CIFAR-10: MMEL-H from the maximum (0) to the mean (inf)."""
    found = []
    for value in LAMBDA_P:
        method, options = ENDS.get(value), ()
        if method is None:
            method, options = "mmel-h", ("--lambda_p", f"{value:g}")
        found.append(
            _cifar(
                *("lambda_p", scale, places, method),
                suffix=f" lambda_p={value:g}",
                options=options,
                reference="uniform lambda_p=inf",
            )
        )
    return found


def table5(scale: str, places: Places) -> list[Cell]:
    """ImageNet: ResNet-18, 34 and 50."""
    small = ("--dataset", "imagenette/160px-v2", "--epochs", "2")
    small += ("--batch_size", "16", "--num_views", "2", "--image_size", "64")
    return [
        Cell(
            table="table5",
            row=f"ResNet{of['depth']}",
            column=of["method"],
            name=f"resnet{of['depth']}-{of['method']}",
            module="experiments.training.imagenet",
            arguments=(
                *("--method", of["method"], "--depth", str(of["depth"])),
                *(small if scale == "small" else ()),
                *places.options("imagenet"),
            ),
            seeds=(0,),
            scores=("accuracy",),
            paper=value if scale == "paper" else None,
        )
        for of, value in read("table5")
    ]


def _picks(method, suffix=""):
    """Parts of a cell, for each lambda_t where that is picked."""
    if method != "mmel-s":
        return [{"suffix": suffix}]
    return [
        {
            "suffix": f"{suffix} lambda_t={lambda_t:g}",
            "options": ("--lambda_t", f"{lambda_t:g}"),
        }
        for lambda_t in LAMBDA_T
    ]


def _cifar(
    table: str,
    scale: str,
    places: Places,
    method: str,
    depth: int = 20,
    dataset: str = "cifar10",
    value: PaperValue | None = None,
    suffix: str = "",
    views: int | None = None,
    limit: int | None = None,
    batch: int | None = None,
    options: tuple[str, ...] = (),
    reference: str = "uniform",
) -> Cell:
    seeds, batch = PAPER_SEEDS, batch or BATCH[scale]
    if value is not None and value.std is None:
        # The paper ran what is slow once.
        seeds = PAPER_SEEDS[:1]
    shape = []
    if scale == "small":
        seeds, value = SMALL_SEEDS, None
        depth, limit = SMALL_DEPTHS[depth], limit or 1000
        epochs = str(FEW_LABELS[limit])
        shape = ["--limit", str(limit)]
        shape += ["--epochs", epochs, "--eval_every", epochs]
    if batch != BATCH["paper"]:
        shape += ["--batch_size", str(batch)]
    script = "rivals" if method in RIVALS else "training.cifar"
    row, column = f"{dataset} ResNet{depth}", method + suffix
    row += "" if limit is None else f", {limit} images"
    return Cell(
        table=table,
        row=row,
        column=column,
        name=f"{row.replace(',', '')} {column}".lower().replace(" ", "-"),
        module=f"experiments.{script}",
        arguments=(
            *("--method", method, "--depth", str(depth), *shape),
            *("--dataset", dataset),
            *("--num_views", str(views or VIEWS[scale])),
            *options,
            *places.options("cifar"),
        ),
        seeds=seeds,
        scores=("accuracy",),
        paper=value,
        reference=reference,
    )

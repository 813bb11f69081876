"""The cells of the image tables: 1, 2 and 5, and beyond the paper.

At `--scale small` the same comparison fits two CPU cores: a class-balanced
1,000 images, shallower networks, batches of 50. A small cell has no value of
the paper beside it: it answers another question.
"""

from experiments.reproduce.cells import Cell
from experiments.reproduce.cells import Places
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
        cell
        for of, value in read("table1")
        for cell in _cifar("table1", of, VIEWS[scale], value, scale, places)
    ]


def table2(scale: str, places: Places) -> list[Cell]:
    """CIFAR: 2, 5, 10 and 20 views."""
    return [
        cell
        for of, value in read("table2")
        for cell in _cifar(
            "table2", of, of.pop("num_views"), value, scale, places
        )
    ]


def rivals(scale: str, places: Places) -> list[Cell]:
    """CIFAR-10: other ways to use the same views, at equal compute."""
    methods = ("da", "da-long", "uniform", "mmel-h", "mmel-s", *RIVALS)
    limits = FEW_LABELS if scale == "small" else (None,)
    return [
        cell
        for limit in limits
        for cell in _methods("rivals", methods, scale, places, limit)
    ]


def equal_steps(scale: str, places: Places) -> list[Cell]:
    """CIFAR-10: as many steps and view passes as plain training has."""
    methods = ("uniform", "mmel-h", "mmel-s")
    # As many views in a step as `da-long` has images.
    batch = BATCH[scale] // VIEWS[scale]
    return [
        *_methods("equal_steps", ("da-long",), scale, places),
        *_methods("equal_steps", methods, scale, places, batch=batch),
    ]


def _methods(table, methods, scale, places, limit=None, batch=None):
    return [
        cell
        for method in methods
        for cell in _cifar(
            table,
            {"dataset": "cifar10", "depth": 20, "method": method},
            VIEWS[scale],
            None,
            scale,
            places,
            limit=limit,
            batch=batch,
        )
    ]


def lambda_p(scale: str, places: Places) -> list[Cell]:
    """CIFAR-10: MMEL-H from the maximum (0) to the mean (inf)."""
    found = []
    for value in LAMBDA_P:
        method = ENDS.get(value, "mmel-h")
        of = {"dataset": "cifar10", "depth": 20, "method": method}
        found += _cifar(
            "lambda_p", of, VIEWS[scale], None, scale, places, value
        )
    return found


def table5(scale: str, places: Places) -> list[Cell]:
    """ImageNet: ResNet-18, 34 and 50."""
    found = []
    for of, value in read("table5"):
        arguments = ["--method", of["method"], "--depth", str(of["depth"])]
        seeds = (0,)
        if scale == "small":
            arguments += ["--dataset", "imagenette/160px-v2", "--epochs", "2"]
            arguments += ["--batch_size", "16", "--num_views", "2"]
            arguments += ["--image_size", "64"]
            value = None
        found.append(
            Cell(
                "table5",
                f"resnet{of['depth']}-{of['method']}",
                "examples.imagenet",
                (*arguments, *places.options("imagenet")),
                seeds,
                ("accuracy",),
                f"ResNet{of['depth']}",
                of["method"],
                value,
            )
        )
    return found


def _cifar(
    table,
    of,
    num_views,
    value,
    scale,
    places,
    lambda_p=None,
    limit=None,
    batch=None,
):
    """One cell; three for MMEL-S, whose lambda_t is picked."""
    dataset, depth, method = of["dataset"], of["depth"], of["method"]
    seeds = PAPER_SEEDS
    if value is not None and value.std is None:
        # The paper ran what is slow once.
        seeds = PAPER_SEEDS[:1]
    shape, batch = ["--depth", str(depth)], batch or BATCH[scale]
    if scale == "small":
        seeds, value = SMALL_SEEDS, None
        depth = SMALL_DEPTHS[depth]
        limit = limit or 1000
        epochs = str(FEW_LABELS[limit])
        shape = ["--depth", str(depth), "--limit", str(limit)]
        shape += ["--epochs", epochs, "--eval_every", epochs]
    if batch != BATCH["paper"]:
        shape += ["--batch_size", str(batch)]
    shape += ["--dataset", dataset, "--num_views", str(max(num_views, 2))]
    name, row = f"{dataset}-resnet{depth}", f"{dataset} ResNet{depth}"
    if limit is not None:
        name, row = f"{name}-{limit}", f"{row}, {limit} images"
    reference = "da" if table == "table2" else "uniform"
    if lambda_p is not None:
        reference = "uniform lambda_p=inf"
    found = []
    lambdas = LAMBDA_T if table in ("table1", "table2") else (1.0,)
    for lambda_t in lambdas if method == "mmel-s" else (None,):
        column, extra = method, []
        if table == "table2":
            column = f"{method}-{num_views}" if method != "da" else method
        if len(lambdas) > 1 and lambda_t is not None:
            column += f" lambda_t={lambda_t:g}"
        if lambda_t is not None:
            extra += ["--lambda_t", f"{lambda_t:g}"]
        if lambda_p is not None:
            column += f" lambda_p={lambda_p:g}"
            if lambda_p not in ENDS:
                extra += ["--lambda_p", f"{lambda_p:g}"]
        found.append(
            Cell(
                table,
                name + f"-{column}".replace(" ", "-"),
                "experiments.rivals" if method in RIVALS else "examples.cifar",
                (
                    "--method",
                    method,
                    *shape,
                    *extra,
                    *places.options("cifar"),
                ),
                seeds,
                ("accuracy",),
                row,
                column,
                value,
                reference,
            )
        )
    return found

"""Tables of comparisons whose runs may not all be made yet."""

import functools
import json
import pathlib

from experiments import comparisons

SHARES = (0, 10, 20, 40)
# Those that may hold fewer seeds than the plan has: the seeds come last.
_CLEAN, _WORST = "original_accuracy", "worst_accuracy"
_GROWING = {
    "digits-noise0-alike": (None, 0.0, 10),
    "digits-noise20-alike": ((_CLEAN, "hard 1"), 0.0, 10),
    "digits-noise10-alike": (None, 0.0, 10),
    "digits-noise40-alike": (None, 0.0, 10),
    "digits-ball-u4-alike": ((_WORST, "ball 0.35", "hard 1"), 0.5, 20),
    "digits-ball-u1-alike": (None, 0.0, 20),
    "cifar-p5-alike": ((_CLEAN, "hard 1"), 0.0, 5),
    "cifar-p2-alike-ball": (("mean_accuracy", "ball 0.07", "hard 1"), 0.0, 10),
    "cifar-p2-alike-rest": (None, 0.0, 10),
    "cifar-p2-original-soft": (None, 0.0, 10),
    "digits-u1-original-soft": (None, 0.0, 20),
    "cifar-p3-alike-ball": (None, 0.0, 45),
    "digits-ball-noise20-alike": (None, 0.0, 10),
    **{f"digits-noise{share}-original": (None, 0.0, 10) for share in SHARES},
    "cifar-p5-original": (None, 0.0, 5),
}
# Those with a picture of clean against worst accuracy.
DIALS = ("digits-ball-u4-alike", "digits-ball-u1-alike", "cifar-p2-alike-ball")
DIALS += ("digits-ball-noise20-alike",)
# Later methods, and the record of what they are compared with.
_WITH = {
    "cifar-p2-alike-ball": "cifar-p2-alike",
    "cifar-p2-alike-rest": "cifar-p2-alike",
    "cifar-p2-original-soft": "cifar-p2-original",
    "digits-u1-original-soft": "digits-u1-original",
    "cifar-p3-alike-ball": "cifar-p3-alike",
    "digits-ball-noise20-alike": "digits-noise20-alike",
}


def record_of(name: str, results: pathlib.Path) -> dict | None:
    """A record with the one of its baseline, of the seeds that are whole.

    Args:
        name: Of a record whose runs may not all be made.
        results: Folder of the records.

    Returns:
        One record of both; None where one is missing or has too few seeds.
    """
    names = [_WITH[name], name] if name in _WITH else [name]
    paths = [results / "evidence" / f"{each}.json" for each in names]
    if not all(path.exists() for path in paths):
        return None
    *before, last = (
        json.loads(path.read_text(encoding="utf-8")) for path in paths
    )
    last = comparisons.with_whole_seeds(last)
    return last and comparisons.merged([*before, last])


def table_of(name: str, results: pathlib.Path) -> str:
    """The table of a comparison whose runs may not all be made.

    Args:
        name: Of its record.
        results: Folder of the records.
    """
    record = record_of(name, results)
    if record is None:
        return ""
    return comparisons.compared(record, *_GROWING[name])


def label_noise(results: pathlib.Path) -> str:
    """P5 on digits: each method minus uniform, by the share of wrong labels."""
    found = {
        share: record_of(f"digits-noise{share}-alike", results)
        for share in SHARES
    }
    return comparisons.by_share({s: r for s, r in found.items() if r})


def unseen(results: pathlib.Path) -> str:
    """P7: the methods under changes that none was trained on."""
    record = record_of("digits-unseen-alike", results)
    return comparisons.by_change(record) if record else ""


# By name in the page; each takes the folder of the records.
TABLES = {
    "digits-noise": label_noise,
    "digits-unseen-alike": unseen,
    **{name: functools.partial(table_of, name) for name in _GROWING},
}

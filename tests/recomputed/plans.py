"""What docs/experiments.md says before the runs of each of its tables."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the page says of a comparison before its table.

    Attributes:
        primary: The score that is asked first, if one is.
        of: The two methods that it asks about.
        margin: Points of clean accuracy that may be lost; none was named where
            it is 0.
        seeds: How many there are to be.
        beside: The record that has the baseline, where it is another one.
        grows: Whether its seeds are run one after the other, with all methods.
    """

    primary: str = ""
    of: tuple[str, str] = ("hard 1", "uniform")
    margin: float = 0
    seeds: int = 0
    beside: str = ""
    grows: bool = False


PLANS = {
    "digits-u4-alike": Plan("worst_accuracy", margin=1),
    "digits-u4-original": Plan(),
    "digits-u1-alike": Plan("worst_accuracy", margin=1),
    "digits-u1-original": Plan(),
    "cifar-p2-alike": Plan("mean_accuracy"),
    "cifar-p2-original": Plan(),
    "cifar-p3-alike": Plan("original_nll"),
    "cifar-p3-alike-at-0.001": Plan(),
    "cifar-p3-alike-at-0.003": Plan(),
    "cifar-p3-alike-at-0.01": Plan(),
    "text-sst2": Plan("original_accuracy"),
    "text-sst2-teacher": Plan(),
    "text-sst2-no-dropout": Plan(),
    "text-cola": Plan(),
    "text-mrpc": Plan(),
    "digits-noise0-alike": Plan(seeds=10, grows=True),
    "digits-noise0-original": Plan(seeds=10, grows=True),
    "digits-noise10-alike": Plan(seeds=10, grows=True),
    "digits-noise10-original": Plan(seeds=10, grows=True),
    "digits-noise20-alike": Plan("original_accuracy", seeds=10, grows=True),
    "digits-noise20-original": Plan(seeds=10, grows=True),
    "digits-noise40-alike": Plan(seeds=10, grows=True),
    "digits-noise40-original": Plan(seeds=10, grows=True),
    "digits-ball-u4-alike": Plan(
        "worst_accuracy", ("ball 0.35", "hard 1"), 0.5, seeds=20, grows=True
    ),
    "digits-ball-u1-alike": Plan(seeds=20, grows=True),
    "digits-ball-noise20-alike": Plan(
        seeds=10, beside="digits-noise20-alike", grows=True
    ),
    "digits-unseen-alike": Plan(seeds=10, grows=True),
    "cifar-p2-original-soft": Plan(
        seeds=10, beside="cifar-p2-original", grows=True
    ),
    "digits-u1-original-soft": Plan(
        seeds=20, beside="digits-u1-original", grows=True
    ),
    "cifar-p5-alike": Plan("original_accuracy", seeds=5, grows=True),
    "cifar-p2-alike-ball": Plan(
        "mean_accuracy",
        ("ball 0.07", "hard 1"),
        seeds=10,
        beside="cifar-p2-alike",
        grows=True,
    ),
    "cifar-p2-alike-rest": Plan(seeds=10, beside="cifar-p2-alike", grows=True),
}

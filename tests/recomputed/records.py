"""Records of runs as they lie on the disk, and runs by method and seed."""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments" / "results"
PAPER = ROOT / "experiments" / "reproduce" / "paper.json"


def read():
    """Every record, by its path under `experiments/results`."""
    return {
        path.relative_to(RESULTS).as_posix(): json.loads(path.read_bytes())
        for path in sorted(RESULTS.rglob("*.json"))
    }


def paired(first, second):
    """Differences of two series, for the seeds that both have."""
    return [first[seed] - second[seed] for seed in first if seed in second]

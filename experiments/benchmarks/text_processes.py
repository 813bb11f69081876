r"""Augmenting text in one process, in two, and on Apache Beam with two.

    python -m experiments.benchmarks.text_processes --masked_lm DIR \
        --data_dir TFDS_DIR

Augments sentences of GLUE with the masked LM in DIR, each arm in a process of
its own, few sentences and many; the difference of the two is what a sentence
costs beyond the start. Threads are as many as cores, over all processes, but
for one process on one thread, which the others are compared with. The arms take
turns. Beam is left out where it is not installed.

Prints CPU milliseconds a sentence (of all processes) and sentences a second by
the clock, both with their ratio to one thread; writes them to
experiments/results/benchmarks. The clock wants a machine that does nothing
else. About 7 minutes on two cores.
"""

import csv
import functools
import importlib.util
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write
from experiments.benchmarks.text_generation import read_sentences

SHARDS = 16
ONE = "one process, one thread"
PROCESSES = {ONE: 1, "one process, all threads": 1, "two processes": 2}
ON_BEAM = "Beam, two processes"
_PROGRAM = """
import functools
import sys
import apache_beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.utils.shared import Shared
from keras_mmel import text

masked_lm, table, out, shards = sys.argv[1:]
shards = int(shards)

def make_writer():
    source = text.files.from_csv(table, "text")
    augmenter = text.MaskedLMAugmenter(text.load_masked_lm(masked_lm))
    settings = {"num_shards": shards, "progress": False}
    write = text.write_augmented
    return functools.partial(write, out, source, augmenter, **settings)

def write_shard(index, shared):
    return shared.acquire(make_writer)(shard=(index, shards))

options = PipelineOptions(
    direct_running_mode="multi_processing", direct_num_workers=2
)
with apache_beam.Pipeline("DirectRunner", options) as pipeline:
    numbers = pipeline | apache_beam.Create(range(shards))
    spread = numbers | apache_beam.Reshuffle()
    spread | apache_beam.Map(write_shard, Shared())
"""


def command_of(arm: str, masked_lm: str, table: str, out: str) -> list[str]:
    """What augments a table by an arm."""
    if arm == ON_BEAM:
        words = ["-c", _PROGRAM, masked_lm, table, out, str(SHARDS)]
    else:
        words = ["-m", "keras_mmel_cli", "augment", "--masked_lm", masked_lm]
        words += ["--data", table, "--text", "text", "--out", out]
        words += ["--num_shards", str(SHARDS)]
        words += ["--processes", str(PROCESSES[arm])]
    return [sys.executable, *words]


def measure(command: list[str], threads: int) -> tuple[float, float]:
    """CPU-seconds of a command with its children, and seconds by the clock."""

    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before, start = spent(), time.perf_counter()
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TF_NUM_INTRAOP_THREADS": str(threads)},
    )
    return spent() - before, time.perf_counter() - start


def run(arm: str, args, folder: pathlib.Path, counts) -> np.ndarray:
    """CPU-seconds and seconds, of the start and of each sentence after it."""
    cores = os.cpu_count() or 1
    threads = 1 if arm == ONE else max(1, cores // PROCESSES.get(arm, 2))
    found = []
    for count in counts:
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        table = str(folder / f"{count}.csv")
        command = command_of(arm, args.masked_lm, table, str(out))
        found.append(measure(command, threads))
        if len(list(out.glob("*.tfrecord*"))) != SHARDS:
            raise RuntimeError(f"{arm} has not written {SHARDS} files")
    few, many = np.array(found)
    each = (many - few) / (counts[1] - counts[0])
    return np.array([few - counts[0] * each, each])


def main() -> None:
    parser = make_parser(__doc__, "text_processes", 3)
    add = parser.add_argument
    add("--masked_lm", required=True, help="directory in Hugging Face layout")
    add("--data_dir", help="TFDS directory that holds GLUE")
    add("--few", type=int, default=512, help="sentences, to know the start")
    add("--many", type=int, default=4096, help="sentences, to know the rest")
    args = parser.parse_args()
    args.masked_lm = str(pathlib.Path(args.masked_lm).resolve())
    names = list(PROCESSES)
    if importlib.util.find_spec("apache_beam"):
        names.append(ON_BEAM)
    counts = (args.few, args.many)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for count in counts:
            rows = [[one] for one in read_sentences(args.data_dir, count)]
            with open(folder / f"{count}.csv", "w", newline="") as file:
                csv.writer(file).writerows([["text"], *rows])
        arms = {
            name: functools.partial(run, name, args, folder, counts)
            for name in names
        }
        found = {
            name: np.array(values)
            for name, values in in_turns(arms, args.rounds).items()
        }
    one = found[ONE]
    figures = {
        name: {
            "start_cpu_seconds": quartiles(values[:, 0, 0]),
            "cpu_ms_per_sentence": quartiles(1000 * values[:, 1, 0]),
            "cpu_to_one": quartiles(values[:, 1, 0] / one[:, 1, 0]),
            "sentences_per_second": quartiles(1 / values[:, 1, 1]),
            "throughput_to_one": quartiles(one[:, 1, 1] / values[:, 1, 1]),
        }
        for name, values in found.items()
    }
    for name, of_arm in figures.items():
        parts = [f"{key} {of_arm[key]['median']:.3g}" for key in of_arm]
        print(f"{name:26}{', '.join(parts)}")
    write(args, sentences=counts, shards=SHARDS, arms=figures)


if __name__ == "__main__":
    main()

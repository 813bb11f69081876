r"""What Apache Beam adds to the writing of a million sentences.

    python -m experiments.benchmarks.text_beam

Writes made sentences without samples, as `write_augmented` does where no masked
LM is given: what is left is reading the table, sharing the work out and writing
the files. In one process, in two, and on Apache Beam with two, in turns, each
in a process of its own with its children. Prints CPU seconds (of all processes)
and how much more a sentence takes than in one process; writes them to
experiments/results/benchmarks/text_beam.json. About 10 minutes on two cores.
"""

import csv
import functools
import os
import pathlib
import shutil
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np

from experiments.benchmarks.rounds import in_turns
from experiments.benchmarks.rounds import make_parser
from experiments.benchmarks.rounds import quartiles
from experiments.benchmarks.rounds import write
from experiments.benchmarks.text_processes import measure

_BEGIN = """
import functools
import sys
from keras_mmel import text

table, out, shards = sys.argv[1:]

def make_writer():
    source = text.files.from_csv(table, "text")
    return functools.partial(
        text.write_augmented, out, source, num_shards=int(shards)
    )
"""
_ON_BEAM = """
import apache_beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.utils.shared import Shared

def write_shard(index, shared):
    write = shared.acquire(make_writer)
    return write(shard=(index, int(shards)), progress=False)

options = PipelineOptions(
    direct_running_mode="multi_processing", direct_num_workers=2
)
with apache_beam.Pipeline("DirectRunner", options) as pipeline:
    numbers = pipeline | apache_beam.Create(range(int(shards)))
    spread = numbers | apache_beam.Reshuffle()
    spread | apache_beam.Map(write_shard, Shared())
"""
ONE = "one process"
PROGRAMS = {
    ONE: _BEGIN + "make_writer()(progress=False)\n",
    "two processes": _BEGIN
    + "if __name__ == '__main__':\n"
    + "    make_writer()(progress=False, processes=2)\n",
    "Beam, two processes": _BEGIN + _ON_BEAM,
}


def write_table(path: pathlib.Path, sentences: int) -> None:
    """Writes a table of made sentences of 12 to 40 words."""
    random = np.random.default_rng(0)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["text"])
        for size in random.integers(12, 40, sentences):
            words = random.integers(0, 9999, size)
            rows.writerow([" ".join(f"word{i}" for i in words)])


def run(arm: str, folder: pathlib.Path, shards: int) -> tuple[float, float]:
    """CPU-seconds, and seconds by the clock, of writing the table."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    program = folder / "program.py"
    program.write_text(PROGRAMS[arm], encoding="utf-8")
    words = [program, folder / "table.csv", out, shards]
    spent = measure([sys.executable, *map(str, words)], threads=1)
    if len(list(out.glob("*.tfrecord*"))) != shards:
        raise RuntimeError(f"{arm} has not written {shards} files")
    return spent


def main() -> None:
    parser = make_parser(__doc__, "text_beam", 3)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    args = parser.parse_args()
    shards = -(-args.sentences // 512)  # as many as without `num_shards`
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        write_table(folder / "table.csv", args.sentences)
        arms = {
            arm: functools.partial(run, arm, folder, shards) for arm in PROGRAMS
        }
        cpu_seconds = {
            arm: np.array(spent)[:, 0]
            for arm, spent in in_turns(arms, args.rounds).items()
        }
    figures = {}
    for arm, values in cpu_seconds.items():
        more = 1e6 * (values - cpu_seconds[ONE]) / args.sentences
        figures[arm] = {
            "cpu_seconds": quartiles(values),
            "more_than_one_us_per_sentence": quartiles(more),
        }
        medians = {
            key: f"{of['median']:.1f}" for key, of in figures[arm].items()
        }
        print(f"{arm:22}{medians}")
    write(args, sentences=args.sentences, shards=shards, arms=figures)


if __name__ == "__main__":
    main()

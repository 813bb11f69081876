r"""What a GPU is asked in its first three quarters of an hour.

On a machine with TensorFlow and the data; it says what to carry together:

    python -m experiments.gpu pack --data_dir DATA --masked_lm BERT_TINY

On one with a GPU, JAX and PyTorch, where TensorFlow need not be there, in the
order of their worth; 45 minutes in all:

    pip install --no-index --no-deps runs/gpu/pack/wheels/*.whl
    python -m experiments.gpu run speed       # 9 minutes
    python -m experiments.gpu run images      # 25
    python -m experiments.gpu run core        # 5

The same command goes on where it was cut, with the files of --out. A minute on
a processor, to see that it works: `tests/experiments/gpu/test_gpu.py`.
"""

import argparse
import importlib
import os
import sys

# What is packed is made by TensorFlow.
IS_PACKING = sys.argv[1:2] == ["pack"]
os.environ.setdefault("KERAS_BACKEND", "tensorflow" if IS_PACKING else "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Processes follow each other: none keeps memory that it does not use.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# What is compiled is compiled once, whatever is cut.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", "runs/gpu/compiled")

PARTS = ("speed", "images", "core")


def make_parser(argv):
    """The parser; a part's options where the words name it.

    A part is imported when it is asked for: packing needs TensorFlow, the parts
    need JAX.
    """
    parser = argparse.ArgumentParser(
        prog="python -m experiments.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = parser.add_subparsers(dest="word", required=True)
    show = {"formatter_class": argparse.ArgumentDefaultsHelpFormatter}
    pack = words.add_parser("pack", help="write what travels", **show)
    run = words.add_parser("run", help="one part, on the GPU")
    parts = run.add_subparsers(dest="part", required=True)
    if argv[:1] == ["pack"]:
        importlib.import_module("experiments.gpu.packed").add_options(pack)
    for name in PARTS:
        part = parts.add_parser(name, **show)
        part.add_argument("--data", default="runs/gpu/pack", help="packed")
        part.add_argument("--out", default="runs/gpu/out", help="of records")
        if name in argv[1:2]:
            importlib.import_module(f"experiments.gpu.{name}").add_options(part)
    return parser


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    args = make_parser(argv).parse_args(argv)
    if args.word == "pack":
        from experiments.gpu import packed

        return packed.main(args)
    from experiments import records

    module = importlib.import_module(f"experiments.gpu.{args.part}")
    module.main(args, records.command_line([__file__, *argv]))


if __name__ == "__main__":
    main()

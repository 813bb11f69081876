r"""P6 of docs/experiments.md on digits: a ball in place of a penalty.

    python -m experiments.balls                # about 2 CPU-hours
    python -m experiments.balls --trial        # one seed, which counts not

The setting of P1 with a draw of digits of its own for every seed: uneven views,
then even ones, then uneven ones with 20 % wrong labels, where those methods are
run that P5 (`experiments.label_noise`) has not. The records under
experiments/results/evidence grow run by run, and what was stopped goes on from
them.
"""

import functools

import keras_mmel
from experiments import evidence
from experiments import label_noise
from experiments import rivals

Hard = keras_mmel.objectives.Hard
FIRST_SEED, SEEDS = 600, 20
RADII = (0.03, 0.07, 0.15, 0.35, 0.7)
METHODS = (
    {"uniform": "uniform"}
    | {f"hard {value:g}": Hard(value) for value in (3.0, 1.0, 0.3, 0.1)}
    | {
        f"ball {value:g}": keras_mmel.objectives.KLBall(value)
        for value in RADII
    }
    | {f"tilted {value:g}": rivals.Tilted(value) for value in (0.3, 1.0, 3.0)}
    | {
        f"consistency {value:g}": functools.partial(
            rivals.Consistency, coefficient=value
        )
        for value in (1.0, 3.0, 12.0)
    }
    | {f"hardest {count}": rivals.Hardest(count) for count in (4, 3, 2)}
)


def main():
    options = label_noise.options_of(__doc__)
    for power in (4, 1):
        for seed in label_noise.seeds_of(options, FIRST_SEED, SEEDS):
            name = f"digits-ball-u{power}-alike"
            label_noise.run(name, METHODS, 0, seed, power=power)
    more = {
        name: objective
        for name, objective in METHODS.items()
        if name not in label_noise.METHODS
    }
    for seed in label_noise.seeds_of(
        options, label_noise.FIRST_SEED, label_noise.SEEDS
    ):
        label_noise.run("digits-ball-noise20-alike", more, 20, seed)


if __name__ == "__main__":
    evidence.single_threaded()
    main()

"""The tables of the pages beside a second making of them from the records."""

import ast
import copy
import functools
import json
import math
import pathlib
import re

import numpy as np
import pytest
from scipy import stats

from experiments import tables
from tests import recomputed
from tests.recomputed import evidence
from tests.recomputed import printed
from tests.recomputed import records
from tests.recomputed import statistics
from tests.recomputed import wrong_labels

FOLDER = pathlib.Path(recomputed.__file__).parent
PAGES = ("README.md", "docs/guides/choosing.md", "docs/experiments.md")
NO_RECORD = ["No record yet."]
FOUND = records.read()
# Of the tables that are not named like their record, one of their records.
RECORDS = {
    "helps": "evidence/cifar-p2-alike.json",
    "digits-noise": "evidence/digits-noise0-alike.json",
    "digits": "digits/hard-whole-shift3-c52ad89e.json",
    "small-rivals": "small/cifar/cifar10-resnet8-maxup-seed1-d6b58efc.json",
    "small-equal_steps": (
        "small/cifar/cifar10-resnet8-uniform-seed2-80a55930.json"
    ),
    "small-lambda_p": "small/cifar/cifar10-resnet8-mmel-h-seed2-724f9539.json",
    "paper-compared": "small/glue/rte-bert_tiny_mlm-mmel-h-teacher-seed0-"
    "302ef35e.json",
}


def read(page):
    return (records.ROOT / page).read_text("utf-8")


def printed_tables():
    """Lines of the tables by name; of the paper's page that made from runs."""
    found = {}
    for page in PAGES:
        found |= printed.tables(read(page))
    of_paper = printed.tables(read("docs/paper.md"))
    return found | {"paper-compared": of_paper["paper-compared"]}


TABLES = printed_tables()
MADE = [name for name, lines in TABLES.items() if lines != NO_RECORD]


@functools.cache
def expected(name):
    return recomputed.lines_of(name, FOUND)


def record_of(name):
    return RECORDS.get(name, f"evidence/{name}.json")


def change(run):
    """Makes one number of a run that its table shows another one."""
    if "scores" not in run:
        run["curves"]["right: wrong"][-1] += 0.1
        return
    scores = run["scores"]
    scores = scores.get("last", scores)
    name = max({"original_accuracy", "accuracy"} & scores.keys())
    scores[name] += 0.1


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_what_the_records_say(name):
    compared, found = printed.differences(TABLES[name], expected(name))
    assert found == []
    assert (compared > 0) == (name in MADE)


def test_every_table_of_the_pages_is_read():
    text = "".join(map(read, PAGES))
    markers = re.findall(r"<!-- (?:table|end) (\S+) -->", text)
    read_ones = TABLES.keys() - {"paper-compared"}
    assert sorted(markers) == sorted([*read_ones, *read_ones])
    assert len(MADE) > 20


def test_numbers_between_the_tables_are_those_of_the_records():
    def record(name):
        return FOUND[f"evidence/{name}.json"]

    def seeds(name, method="uniform"):
        runs = record(name)["runs"]
        return sorted(run["seed"] for run in runs if run["method"] == method)

    def steps(name):
        settings = record(name)["settings"]
        return settings["epochs"] * settings["steps"]

    by_p = ("digits-u4-alike", "cifar-p2-alike", "cifar-p3-alike", "text-sst2")
    counts = [len(seeds(name)) for name in by_p]
    counts.insert(3, len(seeds("cifar-p3-alike", "plain")))
    soft = evidence.read("cifar-p2-original", FOUND)[0]
    learned = 100 * soft.logged("soft", "accuracy")
    noise, at_one_rate = seeds("digits-noise0-alike"), "cifar-p3-alike-at-0.003"
    page = " ".join(read("docs/experiments.md").split())
    for words in (
        "| seeds | {} | {} | {} (plain: {}) | {} |".format(*counts),
        "| steps | {:,} | {:,} | {:,} | 3 passes |".format(*map(steps, by_p)),
        f"knows its training originals by heart ({learned:.1f} %)",
        f"seeds {noise[0]} to {noise[-1]} |",
        f"The first {len(seeds(at_one_rate))} seeds, each rate",
    ):
        assert words in page


def test_a_table_that_is_not_made_here_is_refused():
    with pytest.raises(ValueError, match="a second time.*'new-table'"):
        recomputed.lines_of("new-table", FOUND)


@pytest.mark.parametrize("name", MADE)
def test_each_digit_of_a_table_counts(name):
    unseen = []
    for line, right in zip(TABLES[name], expected(name), strict=True):
        for place, digit in enumerate(line):
            if not digit.isdigit():
                continue
            # Far enough: what lies on a half may be rounded either way.
            other = str((int(digit) + 5) % 10)
            changed = line[:place] + other + line[place + 1 :]
            if not printed.differences([changed], [right])[1]:
                unseen.append((line[:place][-15:], line[place:][:15]))
    assert unseen == []


@pytest.mark.parametrize("name", MADE)
def test_one_score_of_one_run_counts(name):
    path = record_of(name)
    record = copy.deepcopy(FOUND[path])
    change(record.get("runs", [record])[0])
    lines = recomputed.lines_of(name, FOUND | {path: record})
    assert printed.differences(TABLES[name], lines)[1]


@pytest.mark.parametrize("name", MADE)
def test_one_run_that_is_gone_counts(name):
    path = record_of(name)
    found = FOUND | {path: copy.deepcopy(FOUND[path])}
    if "runs" in found[path]:
        del found[path]["runs"][0]
    else:
        del found[path]
    lines = recomputed.lines_of(name, found)
    assert printed.differences(TABLES[name], lines)[1]


def test_a_line_or_a_cell_too_many_counts():
    right = expected("text-mrpc")
    lines = TABLES["text-mrpc"]
    for changed in (
        lines[:-1],
        [*lines, lines[-1]],
        [lines[0], lines[1], lines[2] + " 1 |", *lines[3:]],
    ):
        assert printed.differences(changed, right)[1]


def test_the_rate_that_is_printed_is_the_best():
    record = FOUND["evidence/cifar-p2-alike.json"]
    path = "evidence/cifar-p2-alike-rates.json"
    assert evidence.chosen("cifar-p2-alike", record, FOUND) == record["rates"]
    rates = copy.deepcopy(FOUND[path])
    rates["scores"]["hard 1"]["0.01"] = 0.9
    lines = recomputed.lines_of("cifar-p2-alike", FOUND | {path: rates})
    assert printed.differences(TABLES["cifar-p2-alike"], lines)[1]
    rates["chosen_by"] = "mean_nll"
    chosen = evidence.chosen("cifar-p2-alike", record, {path: rates})
    assert chosen["hard 1"] == 0.001


# Tables that grow: runs of other records under the names that they will have.


def made_runs(like, methods, seeds, rng):
    """Runs of these methods with scores around those of one run.

    Args:
        like: A run.
        methods: Effective views by method.
        seeds: The seeds.
        rng: NumPy's generator.
    """
    runs = []
    for seed in seeds:
        for method, views in methods.items():
            run = copy.deepcopy(like) | {"method": method, "seed": seed}
            for name, value in run["scores"].items():
                run["scores"][name] = value * rng.uniform(0.9, 1.0)
            run["log"]["effective_views"] = views * rng.uniform(0.98, 1.02)
            runs.append(run)
    return runs


HARD = {"uniform": 5.0, "hard 1": 4.6, "hard 0.1": 3.2}
BALLS = {"ball 0.07": 4.5, "ball 0.35": 3.2, "ball 0.7": 2.5}


def made_looks(rng):
    """A record of looks during trainings with wrong labels."""
    names = [name for name, *_ in wrong_labels.LOOKS.values()]
    steps = list(range(200, 4001, 200))
    runs = [
        {
            "method": method,
            "seed": seed,
            "curves": {"steps": steps}
            | {name: rng.uniform(size=len(steps)).tolist() for name in names},
        }
        for seed in range(3)
        for method in ("uniform", "hard 1")
    ]
    origin = FOUND["evidence/digits-noise20-alike.json"]["made"][0]
    return origin | {"runs": runs}


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A folder of records in which all tables have some, and not all, seeds."""
    rng = np.random.default_rng(0)
    noise = FOUND["evidence/digits-noise20-alike.json"]
    p2 = FOUND["evidence/cifar-p2-alike.json"]
    even = FOUND["evidence/digits-u1-alike.json"]
    plain = {"plain": 5.0}
    added = {
        "digits-noise10-alike": (noise, HARD | plain, range(500, 504)),
        "digits-noise40-alike": (noise, HARD | BALLS, range(500, 502)),
        "digits-ball-u4-alike": (noise, HARD | BALLS | plain, range(600, 612)),
        "digits-ball-u1-alike": (noise, HARD | BALLS | plain, range(600, 620)),
        "digits-unseen-alike": (even, HARD | plain, range(540, 546)),
        "digits-ball-noise20-alike": (
            noise,
            {"hard 3": 4.9} | BALLS,
            range(500, 510),
        ),
        "cifar-p2-alike-ball": (p2, {"ball 0.07": 4.2}, range(300, 305)),
        "cifar-p2-original-soft": (
            p2,
            {"soft, lambda_t 4": 3.5},
            range(300, 310),
        ),
    }
    folder = tmp_path_factory.mktemp("results")
    found = dict(FOUND)
    for name, (record, methods, seeds) in added.items():
        runs = made_runs(record["runs"][0], methods, seeds, rng)
        first = next(iter(methods))
        if len(methods) > 1:
            # The seed that is being run has not all methods yet.
            runs += made_runs(runs[0], {first: 5.0}, [999], rng)
        new = {"baseline": first, "made": noise["made"]}
        found[f"evidence/{name}.json"] = new | {"runs": runs}
    for run in found["evidence/digits-unseen-alike.json"]["runs"]:
        for change in ("blur", "noise 2"):
            run["scores"][f"{change}_accuracy"] = rng.uniform(0.5, 0.9)
    found["evidence/mechanism-noise.json"] = made_looks(rng)
    for path, record in found.items():
        if path.startswith("evidence/"):
            place = folder / path
            place.parent.mkdir(exist_ok=True)
            place.write_text(json.dumps(record), encoding="utf-8")
    return folder, found, [*added, "mechanism-noise", "digits-noise"]


def test_both_make_the_same_of_records_that_grow(grown):
    folder, found, added = grown
    for name in added:
        marked = f"<!-- table {name} -->\n<!-- end {name} -->\n"
        lines = printed.tables(tables.updated(marked, folder))[name]
        compared, different = printed.differences(
            lines, recomputed.lines_of(name, found)
        )
        assert different == []
        assert compared > 15


def test_a_table_of_some_seeds_says_so(grown):
    _, found, _ = grown
    lines = recomputed.lines_of("digits-ball-u4-alike", found)
    assert {"12 20"} in [line.cells[0] for line in lines]
    assert {"12"} in [line.cells[0] for line in lines]


def test_a_single_seed_is_no_record_yet():
    name = "digits-noise10-alike"
    path = f"evidence/{name}.json"
    record = copy.deepcopy(FOUND["evidence/digits-noise20-alike.json"])
    record["runs"] = [run for run in record["runs"] if run["seed"] == 500]
    lines = recomputed.lines_of(name, FOUND | {path: record})
    assert printed.differences(NO_RECORD, lines) == (0, [])


def test_equal_views_are_between_the_neighbours():
    rng = np.random.default_rng(1)
    like = {"scores": {"mean_accuracy": 0.8}, "log": {}}
    runs = made_runs(like, HARD | BALLS, range(5), rng)
    comparison = evidence.Comparison(runs, "uniform")
    for ball, counted in {"ball 0.07": 5, "ball 0.7": 0}.items():
        gaps = evidence.gaps_at_equal_views(comparison, ball, "mean_accuracy")
        assert len(gaps) == counted
        for seed, gap in enumerate(gaps):
            dial = [comparison.methods[method][seed] for method in HARD]
            points = sorted(
                (math.log(r["log"]["effective_views"]), *r["scores"].values())
                for r in dial
            )
            run = comparison.methods[ball][seed]
            at = math.log(run["log"]["effective_views"])
            there = np.interp(at, *zip(*points, strict=True))
            assert gap == pytest.approx(
                run["scores"]["mean_accuracy"] - there, abs=1e-12
            )


# The statistics, beside SciPy's.


@pytest.mark.parametrize("count", [2, 3, 10, 45])
@pytest.mark.parametrize("shift", [0.0, 0.5, 20.0])
def test_a_paired_test_is_that_of_scipy(count, shift):
    differences = np.random.default_rng(count).normal(shift, 1, count)
    test = stats.ttest_1samp(differences, 0)
    p = statistics.paired_p(differences)
    assert p == pytest.approx(test.pvalue, rel=1e-8)
    ends = statistics.interval(differences)
    assert ends == pytest.approx(tuple(test.confidence_interval(0.95)))


@pytest.mark.parametrize("differences", [[0.3], [0.1, 0.1, 0.1], [0.0, 0.0]])
def test_where_nothing_differs_there_is_no_test(differences):
    assert math.isnan(statistics.paired_p(differences))
    assert printed.short_p(statistics.paired_p(differences)) == {"?"}


def test_holm_multiplies_the_smallest_by_their_number():
    adjusted = statistics.holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": math.nan})
    assert math.isnan(adjusted.pop("d"))
    assert adjusted == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})


def test_at_a_tie_both_roundings_are_right_and_no_other():
    assert printed.number(0.125, ".2f") == {"0.12", "0.13"}
    assert printed.number(0.126, ".2f") == {"0.13"}
    assert evidence.short(9.95) == {"9.95"}
    assert evidence.short(10.0) == {"10.0", "10.00"}
    assert printed.number(0.0, "+.2f") == {"+0.00", "-0.00"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=str)
def test_the_second_making_shares_nothing_with_the_first(path):
    allowed = {
        "dataclasses",
        "functools",
        "itertools",
        "json",
        "math",
        "pathlib",
        "re",
    }
    allowed |= {"numpy", "tests.recomputed", "tests.recomputed.plans"}
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    assert found <= allowed

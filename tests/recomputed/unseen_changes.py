"""Changes of the test digits that no method was trained on."""

from tests.recomputed import evidence
from tests.recomputed import printed
from tests.recomputed import records
from tests.recomputed import statistics

# Of the digits as they are, and of the views that were trained on.
ORIGINAL = "original_accuracy"
OF_VIEWS = {ORIGINAL, "mean_accuracy", "worst_accuracy"}


def _columns(comparison, method):
    """In percent by seed: as they are, the mean of the changes, and each."""
    runs = comparison.methods[method]
    names = next(iter(runs.values()))["scores"]
    changes = [
        name
        for name in names
        if name.endswith("_accuracy") and name not in OF_VIEWS
    ]
    found = {"clean": {}, "mean of them": {}}
    for seed, run in runs.items():
        values = {name: 100 * run["scores"][name] for name in changes}
        found["clean"][seed] = 100 * run["scores"][ORIGINAL]
        found["mean of them"][seed] = statistics.mean(list(values.values()))
        for name, value in values.items():
            change = name.removesuffix("_accuracy")
            found.setdefault(change, {})[seed] = value
    return found


def table(name, found):
    """Accuracies of the baseline, and differences with their own p.

    Args:
        name: Of the table, and of its record.
        found: All records.
    """
    comparison, made = evidence.read(name, found)
    if comparison is None:
        return [printed.sentence("No record yet.")]
    uniform = _columns(comparison, comparison.baseline)
    lines = printed.heads("method", *uniform)
    cells = [
        printed.spread(*statistics.summary(values.values()), ".1f")
        for values in uniform.values()
    ]
    lines.append(printed.row(f"`{comparison.baseline}`", *cells))
    for method in list(comparison.methods)[1:]:
        columns = _columns(comparison, method)
        cells = []
        for change, values in columns.items():
            gaps = records.paired(values, uniform[change])
            mean = printed.number(statistics.mean(gaps), "+.2f")
            p = printed.said_p(statistics.paired_p(gaps))
            cells.append(printed.joined("{} ({})", mean, p))
        label = f"`{method}` - `{comparison.baseline}`"
        lines.append(printed.row(label, *cells))
    origins = made[0].get("made") or made
    commands = " ".join(dict.fromkeys(each["command"] for each in origins))
    before = f"{len(uniform['clean'])} seeds. {commands}"
    environments = [each["environment"] for each in origins]
    return [*lines, printed.origin(before, environments)]

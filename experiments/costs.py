"""Tables of what things cost, each from the record of a benchmark."""

from experiments import markdown

_SIZES = {"tiny": "BERT-tiny", "base": "BERT-base, random weights"}
_ARMS = {
    "ours": "`MaskedLMAugmenter`",
    "ours_jit": "the same, compiled with XLA",
    "keras_loop": "algorithm 2 as a plain loop, Keras",
    "transformers_loop": "algorithm 2 as a plain loop, transformers",
    "nlpaug": "nlpaug",
}


def pipeline(record: dict) -> str:
    """What a view costs in the input pipeline."""
    rows = [
        [name.replace("_", " "), *map(markdown.quartiles, found.values())]
        for name, found in record["pipelines"].items()
    ]
    header = [f"{record['views']} views, batches of {record['batch_size']}"]
    for name in next(iter(record["pipelines"].values())):
        header.append(name.replace("_", " "))
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def steps(record: dict) -> str:
    """What a training step costs beside plain `fit`."""
    rows = [
        [
            f"{case}, {method}",
            f"{found['examples']} x {found['views']}",
            f"{figures['cpu_ms_per_step']:.2f}",
            markdown.quartiles(figures["ratio_to_plain"], 3),
        ]
        for case, found in record["cases"].items()
        for method, figures in found["methods"].items()
    ]
    step = "one training step" + ", XLA" * record["jit_compile"]
    header = [step, "groups x views", "CPU ms", "ratio to plain `fit`"]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def accumulation(record: dict) -> str:
    """What gradient accumulation saves."""
    rows = [
        [
            f"{size} of {record['groups']}",
            markdown.quartiles(found["megabytes"], 0),
            markdown.quartiles(found["cpu_ms_per_update"], 0),
        ]
        for size, found in record["at_a_time"].items()
    ]
    rows.sort(key=lambda row: -int(row[0].split()[0]))
    header = [f"ResNet-20, groups of {record['views']} views at a time"]
    header += ["MB that `fit` adds", "CPU ms an update"]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def text_generation(record: dict) -> str:
    """Sentences a CPU-second of each way to augment."""
    rows = [
        [
            f"{_SIZES[size]}: {_ARMS[arm]}",
            f"{figures['sentences_per_cpu_second']['median']:.3g}",
            markdown.quartiles(figures["ours_to_this"], 1),
        ]
        for size, found in record["sizes"].items()
        for arm, figures in found["arms"].items()
    ]
    header = ["four samples of a sentence", "sentences a CPU-second"]
    header += ["ours to this"]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def text_precision(record: dict) -> str:
    """Augmenting in bfloat16 beside float32."""
    rows = [
        [
            _SIZES[size],
            *(
                f"{found['sentences_per_cpu_second'][dtype]['median']:.3g}"
                for dtype in ("float32", "bfloat16")
            ),
            markdown.quartiles(found["bfloat16_to_float32"]),
            f"{100 * found['other_samples']:.1f}"
            if "other_samples" in found
            else "",
        ]
        for size, found in record["sizes"].items()
    ]
    header = ["sentences a CPU-second", "float32", "bfloat16"]
    header += ["bfloat16 to float32", "samples that are others, %"]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def text_processes(record: dict) -> str:
    """What a sentence costs in several processes."""
    names = ("start_cpu_seconds", "cpu_ms_per_sentence", "cpu_to_one")
    names += ("throughput_to_one",)
    rows = [
        [arm, *(markdown.quartiles(found[name]) for name in names)]
        for arm, found in record["arms"].items()
    ]
    header = ["augmenting", "start, CPU s", "a sentence, CPU ms"]
    header += ["CPU to one thread", "sentences a second to one thread"]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def text_beam(record: dict) -> str:
    """What Apache Beam adds to the writing of sentences."""
    rows = [
        [
            arm,
            f"{found['cpu_seconds']['median']:.0f}",
            markdown.quartiles(found["more_than_one_us_per_sentence"], 0),
        ]
        for arm, found in record["arms"].items()
    ]
    header = [f"writing {record['sentences']:,} sentences", "CPU s"]
    header += ["more than in one process, CPU us a sentence"]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def workers(record: dict) -> str:
    """What a step costs each of two workers, now and at an earlier commit."""
    rows = [
        [
            f"`{kind}`" if kind != "synchronized" else "`synchronized=True`",
            f"{arms['now']['one_process_cpu_ms']['median']:.0f}",
            f"{arms['now']['each_of_two_cpu_ms']['median']:.0f}",
            *(
                markdown.quartiles(arms[arm]["each_of_two_to_one"])
                for arm in ("now", "before")
            ),
        ]
        for kind, arms in record["kinds"].items()
    ]
    header = ["ResNet-20, 16 groups of 5 views", "one process, CPU ms a step"]
    header += ["each of two workers", "each to the one"]
    header += [f"the same at {record['earlier_commit']}"]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def diagnostics(record: dict) -> str:
    """What watching view weights costs."""
    rows = [
        [
            case,
            f"{found['cpu_ms_per_step']:.2f}",
            f"{found['cpu_ms_per_look']:.0f}",
            f"{found['looks_per_fit']:.1f} in {found['epochs']} epochs of "
            f"{found['steps_per_epoch']} steps",
            f"{100 * found['share_of_looks']:.2f}",
            markdown.quartiles(found["ratio_to_plain"], 3),
        ]
        for case, found in record["cases"].items()
    ]
    header = ["`fit` with `ViewWeights`", "CPU ms a step", "CPU ms a look"]
    header += ["looks", "share of looks, %", "`fit` with to without"]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


def since(record: dict) -> str:
    """What a step, views and reading cost beside an earlier commit."""
    rows = [
        [name]
        + [
            markdown.quartiles(found[arm]) if arm in found else ""
            for arm in ("now", "before", "ratio")
        ]
        for name, found in record["figures"].items()
    ]
    header = [
        "a step, making views, reading text",
        "now",
        f"at {record['earlier_commit']}",
        "ratio",
    ]
    return markdown.table(header, rows) + f"\n{markdown.origin([record])}.\n"


# By the names of their records.
TABLES = {
    "step": steps,
    "step_jit": steps,
    "accumulation": accumulation,
    "pipeline": pipeline,
    "text_generation": text_generation,
    "text_precision": text_precision,
    "text_processes": text_processes,
    "text_beam": text_beam,
    "workers": workers,
    "diagnostics": diagnostics,
    "since": since,
}

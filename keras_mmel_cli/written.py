"""What a command says of the files that it wrote."""


def tell(out: str, written) -> None:
    """Print how much of `out` is there.

    Args:
        out: the directory.
        written: a `keras_mmel.text.files.writer.Written`.
    """
    there = written.num_shards - len(written.missing)
    line = f"{out}: {there} of {written.num_shards} files"
    if written.num_written < there:
        line += f", {there - written.num_written} of them from before"
    print(f"{line}.")
    if written.missing:
        print("The others are for the other parts (--shard) to write.")

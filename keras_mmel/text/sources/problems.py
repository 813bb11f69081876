"""What a validator found, with the line on which it stands."""


class BadFile(ValueError):
    """A file that cannot be read as asked; the message names the lines."""


class Problems:
    """Collects what is wrong with a file, line by line.

    Args:
        path: the file, as the user named it.
        limit: how many problems to collect before giving up; 1 raises at once.

    Example:

    ```python
    problems = Problems("views.csv", limit=20)
    problems.add(7, "an empty text")
    problems.raise_any()  # BadFile: views.csv, line 7: an empty text
    ```
    """

    def __init__(self, path, limit: int = 1):
        self.path = str(path)
        self.limit = limit
        self.found: list[tuple[int, str]] = []

    def add(self, line: int | None, text: str) -> None:
        """Note a problem; raise `BadFile` where that was the last allowed."""
        self.found.append((line or 0, text))
        if len(self.found) >= self.limit:
            self.raise_any()

    def raise_any(self) -> None:
        """Raise `BadFile` with all that was found, if anything was."""
        if self.found:
            found = sorted(self.found, key=lambda problem: problem[0])
            lines = [f"line {n}: {text}" if n else text for n, text in found]
            if 1 < self.limit <= len(found):
                lines.append("there may be more")
            mark = ", " if found[0][0] else ": "
            raise BadFile(f"{self.path}{mark}{'; '.join(lines)}")

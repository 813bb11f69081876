"""Long form without ids: views that follow their originals.

`textattack augment` and TinyBERT's script write each row of the file that they
augment, followed by copies of it with other texts, and nothing that says where
the next one begins. The augmented file says so: read side by side, a group
begins where its row is the next one of that file.
"""

from keras_mmel.text.sources.group_file import GroupFile
from keras_mmel.text.sources.group_file import check_columns
from keras_mmel.text.sources.groups import Group
from keras_mmel.text.sources.groups import make_group
from keras_mmel.text.sources.problems import Problems
from keras_mmel.text.sources.values import BadValue
from keras_mmel.text.sources.values import read_texts


class AfterOriginals(GroupFile):
    """Groups of a file in which each original stands before its views.

    Args:
        table: the augmented rows.
        originals: the file that was augmented, with the same columns in its
            order; all of its rows must be there.
        text: the columns that were augmented, one or two.
        label: the column of the labels, if there is one.
        label_names: what the labels 0, 1, ... are called in the file.
        max_problems: how many bad lines to name at once.

    Ids are the numbers of the rows of `originals`, from 0.

    Raises:
        BadFile: naming the lines that are wrong.
    """

    def __init__(
        self,
        table,
        originals,
        text: tuple[str, ...],
        label: str | None = None,
        *,
        label_names=None,
        max_problems: int = 20,
    ):
        self._originals = originals
        self._text = tuple(text)
        self.num_texts = len(self._text)
        self._label = label
        super().__init__(
            table, label_names=label_names, max_problems=max_problems
        )

    def describe(self) -> dict[str, object]:
        """What the record of the written files says of this one."""
        return super().describe() | {
            "originals": self._originals.path.name,
            "text": list(self._text),
            "label": self._label,
        }

    def _index(self, problems):
        # Whatever is wrong, the files no longer run side by side after it.
        problems.limit = 1
        named = [c for c in (self._label, *self._text) if c]
        check_columns(self.table, named, problems)
        theirs = Problems(self._originals.path)
        check_columns(self._originals, named, theirs)
        kept = [
            c
            for c in self.table.columns
            if c in self._originals.columns and c not in self._text
        ]
        originals = self._originals.records(theirs)
        following = next(originals, None)
        started_twice = None
        for record in self.table.records(problems):
            row = record.row
            self._look_at(record, problems)
            if following is not None and self._same(row, following.row, kept):
                current = following
                following = next(originals, None)
                started_twice = row
                self._start(str(len(self.ids)), record.offset)
                continue
            if not self.ids:
                problems.add(
                    record.line,
                    f"the file must begin with the first row of "
                    f"{self._originals.path}; were the originals left out?",
                )
            if any(row.get(c) != current.row.get(c) for c in kept):
                problems.add(
                    record.line,
                    "belongs neither to the original in line "
                    f"{current.line} of {self._originals.path} nor is it the "
                    "next one there",
                )
            if not any(row[column].strip() for column in self._text):
                problems.add(record.line, "an empty view")
            if self._began_too_early(row, started_twice):
                # A view of the group before happened to be this original.
                self._places[-2].extend(self._places[-1])
                del self._places[-1][:]
            self._places[-1].append(record.offset)
        if following is not None and self.ids:
            problems.add(
                None,
                f"ends before line {following.line} of {self._originals.path}",
            )

    def _look_at(self, record, problems):
        problem = None
        try:
            read_texts(record.row, self._text)
        except BadValue as error:
            problem = str(error)
        if problem is None and self._label:
            problem = self.labels.add(record.row.get(self._label), self._label)
        if problem:
            problems.add(record.line, problem)

    def _same(self, row, original, kept):
        columns = (*self._text, *kept)
        return all(row.get(c) == original.get(c) for c in columns)

    def _began_too_early(self, row, first):
        return len(self._text) == 1 and len(self._places) > 1 and row == first

    def _group(self, example_id, rows) -> Group:
        original = read_texts(rows[0], self._text)
        label = None
        if self._label:
            label = self.labels.read(rows[0][self._label])
        views = [read_texts(row, self._text) for row in rows[1:]]
        return make_group(example_id, original, label, views)

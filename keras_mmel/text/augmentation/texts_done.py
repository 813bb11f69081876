"""How many texts are done while many of them are filled together."""

import math


class Progress:
    """Tells how many texts are done, from the rows that were computed."""

    def __init__(self, report, texts, work):
        self.report, self.texts, self.work = report, texts, work
        self.rows = self.told = 0

    def watch(self, rank):
        if self.report is None:
            return rank

        def watched(rows, count):
            ranked = rank(rows, count)
            self.rows += len(rows.lengths)
            share = min(1.0, self.rows / self.work)
            self._tell(math.floor(self.texts * share))
            return ranked

        return watched

    def finish(self):
        self._tell(self.texts)

    def _tell(self, texts):
        if self.report is not None and texts > self.told:
            self.report(texts - self.told)
            self.told = texts

"""Learned corrections for single tokens: sparse weights of the estimator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

RATES = (0.2, 0.1, 0.2, 0.2)
"""Learning rates of a candidate's bias after each part of the context: the last token, the length
of the matches, the tokens one and two before the last."""
CANDIDATE_RATE = 0.05
"""Learning rate of the bias of a candidate anywhere."""
LAST_RATE = 0.04
"""Learning rate of the bias of all candidates after a last token."""
LIMITS = (32_000, 16_000, 24_000, 24_000)
"""Biases kept for each of these; contexts that were longest unused are dropped."""
SINGLE_LIMIT = 10_000
"""Biases kept of candidates, and of last tokens."""
LARGEST = 20.0
"""No bias that was learned comes near this."""
NEGLIGIBLE_ERROR = 0.01
"""Errors this small teach a bias nothing worth its memory."""


class _Pairs:
    """Biases by context token, then candidate; the contexts in order of use."""

    def __init__(self, rate: float, limit: int) -> None:
        self.rate = rate
        self.limit = limit
        self.table: dict[int, dict[int, float]] = {}
        self.size = 0

    def learn(self, context: int, errors: Sequence[tuple[int, float]]) -> None:
        """Moves the biases of some candidates; `context` is the one used last, and the oldest
        are dropped beyond the limit."""
        row = self.table.pop(context, None)
        if row is None:
            if not errors:
                return
            row = {}
        before = len(row)
        rate = self.rate
        for token, error in errors:
            row[token] = row.get(token, 0.0) + rate * error
        self.table[context] = row
        self.size += len(row) - before
        while self.size > self.limit:
            self.size -= len(self.table.pop(next(iter(self.table))))


class TokenBiases:
    """Sums of biases to add to the log odds of a candidate."""

    def __init__(self) -> None:
        """No experience: all biases are 0."""
        self._pairs = [_Pairs(rate, limit) for rate, limit in zip(RATES, LIMITS, strict=True)]
        self._candidates: dict[int, float] = {}
        self._last: dict[int, float] = {}

    def after(self, context: tuple[int, ...]) -> tuple[float, list[dict[int, float]]]:
        """What a context fixes: the bias of all candidates, and the tables whose entries for a
        candidate add up to the rest of its bias."""
        rows = [
            pairs.table[token]
            for pairs, token in zip(self._pairs, context, strict=False)
            if token in pairs.table
        ]
        return self._last.get(context[0], 0.0), [self._candidates, *rows]

    def learn(self, context: tuple[int, ...], errors: Sequence[tuple[int, float]]) -> None:
        """The log odds of each candidate after a context were off in the direction of its error;
        errors under NEGLIGIBLE_ERROR teach nothing worth their memory."""
        for pairs, other in zip(self._pairs, context, strict=False):
            pairs.learn(other, errors)
        last = 0.0
        for token, error in errors:
            _add(self._candidates, token, CANDIDATE_RATE * error)
            last += error
        if errors:
            _add(self._last, context[0], LAST_RATE * last)

    def dump(self) -> dict[str, list[list[float]]]:
        """All of it as numbers, longest unused first; biases that round to nothing left out."""
        dumped: dict[str, list[list[float]]] = {
            f"pairs{part}": [
                [context, *(number for item in kept for number in item)]
                for context, row in pairs.table.items()
                if (kept := _rounded(row))
            ]
            for part, pairs in enumerate(self._pairs, 1)
        }
        dumped["candidates"] = [list(item) for item in _rounded(self._candidates)]
        dumped["last"] = [list(item) for item in _rounded(self._last)]
        return dumped

    def load(self, dumped: dict[str, list[list[float]]]) -> None:
        """Takes over what dump gave. Raises an ordinary exception when it is something else."""
        for part, pairs in enumerate(self._pairs, 1):
            pairs.table = {
                int(context): _checked(zip(parts[::2], parts[1::2], strict=True))
                for context, *parts in dumped[f"pairs{part}"]
            }
            pairs.size = sum(map(len, pairs.table.values()))
        self._candidates = _checked(dumped["candidates"])
        self._last = _checked(dumped["last"])


def _add(table: dict[int, float], token: int, step: float) -> None:
    """Adds to one bias, which becomes the one used last; drops the oldest beyond the limit."""
    table[token] = table.pop(token, 0.0) + step
    if len(table) > SINGLE_LIMIT:
        del table[next(iter(table))]


def _rounded(row: dict[int, float]) -> list[tuple[int, int]]:
    """Tokens and biases in hundredths, those that are nothing left out."""
    return [(token, hundredths) for token, bias in row.items() if (hundredths := round(bias * 100))]


def _checked(items: Iterable[Sequence[float]]) -> dict[int, float]:
    """The row that _rounded turned into `items`."""
    table = {int(token): float(hundredths) / 100 for token, hundredths in items}
    if not all(-LARGEST <= bias <= LARGEST for bias in table.values()):
        raise ValueError("not a bias")
    return table

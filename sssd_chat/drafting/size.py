"""How many tokens a step should hold, by what a batch costs and what its tokens promise."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence

_USUAL_SLOPE = 0.35
"""Time of a further token in a batch over that of the first, on a usual CPU; believed while only
one size was measured, so that a second one is tried."""


def padded_sizes(cost: Sequence[float]) -> list[int]:
    """For each batch size, the cheapest size at least as large.

    `cost[n]` is the time of a batch of n tokens in any unit; `cost[0]` is not used. The curve of
    a real machine is a staircase, so padding three tokens to four can make the batch faster.
    """
    sizes = list(range(len(cost)))
    for size in range(len(cost) - 2, 0, -1):
        if cost[sizes[size + 1]] < cost[size]:
            sizes[size] = sizes[size + 1]
    return sizes


def best_size(probabilities: Sequence[float], cost: Sequence[float]) -> int:
    """How many draft nodes to send, 0 for plain decoding.

    `probabilities` are those of the nodes in falling order; `cost[n]` as in padded_sizes. With d
    nodes the step emits E = 1 + (sum of the first d) tokens on average and costs C(d + 1), or
    what the cheapest larger batch costs. The d with the highest E / C is returned, the smallest
    of several.
    """
    most = min(len(probabilities), len(cost) - 2)
    padded = padded_sizes(cost)
    best, best_rate = 0, 1.0 / cost[padded[1]]
    expected = 1.0
    for nodes in range(1, most + 1):
        expected += probabilities[nodes - 1]
        rate = expected / cost[padded[nodes + 1]]
        if rate > best_rate:
            best, best_rate = nodes, rate
    return best


def floor(cost: Sequence[float], roots: int = 1) -> float:
    """The probability under which a node is not worth looking for, so that a search can stop.

    Going from a batch of k tokens to one of n costs C(n) - C(k), and a step of so many `roots`
    emits at least a token for each in the time of a plain one. The flattest way to the largest
    batch, over all k, is therefore the lowest mean price of a token. On a staircase a step up is
    paid for by its first tokens and carries weaker ones for nothing, so half of that price is the
    floor. With many roots it is high: only what is nearly sure pays, and is quickly found.
    """
    padded = padded_sizes(cost)
    largest = len(cost) - 1
    slopes = [
        (cost[largest] - cost[padded[size]]) / (largest - size) for size in range(roots, largest)
    ]
    if not slopes:
        return 1.0
    return max(0.0, min(slopes)) * roots / cost[padded[roots]] / 2


def interpolated(known: Mapping[int, float], largest: int) -> list[float]:
    """Times of batches of 0 to `largest` tokens from those of the `known` sizes (at least one):
    on straight lines between them, and past the largest as the last two go on."""
    sizes = sorted(known)
    first, last = sizes[0], sizes[-1]
    if len(sizes) > 1:
        before = sizes[-2]
        slope = max(0.0, (known[last] - known[before]) / (last - before))
    else:
        slope = _USUAL_SLOPE * known[last] / last
    result = [0.0]
    for size in range(1, largest + 1):
        if size in known:
            result.append(known[size])
        elif size < first:
            result.append(known[first])
        elif size > last:
            result.append(known[last] + slope * (size - last))
        else:
            right = bisect.bisect(sizes, size)
            low, high = sizes[right - 1], sizes[right]
            share = (size - low) / (high - low)
            result.append(known[low] * (1 - share) + known[high] * share)
    return result

"""What a batch of n tokens costs in a replay."""

from __future__ import annotations

import json
from pathlib import Path

from sssd_chat.drafting.size import interpolated
from sssd_chat.errors import UserError

FLAT = "flat"
"""Name of the curve of a machine that is bound by memory bandwidth."""
FLAT_SLOPE = 0.004


def flat_cost(largest: int) -> list[float]:
    """Cost of batches of 0 to `largest` tokens, relative to a batch of one (about)."""
    return [1.0 + FLAT_SLOPE * size for size in range(largest + 1)]


def cost_table(name: str, largest: int) -> list[float]:
    """Cost of batches of 0 to `largest` tokens; the entry of 0 is not used.

    `name` is `flat`, or the path of a JSON object from batch size to milliseconds. Sizes between
    those of the file are interpolated on a straight line, and so are larger ones from the last
    two. Raises UserError when the file is not such an object.
    """
    if name == FLAT:
        return flat_cost(largest)
    return interpolated(_read_points(Path(name)), largest)


def _read_points(path: Path) -> dict[int, float]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read the cost file {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"the cost file {path} is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise UserError(f"the cost file {path} must hold an object from batch size to time")
    points: dict[int, float] = {}
    for key, value in raw.items():
        is_time = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        if not (key.isdecimal() and int(key) > 0 and is_time):
            raise UserError(
                f"the cost file {path} must map batch sizes to positive times, not {key!r} to"
                f" {value!r}"
            )
        points[int(key)] = float(value)
    if 1 not in points or len(points) < 2:
        raise UserError(f"the cost file {path} needs the time of batch size 1 and of one more")
    return points

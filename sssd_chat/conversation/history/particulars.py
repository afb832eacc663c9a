"""How an answer was asked for and what it cost, as the history keeps it."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sssd_chat.generation.engine import Generation, GenerationSettings
    from sssd_chat.generation.loading import State
    from sssd_chat.generation.statistics import AnswerStatistics


def parameters_of(settings: GenerationSettings, thinking: bool | None = None) -> str:
    """The settings of an answer as a JSON object; `thinking` when it was asked for, or not to."""
    wanted = {} if thinking is None else {"thinking": thinking}
    return json.dumps({**asdict(settings), **wanted})


def read_statistics(text: str) -> AnswerStatistics | None:
    """What `statistics_of` was given; None for what it did not write."""
    from sssd_chat.generation.statistics import AnswerStatistics, Count, Drafting

    try:
        values = json.loads(text) if text else None
        if not values:
            return None
        values.pop("stopped_by", None)
        counts = {
            "by_source": {str(n): Count(**c) for n, c in values.pop("by_source").items()},
            "by_depth": {int(n): Count(**c) for n, c in values.pop("by_depth").items()},
        }
        return AnswerStatistics(**values | counts | {"drafting": Drafting(values["drafting"])})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def statistics_of(statistics: AnswerStatistics, stopped_by: str | None) -> str:
    """The sums over the steps of an answer, and why it ended, as a JSON object."""
    return json.dumps({**asdict(statistics), "stopped_by": stopped_by}, default=_plain)


def particulars_of(generation: Generation[State]) -> tuple[str, str]:
    """Parameters and statistics of an answer as it is now."""
    reason = generation.stopped_by.value if generation.stopped_by else None
    return parameters_of(generation.settings), statistics_of(generation.statistics, reason)


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{value!r} cannot be kept")

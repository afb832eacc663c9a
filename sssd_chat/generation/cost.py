"""What a step costs on this machine: C(n), learned from the steps themselves.

The time of one llama_decode of n tokens is a staircase that differs from machine to machine and
from model to model, and it grows with the context. So it is measured: a short probe at the first
load, then every step is a sample. It is kept per model file, build and number of threads.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from sssd_chat.drafting import size as draft_size
from sssd_chat.files import write_atomically

_VERSION = 1
_LEARNING_RATE = 0.15
_FEW = 3
"""Of so many first measurements the fastest counts."""
_OUTLIER = 3.0
# A sample this many times off (a busy machine, a page fault) is trusted only that far.
_FIRST_BUCKET = 512
_BUCKETS = 12


@dataclass(slots=True)
class Sample:
    """The estimated time of one batch size."""

    seconds: float
    count: int = 1

    def update(self, seconds: float) -> None:
        """Takes in one measurement."""
        self.count += 1
        if self.count <= _FEW:
            # A busy machine makes steps slower, never faster.
            self.seconds = min(self.seconds, seconds)
            return
        limited = min(max(seconds, self.seconds / _OUTLIER), self.seconds * _OUTLIER)
        rate = max(_LEARNING_RATE, 1.0 / self.count)
        self.seconds += rate * (limited - self.seconds)


@dataclass(slots=True)
class _Curve:
    """The estimate for one range of context lengths, worked out for every size."""

    seconds: list[float]
    """Index n is the batch of n tokens; index 0 is not used."""
    padded: list[int]
    samples_seen: int
    floors: dict[int, float] = field(default_factory=dict)
    """By the number of roots."""


@dataclass(slots=True)
class StepCost:
    """C(n) by context bucket; bucket b reaches up to 512 · 2^b tokens."""

    largest: int
    """Largest batch that is ever sent."""
    buckets: list[dict[int, Sample]] = field(default_factory=lambda: [{} for _ in range(_BUCKETS)])
    _curves: dict[int, _Curve] = field(default_factory=dict)
    _samples: int = 0

    def observe(self, size: int, context: int, seconds: float) -> None:
        """Learns from a batch of `size` tokens that took `seconds` after `context` tokens."""
        samples = self.buckets[_bucket(context)]
        sample = samples.get(size)
        if sample is None:
            samples[size] = Sample(seconds)
            self._curves.clear()
        else:
            sample.update(seconds)
        self._samples += 1

    @property
    def is_known(self) -> bool:
        """Whether anything was measured."""
        return any(self.buckets)

    def measured_sizes(self) -> set[int]:
        """Batch sizes with a measurement at any context length."""
        return {size for samples in self.buckets for size in samples}

    def measurements(self, size: int) -> int:
        """How often a batch of so many tokens was measured."""
        return sum(samples[size].count for samples in self.buckets if size in samples)

    def plain(self, context: int) -> float | None:
        """Seconds of a step without a draft after `context` tokens; None while unknown."""
        return self.seconds(context)[1] if self.is_known else None

    def seconds(self, context: int) -> list[float]:
        """Estimated seconds of a batch of n tokens, index n, up to `largest`; a flat curve of
        a millisecond while nothing is known."""
        return self._curve(context).seconds

    def floor(self, context: int, roots: int = 1) -> float:
        """The probability under which a drafted node never pays in a batch of so many roots."""
        curve = self._curve(context)
        if roots not in curve.floors:
            curve.floors[roots] = draft_size.floor(curve.seconds, roots)
        return curve.floors[roots]

    def padded(self, size: int, context: int) -> int:
        """The cheapest batch of at least `size` tokens."""
        padded = self._curve(context).padded
        return padded[size] if size < len(padded) else size

    def _curve(self, context: int) -> _Curve:
        bucket = _bucket(context)
        curve = self._curves.get(bucket)
        # Working a curve out takes a tenth of a millisecond; samples move it slowly.
        if curve is None or self._samples - curve.samples_seen >= 8:
            seconds = self._estimate(bucket)
            curve = _Curve(
                seconds,
                draft_size.padded_sizes(seconds),
                self._samples,
            )
            self._curves[bucket] = curve
        return curve

    def _estimate(self, bucket: int) -> list[float]:
        known = {size: sample.seconds for size, sample in self.buckets[bucket].items()}
        for other in sorted(range(_BUCKETS), key=lambda b: abs(b - bucket)):
            if other != bucket and self.buckets[other]:
                known = _completed(known, self.buckets[other])
        if not known:
            return [0.0] + [1e-3] * self.largest
        return draft_size.interpolated(known, self.largest)

    # Keeping

    def save(self, path: Path) -> None:
        """Writes the samples, atomically. Raises OSError."""
        content = {
            "version": _VERSION,
            "buckets": [
                {str(size): [sample.seconds, sample.count] for size, sample in bucket.items()}
                for bucket in self.buckets
            ],
        }
        write_atomically(path, json.dumps(content).encode())

    @classmethod
    def load(cls, path: Path, largest: int) -> StepCost:
        """Reads what `save` wrote; a missing or damaged file gives an empty estimate."""
        cost = cls(largest)
        try:
            content = json.loads(path.read_bytes())
            if content["version"] != _VERSION:
                return cost
            for bucket, samples in zip(cost.buckets, content["buckets"], strict=True):
                for size, (seconds, count) in samples.items():
                    if 0 < seconds < math.inf and int(size) > 0:
                        bucket[int(size)] = Sample(float(seconds), int(count))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(largest)
        return cost


def _bucket(context: int) -> int:
    return min(_BUCKETS - 1, max(0, (max(context, 1) - 1) // _FIRST_BUCKET).bit_length())


def _completed(known: dict[int, float], other: dict[int, Sample]) -> dict[int, float]:
    """Fills sizes that were not measured here from another bucket, scaled by what both know."""
    shared = [seconds / other[size].seconds for size, seconds in known.items() if size in other]
    scale = sum(shared) / len(shared) if shared else 1.0
    if known and not shared:
        return known
    return {size: sample.seconds * scale for size, sample in other.items()} | known

"""Sizes of the tiny models, and random tensors for them."""

from collections.abc import Sequence

import gguf
import numpy as np
import numpy.typing as npt

WIDTH = 64
HEADS = 4
KEY_HEADS = 2
HEAD_WIDTH = 16
"""Numbers of an attention head, unless a model is asked for with another width."""
FEED_FORWARD = 128
EXPERTS, EXPERTS_USED, EXPERT_WIDTH = 6, 3, 48
CONVOLUTION = 4
STATE, INNER, TIME_RANK = 8, 2 * WIDTH, 8

Array = npt.NDArray[np.float32]


class Weights:
    """Adds random tensors to a file; sizes are (outputs, inputs) as numpy counts them."""

    def __init__(
        self, writer: gguf.GGUFWriter, random: np.random.Generator, head_width: int
    ) -> None:
        self._writer = writer
        self._random = random
        self.head_width = head_width

    def normal(self, size: Sequence[int], deviation: float) -> Array:
        """Normally distributed numbers around 0."""
        drawn: Array = self._random.normal(0.0, deviation, size).astype(np.float32)
        return drawn

    def linear(self, name: str, *size: int, gain: float = 1.0) -> None:
        """A matrix that keeps the size of its input, times `gain`."""
        self.put(f"{name}.weight", self.normal(size, gain / size[-1] ** 0.5))

    def norm(self, name: str, width: int = WIDTH, gain: float = 1.0) -> None:
        """The weights of a normalization."""
        self.put(f"{name}.weight", np.full(width, gain, dtype=np.float32))

    def put(self, name: str, values: Array) -> None:
        """A tensor with these very values."""
        self._writer.add_tensor(name, values)

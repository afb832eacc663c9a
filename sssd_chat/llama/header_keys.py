"""The numbers that a model's header gives for its architecture."""

from __future__ import annotations

from sssd_chat.llama.gguf import GgufHeader

_MOST_LAYERS = 4096


class HeaderKeys:
    """The metadata of the architecture; a number that is missing, or is none, is 0."""

    def __init__(self, header: GgufHeader) -> None:
        self._metadata = header.metadata
        self._prefix = f"{header.architecture}."

    def get(self, key: str) -> object:
        """The value of a key, named without the architecture; None when it is missing."""
        return self._metadata.get(self._prefix + key)

    def number(self, key: str) -> int:
        """A count."""
        return _count(self.get(key))

    def each_layer(self, key: str) -> list[int]:
        """One value a layer, for a key that may hold one for all of them."""
        layers = min(max(1, self.number("block_count")), _MOST_LAYERS)
        value = self.get(key)
        if isinstance(value, tuple):
            return [_count(one) for one in value[:layers]] or [0]
        return [_count(value)] * layers


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0

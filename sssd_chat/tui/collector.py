"""The search for objects that nothing refers to any more."""

from __future__ import annotations

import gc


def settle() -> None:
    """Leaves out what is there now: modules, the model's vocabulary, earlier messages. Each search
    through them would stop the keyboard, the screen and the engine for 70 ms."""
    gc.collect()
    gc.freeze()

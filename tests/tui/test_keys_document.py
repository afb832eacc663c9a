"""docs/keys.md says what the list of all actions says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_document_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_keys", ROOT / "assets" / "make_keys.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (ROOT / "docs" / "keys.md").read_text(encoding="utf-8")
    assert written == module.document(), "run: python assets/make_keys.py"

"""Writes docs/keys.md from the list of all actions: `python assets/make_keys.py`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from sssd_chat.tui.actions import ALL_ACTIONS, Action, Group  # noqa: E402
from sssd_chat.tui.keymap import Keymap  # noqa: E402

HEAD = """# Keys

Every action of the chat, made by `python assets/make_keys.py`. The name is what `[keys]` in
`config.toml` calls it:

```toml
[keys]
new_chat = "f10"          # other keys, with commas between them
toggle_drafts = ""        # no key
```

A key that there is not, or that another action has at the same place, is told at the start and does
not count.
"""


def document() -> str:
    """The text of the file."""
    parts = [HEAD]
    for group in Group:
        rows = [_row(action) for action in ALL_ACTIONS if action.group is group]
        if rows:
            head = [
                f"\n## {group.value}\n",
                "| name | key | typed | what it does |",
                "|---|---|---|---|",
            ]
            parts.append("\n".join([*head, *rows]) + "\n")
    return "".join(parts)


def _row(action: Action) -> str:
    keys = Keymap().shown(action)
    cells = (f"`{action.name}`", keys, f"`{action.slash}`" if action.slash else "")
    what = f"{action.title}. {action.help}." if action.help else f"{action.title}."
    return f"| {' | '.join(cells)} | {what} |".replace("|  |", "| |").replace("|  |", "| |")


if __name__ == "__main__":
    (ROOT / "docs" / "keys.md").write_text(document(), encoding="utf-8")

"""`sssd-chat config`: the settings."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sssd_chat import paths
from sssd_chat.cli import options as shared
from sssd_chat.errors import UserError

if TYPE_CHECKING:
    from sssd_chat.config import Config


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="sssd-chat config", description="Shows and changes the settings (config.toml)."
    )
    kinds = result.add_subparsers(dest="kind", required=True, metavar="COMMAND")
    kinds.add_parser("path", help="where the file is")
    show = kinds.add_parser("show", help="all settings with what they are for")
    show.add_argument("--json", action="store_true", help="print one object")
    change = kinds.add_parser(
        "set",
        help="change one setting",
        description="Changes one setting in the file; comments in it stay.",
    )
    change.add_argument("key", metavar="KEY", help="for example answer.temperature")
    change.add_argument(
        "value", nargs="+", metavar="VALUE", help='the word "default" takes it out of the file'
    )
    return result


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    options = parser().parse_args(arguments)
    if options.kind == "path":
        print(paths.config_file())
    elif options.kind == "show":
        config = shared.load_settings()
        print(json.dumps(_as_json(config)) if options.json else _as_toml(config), end="")
        print(end="\n" if options.json else "")
    else:
        _set(options.key, " ".join(options.value))
    return 0


def _set(key: str, words: str) -> None:
    from sssd_chat.config import change_setting

    try:
        change_setting(paths.config_file(), key, words)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"{paths.config_file()} cannot be written: {reason}.") from error
    what = "has its default again" if words == "default" else "is set"
    print(f"sssd-chat: {key} {what} in {paths.config_file()}.", file=sys.stderr)


def _as_json(config: Config) -> dict[str, dict[str, object]]:
    from sssd_chat.config.settings import all_settings

    sections: dict[str, dict[str, object]] = {}
    for setting in all_settings():
        sections.setdefault(setting.section, {})[setting.name] = setting.of(config)
    return sections


def _as_toml(config: Config) -> str:
    """A file of all settings; those at their defaults are comments in it."""
    import tomlkit

    from sssd_chat.config.settings import all_settings

    lines: list[str] = []
    section = ""
    for setting in all_settings():
        if setting.section != section:
            section = setting.section
            lines += ["", f"[{section}]"] if lines else [f"[{section}]"]
        value = setting.of(config)
        lines.append(f"# {setting.purpose} ({setting.expected})")
        shown = list(value) if isinstance(value, tuple) else value
        item = "" if shown is None else tomlkit.item(shown).as_string()
        lines.append(f"{'# ' if value == setting.default else ''}{setting.name} = {item}".rstrip())
    return "\n".join(lines) + "\n"

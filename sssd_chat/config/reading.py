"""From the file to typed settings; what is wrong becomes a notice."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sssd_chat import paths
from sssd_chat.config.settings import (
    Config,
    Setting,
    all_settings,
    section_name,
    sections,
    settings_of,
)
from sssd_chat.errors import reason


def load_config(path: Path | None = None) -> Config:
    """The settings of `path`, or of the user's own file; defaults where it says nothing or
    something wrong, with a notice for each thing that is wrong. Raises nothing."""
    file = paths.config_file() if path is None else path
    try:
        content = tomllib.loads(file.read_bytes().decode())
    except FileNotFoundError:
        return Config()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return Config(notices=(f"{file} is not valid TOML, so no setting of it counts: {error}.",))
    except OSError as error:
        why = reason(error, file)
        return Config(notices=(f"{file} cannot be read, so no setting of it counts: {why}.",))
    return _typed(content, file)


def _typed(content: dict[str, Any], file: Path) -> Config:
    notices = [
        f"{file}: {_unknown_section(name)}"
        for name in content
        if name not in ("keys", *map(section_name, sections()))
    ]
    config = Config()
    for section in sections():
        name = section_name(section)
        values = content.get(name, {})
        if not isinstance(values, dict):
            notices.append(f"{file}: {name} has to be a section, [{name}]; the defaults count.")
            continue
        known = {setting.name: setting for setting in settings_of(section)}
        notices += [f"{file}: {unknown_key(f'{name}.{key}')}" for key in values if key not in known]
        good: dict[str, Any] = {}
        for key, setting in known.items():
            if key not in values:
                continue
            try:
                good[key] = setting.checked(values[key])
            except ValueError as error:
                notices.append(f"{file}: {_wrong_value(setting, values[key], error)}")
        section_values = replace(getattr(config, section.name), **good)
        given = config.given | {known[key].key for key in good}
        config = replace(config, **{section.name: section_values}, given=given)
    keys, wrong = _keys(content.get("keys", {}), file)
    config, notices = replace(config, keys=keys), notices + wrong
    return replace(config, notices=tuple(notices))


def _keys(values: object, file: Path) -> tuple[dict[str, str], list[str]]:
    """The keys that the user changed, and a sentence for each that is no text."""
    if not isinstance(values, dict):
        return {}, [f"{file}: keys has to be a section, [keys]; the usual keys count."]
    good = {name: keys for name, keys in values.items() if isinstance(keys, str)}
    wrong = [
        f"{file}: keys.{name} is {keys!r}, expected text; its own key counts."
        for name, keys in values.items()
        if name not in good
    ]
    return good, wrong


def _wrong_value(setting: Setting, value: object, error: ValueError) -> str:
    default = "" if setting.default is None else f" ({setting.default})"
    return f"{setting.key} is {value!r}, {error}; the default{default} counts."


def _unknown_section(name: str) -> str:
    """A sentence about a section, or a key outside of the sections, that there is not."""
    keys = [setting.key for setting in all_settings() if setting.name == name]
    near = keys or _nearest(name, map(section_name, sections()))
    return f"There is no section {name}{_suggestion(near)}"


def unknown_key(key: str) -> str:
    """A sentence about a key that there is not."""
    names = [setting.key for setting in all_settings()]
    same = [name for name in names if name.partition(".")[2] == key.partition(".")[2]]
    return f"There is no setting {key}{_suggestion(same or _nearest(key, names))}"


def _nearest(name: str, names: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)


def _suggestion(near: list[str]) -> str:
    return f"; did you mean {near[0]}?" if near else "."

"""Changing one setting in the file, whose comments and order stay."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sssd_chat.config.reading import unknown_key
from sssd_chat.config.settings import Setting, all_settings
from sssd_chat.errors import UserError
from sssd_chat.files import write_atomically


class WrongSetting(UserError):
    """There is no setting of the name, or it does not take the value."""

    exit_code = 2


DEFAULT = "default"
"""The word that takes a setting out of the file."""


def change_setting(path: Path, key: str, words: str) -> Any:
    """Sets `key` (e.g. "answer.temperature") to what `words` say and returns the value; the word
    "default" takes the setting out of the file, which gives None.

    Raises WrongSetting when there is no such setting, or it does not take the value, and UserError
    when the file is not valid as it is; it is then left alone. Raises OSError when the disk
    refuses."""
    setting = _find(key)
    value = None if words == DEFAULT else _value(setting, words)
    put_setting(path, setting, value)
    return value


def put_setting(path: Path, setting: Setting, value: Any) -> None:
    """Writes a value that `setting` took (see `Setting.checked`); None takes the setting out of the
    file. Raises UserError and OSError like `change_setting`."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        before = path.read_bytes().decode() if path.exists() else ""
        document = tomlkit.parse(before)
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML; repair it first: {error}.") from error
    section = document.get(setting.section)
    if section is None:
        section = document[setting.section] = tomlkit.table()
    if not isinstance(section, dict):
        raise UserError(f"{path}: {setting.section} has to be a section; repair it first.")
    if value is None:
        section.pop(setting.name, None)
    else:
        section[setting.name] = list(value) if isinstance(value, tuple) else value
    # A file that is linked from elsewhere stays a link.
    write_atomically(path.resolve(), tomlkit.dumps(document).encode())


def _find(key: str) -> Setting:
    for setting in all_settings():
        if setting.key == key:
            return setting
    raise WrongSetting(unknown_key(key))


def _value(setting: Setting, words: str) -> Any:
    """The value that was typed. Raises WrongSetting when it is none for the setting."""
    try:
        # Bytes of the command line that are no text could not be written.
        words.encode()
        return setting.checked(words if setting.kind is str else parsed(words))
    except UnicodeEncodeError as error:
        raise WrongSetting(f"{setting.key} cannot be set: the value is not UTF-8 text.") from error
    except ValueError as error:
        raise WrongSetting(f"{setting.key} cannot be {words!r}: {error}.") from error


def parsed(words: str) -> object:
    """What a value of TOML says; text that is none stays text."""
    try:
        return tomllib.loads(f"value = {words}")["value"]
    except tomllib.TOMLDecodeError:
        return words

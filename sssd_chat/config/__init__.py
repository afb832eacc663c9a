"""The user's settings: `config.toml`, typed.

What is wrong in the file is told in a sentence and costs that one setting: the default takes its
place and the program starts. A command-line option goes before the file, and the file before the
default.
"""

from __future__ import annotations

from sssd_chat.config.reading import load_config
from sssd_chat.config.settings import Config
from sssd_chat.config.writing import change_setting, put_setting

__all__ = ["Config", "change_setting", "load_config", "put_setting"]

"""Every place on the disk, in one file.

All of it lies where the platform wants it (platformdirs), or under one folder when the environment
variable SSSD_CHAT_HOME names one.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

_NAME = "sssd-chat"


def _home() -> Path | None:
    home = os.environ.get("SSSD_CHAT_HOME")
    return Path(home).expanduser() if home else None


def data_folder() -> Path:
    """Chats and what was learned from them."""
    home = _home()
    return home / "data" if home else Path(platformdirs.user_data_path(_NAME))


def config_file() -> Path:
    """The user's settings."""
    home = _home()
    folder = home / "config" if home else Path(platformdirs.user_config_path(_NAME))
    return folder / "config.toml"


def log_file() -> Path:
    """What went wrong, in detail."""
    home = _home()
    folder = home / "log" if home else Path(platformdirs.user_log_path(_NAME))
    return folder / "sssd-chat.log"


def history_file() -> Path:
    """The database of chats."""
    return data_folder() / "history.db"


def step_cost_folder() -> Path:
    """Measured step costs, one file for each model, build and number of threads."""
    return data_folder() / "step-cost"


def tuning_folder() -> Path:
    """What `tune` found, one file for each model, build and machine."""
    return data_folder() / "tuning"


def experience_folder() -> Path:
    """What the drafter learned, one file for each vocabulary and model."""
    return data_folder() / "experience"


def models_folder() -> Path:
    """Models that were downloaded by `models pull`."""
    return data_folder() / "models"


def model_headers_file() -> Path:
    """What the headers of found model files said."""
    return data_folder() / "model-headers.json"


def state_cache_folder() -> Path:
    """KV states of chats that were left; they hold what was said in them."""
    return data_folder() / "states"


def datastore_folder() -> Path:
    """The indexes that drafts come from, one folder for each vocabulary."""
    return data_folder() / "datastore"


def texts_file() -> Path:
    """The texts of imported collections."""
    return data_folder() / "texts.db"


def savings_file() -> Path:
    """What each collection saved so far."""
    return data_folder() / "savings.json"

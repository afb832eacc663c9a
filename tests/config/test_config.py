"""Whatever stands in the file, the program starts, with what is right of it."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat import paths
from sssd_chat.config import Config, change_setting, load_config
from sssd_chat.config.settings import Setting, all_settings
from sssd_chat.errors import UserError

KEYS = {setting.key: setting for setting in all_settings()}


@pytest.fixture
def file(home: Path) -> Path:
    path = paths.config_file()
    path.parent.mkdir(parents=True)
    return path


def good_values(setting: Setting) -> st.SearchStrategy[Any]:
    if setting.kind is bool:
        return st.booleans()
    if setting.choices:
        return st.sampled_from(setting.choices)
    low = max(setting.low, -(2**40))
    high = min(setting.high, 2**40)
    if setting.kind is int:
        return st.integers(int(low), int(high))
    if setting.kind is float:
        return st.floats(low, high)
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    return text if setting.kind is str else st.lists(text, max_size=3)


def test_without_a_file_the_defaults_count(home: Path) -> None:
    assert load_config() == Config()
    for setting in all_settings():
        assert setting.of(Config()) == setting.default
        assert setting.purpose and setting.expected


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_set_is_read(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("config") / "config.toml"
    wanted = {}
    for setting in data.draw(st.lists(st.sampled_from(list(KEYS.values())), unique=True)):
        value = data.draw(good_values(setting))
        words = value if setting.kind is str else tomlkit.item(value).as_string()
        if words == "default":
            continue
        change_setting(path, setting.key, words)
        wanted[setting.key] = tuple(value) if setting.kind is tuple else value
    config = load_config(path)
    assert config.notices == ()
    for key, setting in KEYS.items():
        assert setting.of(config) == wanted.get(key, setting.default)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    content=st.binary(max_size=200)
    | st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace"))
)
def test_any_file_gives_settings(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_bytes(content)
    config = load_config(path)
    assert isinstance(config, Config)
    if config != Config():
        assert config.notices
    for notice in config.notices:
        assert str(path) in notice


@pytest.mark.parametrize("key", KEYS)
def test_a_wrong_value_costs_that_setting_alone(key: str, file: Path) -> None:
    setting = KEYS[key]
    wrong = "3" if setting.kind in (str, tuple, bool) else "'text'"
    other = "screen.bell = true" if key != "screen.bell" else "history.keep = false"
    file.write_text(f"{key} = {wrong}\n{other}\n")
    config = load_config()
    (notice,) = config.notices
    assert str(file) in notice and key in notice and setting.expected in notice
    assert setting.of(config) == setting.default
    assert config.screen.bell or not config.history.keep


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("answer.top_p = 1.5", "answer.top_p is 1.5, expected a number from 0 to 1"),
        ("answer.temperature = nan", "expected a number from 0 to 100; the default (0.7) counts"),
        ("answer.top_k = true", "expected a whole number, 0 or more"),
        ("model.threads = 0", "expected a whole number from 1 to 1024; the default counts"),
        ("model.cache_type_k = 'q9'", "model.cache_type_k is 'q9', expected one of f32, f16"),
        ("answer.temprature = 1", "no setting answer.temprature; did you mean answer.temperature?"),
        ("screen.temperature = 1", "did you mean answer.temperature?"),
        ("temperature = 1", "no section temperature; did you mean answer.temperature?"),
        ("[modle]", "no section modle; did you mean model?"),
        ("[xyzzy]", "no section xyzzy."),
        ("screen = 3", "screen has to be a section, [screen]"),
        ("[answer", "not valid TOML"),
        ("a = 1\na = 2", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(line: str, complaint: str, file: Path) -> None:
    file.write_text(line)
    (notice,) = load_config().notices
    assert notice.startswith(str(file))
    assert complaint in notice
    assert "\n" not in notice


def test_comments_and_order_stay(file: Path) -> None:
    before = "# mine\n[screen] # look\nbell = false # quiet\n\n[answer]\ntop_k = 3\n"
    file.write_text(before)
    change_setting(file, "screen.bell", "true")
    assert file.read_text() == before.replace("bell = false", "bell = true")
    change_setting(file, "screen.bell", "default")
    assert file.read_text() == before.replace("bell = false # quiet\n", "")
    assert file.stat().st_mode & 0o077 == 0


def test_a_linked_file_stays_a_link(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text("")
    file.symlink_to(target)
    change_setting(file, "answer.system", "be kind")
    assert file.is_symlink()
    assert tomllib.loads(target.read_text()) == {"answer": {"system": "be kind"}}


@pytest.mark.parametrize(
    ("content", "key", "words", "complaint"),
    [
        ("", "answer.top_p", "2", "answer.top_p cannot be '2': expected a number from 0 to 1"),
        ("", "screen.bell", "yes", "expected true or false"),
        ("", "model.folders", "here", "expected a list of texts"),
        ("", "answer.topp", "2", "There is no setting answer.topp; did you mean answer.top_p?"),
        ("", "answer.system", "a\udcff", "answer.system cannot be set: the value is not UTF-8"),
        ("[answer", "answer.top_k", "2", "not valid TOML"),
        ("answer = 3", "answer.top_k", "2", "answer has to be a section"),
    ],
)
def test_nothing_wrong_is_written(
    content: str, key: str, words: str, complaint: str, file: Path
) -> None:
    file.write_text(content)
    with pytest.raises(UserError) as error:
        change_setting(file, key, words)
    assert complaint in str(error.value)
    assert file.read_text() == content


def test_the_file_may_not_be_readable(file: Path) -> None:
    file.mkdir()
    config = load_config()
    assert replace(config, notices=()) == Config()
    assert "cannot be read" in config.notices[0]


def test_bounds_are_those_of_the_options() -> None:
    """What the command line takes, the file takes."""
    from sssd_chat.cli import ask

    names = {"ctx": "model.context", "threads": "model.threads", "gpu_layers": "model.gpu_layers"}
    names |= {name.partition(".")[2]: name for name in KEYS if name.startswith("answer.")}
    for action in ask.parser()._actions:
        setting = KEYS.get(names.get(action.dest, ""))
        if setting is None or setting.kind not in (int, float):
            continue
        for value in {setting.low, setting.high} - {math.inf, -math.inf}:
            assert setting.checked(action.type(f"{value:g}")) == value  # type: ignore[misc, operator]

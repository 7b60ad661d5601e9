import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden import config
from gamewarden.config import Config, config_from, config_text, load_config, settings
from gamewarden.errors import ConfigError, GamewardenError


def test_without_a_file_the_defaults_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert load_config(None) == Config()


def test_the_printed_settings_read_back_as_themselves():
    changed = config_from({"rank": {"probability": 0.9}, "measure": {"unit": "5m"}}, "here")

    assert config_from(tomllib.loads(config_text(changed)), "printed") == changed


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_a_text_holds_is_printed_as_toml_and_comes_back(text):
    told = config_from({"notify": {"urls_from": text}}, "here")

    assert tomllib.loads(config_text(told))["notify"]["urls_from"] == text


def test_every_setting_has_a_sentence():
    for _, setting in settings():
        assert setting.metadata["says"].endswith(".")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"raed": {}}, "here: section 'raed' is unknown; did you mean 'read'?"),
        ({"rank": {"probabilty": 1}}, "here [rank]: 'probabilty' is unknown; did you mean 'probability'?"),
        ({"rank": {"top": "x"}}, "here [rank]: top = 'x'; it takes int such as 50"),
        ({"rank": {"top": True}}, "here [rank]: top = True; it takes int such as 50"),
        ({"rank": 3}, "here [rank]: is 3, not a section; write [name] and one setting a line"),
        ({"read": {"max_bad_share": 2}}, "here [read] max_bad_share = 2; it is a share between 0 and 1"),
        (
            {"read": {"time_zone": "Mars/Base"}},
            "time zone 'Mars/Base' is unknown; write an IANA name such as Asia/Seoul or UTC",
        ),
        ({"evaluate": {"folds": 1}}, "here [evaluate] folds = 1; it must lie from 2 to 1,000"),
        (
            {"desk": {"public_url": "warden.example.org"}},
            "here [desk] public_url = 'warden.example.org'; it is such as https://warden.example.org",
        ),
        (
            {"desk": {"oidc_roles": "staff=viewer, wardens=king"}},
            "here [desk] oidc_roles has 'wardens=king'; write group=role with one of " + ", ".join(config.DESK_ROLES),
        ),
        (
            {"desk": {"oidc_issuer": "http://127.0.0.1.example.org", "oidc_client": "desk"}},
            "here [desk] oidc_issuer = 'http://127.0.0.1.example.org'; it is https, or on this machine",
        ),
        (
            {"desk": {"oidc_issuer": "https://id.example.org"}},
            "here [desk] oidc_issuer is set and oidc_client is not; write what the issuer calls us",
        ),
    ],
)
def test_a_setting_we_cannot_follow_is_one_clear_line(values, line):
    with pytest.raises(ConfigError) as caught:
        config_from(values, "here")

    assert str(caught.value) == line


@given(st.binary(max_size=200))
def test_any_bytes_as_warden_toml_give_settings_or_one_line(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("config") / "warden.toml"
    path.write_bytes(data)

    try:
        load_config(path)
        line = ""
    except GamewardenError as error:
        line = str(error)

    assert "\n" not in line.strip()


@pytest.mark.parametrize(
    "said", ["players = 0", "unproven = -1", "unproven = 99999999", 'keep = "soon"', 'idle = ""', 'memory = "1 GB"']
)
def test_bounds_of_a_watch_that_bound_nothing_are_refused(tmp_path, said):
    path = tmp_path / "warden.toml"
    path.write_text(f"[watch]\n{said}\n")

    with pytest.raises(ConfigError):
        load_config(path)


NOT_NUMBERS = [float("nan"), float("inf"), float("-inf"), -1000.5, 1e300]


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize(("section", "name"), [(s, f.name) for s, f in settings() if isinstance(f.default, float)])
def test_no_setting_takes_what_is_no_number_of_its_kind(section, name, value):
    with pytest.raises(ConfigError) as caught:
        config_from({section: {name: value}}, "here")

    assert str(caught.value).startswith(f"here [{section}] {name} = {value}; it ")


@pytest.mark.parametrize("value", [-1, 10**19])
@pytest.mark.parametrize(("section", "name"), [(s, f.name) for s, f in settings() if type(f.default) is int])
def test_no_setting_takes_a_count_that_cannot_be(section, name, value):
    with pytest.raises(ConfigError) as caught:
        config_from({section: {name: value}}, "here")

    assert str(caught.value).startswith(f"here [{section}] {name} = {value}; it ")


@pytest.mark.parametrize("value", ["", "0s", "9" * 400 + "w", "11y", "-1d", "١d"])
@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("measure", "unit"),
        ("measure", "every"),
        ("maintain", "period"),
        ("watch", "keep"),
        ("watch", "tick"),
        ("watch", "late"),
        ("notify", "gap"),
    ],
)
def test_no_setting_takes_a_time_that_cannot_be(section, name, value):
    with pytest.raises(ConfigError) as caught:
        config_from({section: {name: value}}, "here")

    assert str(caught.value).startswith(f"here [{section}] {name} = ")
    assert len(str(caught.value)) < 300


def test_every_default_lies_within_its_own_range():
    config_from({name: {one.name: one.default for s, one in settings() if s == name} for name, _ in settings()}, "here")


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = " + "{a=" * 5_000, ".".join("a" * 5_000) + " = 1"])
def test_settings_nested_without_end_are_one_line(tmp_path, text):
    path = tmp_path / "warden.toml"
    path.write_text(text)

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 500


def test_settings_larger_than_any_are_not_parsed(tmp_path):
    path = tmp_path / "warden.toml"
    path.write_text("#" * (2 << 20))

    with pytest.raises(ConfigError, match="2,097,152 bytes are too many for settings"):
        load_config(path)


@pytest.mark.parametrize("ranges", ["_LIMITS", "_CHOICES", "_SPANS"])
def test_every_range_is_of_a_setting_that_there_is(ranges):
    there = {f"[{section}] {setting.name}" for section, setting in settings()}

    assert set(getattr(config, ranges)) <= there

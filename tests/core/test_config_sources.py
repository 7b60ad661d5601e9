"""[[source]], [workspace] and [retention] of warden.toml."""

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamewarden import config
from gamewarden.config import Config, SourceSettings, config_from, config_text
from gamewarden.errors import ConfigError
from gamewarden.requests import reading_of_source

COMBAT = {"name": "combat", "locator": "logs/combat-*.csv.gz", "map": "blade-and-soul", "time_zone": "Asia/Seoul"}
TAP = {"name": "tap", "locator": ["a.pcap", "s3://taps/*.pcap"], "kind": "packets", "server_ports": [5121, 6900]}


def refused(*sources):
    with pytest.raises(ConfigError) as caught:
        config_from({"source": list(sources)}, "here")
    return str(caught.value)


def test_sources_stand_in_the_settings_in_their_order():
    told = config_from({"source": [COMBAT, TAP]}, "here")

    assert [source.name for source in told.sources] == ["combat", "tap"]
    assert told.sources[0].locator == ("logs/combat-*.csv.gz",)
    assert told.sources[1].locator == ("a.pcap", "s3://taps/*.pcap")
    assert told.sources[1].server_ports == (5121, 6900)


def test_without_sources_there_are_none():
    assert Config().sources == ()
    assert config_from({}, "here").sources == ()


def test_printed_sources_read_back_as_themselves():
    told = config_from({"source": [COMBAT, TAP | {"include_empty": True, "max_bad_share": 0.5}]}, "here")

    assert config_from(tomllib.loads(config_text(told)), "printed").sources == told.sources


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_whatever_a_locator_holds_is_printed_and_comes_back(text):
    told = config_from({"source": [COMBAT | {"locator": [text, "b"]}]}, "here")

    assert tomllib.loads(config_text(told))["source"][0]["locator"] == [text, "b"]


def test_every_key_of_a_source_has_a_sentence():
    for one in fields(SourceSettings):
        assert one.metadata["says"].endswith(".")


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"locator": 3}, "locator = 3; it takes a text or a list of texts"),
        ({"locator": []}, "locator = []; name at least one place"),
        ({"locator": ["x", ""]}, "locator = ['x', '']; a place is no empty text"),
        ({"locator": "a\0b"}, "locator = 'a\\x00b'; no place holds a zero byte"),
        ({"name": "../x"}, "name = '../x'; it is 1 to 64 letters, digits, . _ or -, the first a letter or digit"),
        ({"name": 3}, "name = 3; it takes text"),
        ({"nam": "x"}, "'nam' is unknown; did you mean 'name'?"),
        ({"kind": "event"}, "kind = 'event'; it is events, packets, messages, table or empty"),
        ({"time_zone": "Mars/Base"}, "time zone 'Mars/Base' is unknown; write an IANA name such as Asia/Seoul or UTC"),
        ({"server_ports": [0]}, "server_ports = [0]; a port lies from 1 to 65535"),
        ({"server_ports": [True]}, "server_ports = [True]; it takes a list of whole numbers"),
        ({"server_ports": 80}, "server_ports = 80; it takes a list of whole numbers"),
        ({"include_empty": 1}, "include_empty = 1; it takes true or false"),
        ({"max_bad_share": 2}, "max_bad_share = 2; it is a share between 0 and 1"),
        ({"max_bad_share": True}, "max_bad_share = True; it takes a number"),
        ({"max_bad_share": float("nan")}, "max_bad_share = nan; it is a share between 0 and 1"),
        ({"packet_version": "x"}, "packet_version = 'x'; it takes a whole number"),
        ({"packet_client": "rezero"}, "packet_client = 'rezero'; it is main, re, zero, sak, ad or empty"),
    ],
)
def test_an_error_says_which_source_it_is_of(wrong, line):
    said = refused(TAP, COMBAT | wrong)

    where = "number 2" if "name" in wrong else "'combat'"
    assert said == f"here [[source]] {where}: {line}"


@pytest.mark.parametrize("settled", ["soon", "-1s", "", "1y"])
def test_settled_is_a_length_of_time(settled):
    said = refused(COMBAT | {"settled": settled})

    assert said.startswith(f"here [[source]] 'combat': settled = {settled!r}; it is a length of time: ")


@pytest.mark.parametrize("settled", ["0s", "5m", "1d"])
def test_settled_may_be_no_time_at_all(settled):
    assert config_from({"source": [COMBAT | {"settled": settled}]}, "here").sources[0].settled == settled


@pytest.mark.parametrize("lacking", ["name", "locator"])
def test_a_source_needs_a_name_and_a_place(lacking):
    said = refused({key: value for key, value in COMBAT.items() if key != lacking})

    where = "number 1" if lacking == "name" else "'combat'"
    assert said == f"here [[source]] {where}: has no {lacking}; add {lacking} = …"


def test_two_sources_may_not_share_a_name_even_in_other_letters():
    said = refused(COMBAT, TAP | {"name": "Combat"})

    assert said == "here [[source]] 'Combat': is named as number 1 is; give each source a name of its own"


@pytest.mark.parametrize("value", [3, "x", {"name": "x"}, [3], ["x"], [[]]])
def test_what_is_no_list_of_sources_is_one_line(value):
    with pytest.raises(ConfigError) as caught:
        config_from({"source": value}, "here")

    assert str(caught.value).startswith("here [[source]]: is ")
    assert "write [[source]]" in str(caught.value)


def test_a_misspelt_list_of_sources_is_named():
    with pytest.raises(ConfigError, match="did you mean 'source'"):
        config_from({"sources": []}, "here")


def test_a_workspace_has_its_places_and_keeps_for_ever_unless_told():
    told = Config()

    assert (told.workspace.lake, told.workspace.results, told.workspace.models) == ("lake", "results", "models")
    assert (told.workspace.labels, told.workspace.profiles) == ("", "")
    assert {getattr(told.retention, one.name) for one in fields(told.retention)} == {""}


@pytest.mark.parametrize("name", ["events", "features", "scores", "verdicts"])
def test_retention_is_a_length_of_time_or_empty(name):
    assert getattr(config_from({"retention": {name: "90d"}}, "here").retention, name) == "90d"

    with pytest.raises(ConfigError) as caught:
        config_from({"retention": {name: "long"}}, "here")

    assert str(caught.value).startswith(f"here [retention] {name} = 'long'; it is a length of time: ")


@pytest.mark.parametrize("name", ["lake", "results", "models"])
def test_a_workspace_without_such_a_place_is_refused(name):
    with pytest.raises(ConfigError) as caught:
        config_from({"workspace": {name: ""}}, "here")

    assert str(caught.value) == f"here [workspace] {name} = ''; it is a directory such as {name!r}"


def test_ranges_of_optional_spans_are_of_settings_that_there_are():
    there = {f"[{section}] {setting.name}" for section, setting in config.settings()}

    assert set(config._SPANS_OR_EMPTY) <= there


def test_a_source_is_read_as_it_says_and_as_the_settings_say_where_it_says_nothing(tmp_path):
    told = config_from({"source": [COMBAT, TAP], "read": {"max_bad_share": 0.2, "time_zone": "UTC"}}, "here")

    combat, tap = (reading_of_source(source, told, tmp_path) for source in told.sources)

    assert (combat.logs.mapping, combat.logs.time_zone, combat.logs.max_bad_share) == (
        "blade-and-soul",
        "Asia/Seoul",
        0.2,
    )
    assert (tap.logs.mapping, tap.logs.time_zone) == (None, "UTC")
    assert tap.captures.server_ports == (5121, 6900)


def test_files_beside_a_source_are_looked_for_where_warden_toml_is(tmp_path, monkeypatch):
    base, elsewhere = tmp_path / "ws", tmp_path / "elsewhere"
    base.mkdir()
    elsewhere.mkdir()
    (base / "combat.toml").write_text("")
    monkeypatch.chdir(elsewhere)
    source = COMBAT | {"map": "combat.toml", "accounts": "who.csv", "packet_db": ["db.txt", "/etc/db.txt"]}
    told = config_from({"source": [source]}, "here")

    reading = reading_of_source(told.sources[0], told, base)

    assert reading.logs.mapping == str(base / "combat.toml")
    assert reading.captures.accounts == base / "who.csv"
    assert reading.messages.packet_db == (base / "db.txt", Path("/etc/db.txt"))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("a\nb\x1b[31m"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from([*(one.name for one in fields(SourceSettings)), "other", "a\nb"]), ANYTHING),
    st.booleans(),
)
def test_whatever_a_source_says_it_becomes_settings_or_one_line(values, whole):
    said = (COMBAT if whole else {}) | values

    try:
        told = config_from({"source": [said]}, "here")
        line = config_text(told)[:0]
    except ConfigError as error:
        line = str(error)

    assert "\n" not in line
    assert "\x1b" not in line

"""Identifiers that reach a lake as keyed digests only."""

import pytest

from commands import run
from dropped_lakes import frame, texts_at_rest
from gamewarden.config import IDENTIFIERS, Privacy, config_from
from gamewarden.errors import ConfigError
from gamewarden.readers.logs.tables import EventFile
from gamewarden.store.hashed_log import HashedLog
from gamewarden.tables import TEXT_COLUMNS

LOG = "actor,at,kind,ip,session\na,10,k,10.0.0.1,s1\nb,20,k,10.0.0.1,s2\nc,30,k,10.0.0.2,\nd,40,k,,s1\n"
SETTINGS = '[privacy]\nhash = "ip, session"\n[read]\nearliest = "1970-01-01"\n'


@pytest.fixture
def place(tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "warden.toml").write_text(SETTINGS)
    return tmp_path


def read(place, key, log="log.csv"):
    return run("read", log, "--to", "lake", cwd=place, env={"GAMEWARDEN_KEY": key})


def lake_at(place):
    from gamewarden.store.lake import Lake

    return Lake(place / "lake")


def test_equal_identifiers_stay_equal_and_none_is_in_any_file(place):
    assert read(place, "a long random text").returncode == 0

    rows = frame(lake_at(place).events()).sort("at")
    assert rows["actor"].to_list() == ["a", "b", "c", "d"]
    first, same, other, missing = rows["ip"].to_list()
    assert first == same != other
    assert missing is None
    assert rows["session"][0] == rows["session"][3] != rows["session"][1]
    assert all(len(text) == 20 for text in (first, other, rows["session"][0]))
    assert not {"10.0.0.1", "10.0.0.2", "s1", "s2"} & texts_at_rest(lake_at(place))
    assert "a long random text" not in (place / "lake" / "lake.json").read_text()


def test_another_key_gives_other_digests_and_is_noticed(place):
    read(place, "one")
    (place / "more.csv").write_text(LOG.replace("10.0.0.2", "10.0.0.3"))

    ended = read(place, "two", "more.csv")

    assert ended.returncode == 1
    assert "its identifiers were hashed with another key" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert read(place, "one", "more.csv").returncode == 0


def test_no_key_is_one_line_that_says_which_variable_to_set(place):
    ended = read(place, "")

    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "GAMEWARDEN_KEY is empty; set this environment variable" in ended.stderr
    assert not (place / "lake").exists()


def test_a_hashed_log_is_known_again_and_when_it_has_grown(place):
    read(place, "one")

    assert "it has not changed" in read(place, "one").stdout
    (place / "log.csv").write_text(LOG + "e,50,k,10.0.0.1,\n")
    assert read(place, "one").returncode == 0
    rows = frame(lake_at(place).events()).sort("at")
    assert rows.height == 5
    assert rows["ip"][4] == rows["ip"][0]


def test_a_log_that_was_read_with_its_identifiers_is_not_read_again_without(place):
    (place / "warden.toml").write_text(SETTINGS.replace("ip, session", ""))
    assert read(place, "one").returncode == 0
    (place / "warden.toml").write_text(SETTINGS)

    assert "read with another mapping" in read(place, "one").stderr


def test_each_different_text_is_hashed_once(place, monkeypatch):
    monkeypatch.setenv("GAMEWARDEN_KEY", "one")
    log = HashedLog(EventFile(place / "log.csv").numbered(), Privacy(hash="ip"))
    hashed = []
    usual = log._digest
    monkeypatch.setattr(log, "_digest", lambda text: hashed.append(text) or usual(text))

    (batch,) = log.batches(["actor", "ip", "session"])

    assert sorted(hashed) == ["10.0.0.1", "10.0.0.2"]
    assert batch.column("session").to_pylist() == ["s1", "s2", None, "s1"]


def test_only_identifiers_can_be_hashed():
    assert set(IDENTIFIERS) < TEXT_COLUMNS
    with pytest.raises(ConfigError, match=r"\[privacy\] hash names 'actor'; it is one or more of character"):
        config_from({"privacy": {"hash": "ip,actor"}}, "warden.toml")

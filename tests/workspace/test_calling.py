"""Humans on call in a workspace: found in packets and in events at rest, marked in the ledger, and unmarked again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from challenges_made_up import seeded
from commands import done
from gamewarden.cases import PASSED, AuditLine, Challenge, Exonerated, Suspicion
from gamewarden.features.self_similarity.rolling import rolling
from gamewarden.lab.world.sending import dice_for, packets_of
from gamewarden.lab.world.traffic import sender_like
from gamewarden.workspace.calling import LOGS, PACKETS, Calling
from gamewarden.workspace.place import Workspace

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LATER = NOW + timedelta(days=1)
TEST = timedelta(seconds=160)


def passed(actor, at=NOW):
    return Challenge(f"{actor} {at}", actor, "s", "image", at, at + 3 * MINUTE, "", PASSED, 1, at + TEST)


def suspected(actor):
    return Suspicion(actor, 3.0, 3, NOW, NOW)


def home_with(place, sources, detector, labels):
    """A workspace that has taken in a source, with a model of a detector."""
    place.mkdir()
    pl.DataFrame(labels, schema=["actor", "bot"], orient="row").write_csv(place / "labels.csv")
    settings = f'[workspace]\nlabels = "labels.csv"\n{sources}'
    (place / "warden.toml").write_text(settings, encoding="utf-8")
    done("run", cwd=place)
    done("fit", *detector, "--labels", "labels.csv", "--to", "models", cwd=place)
    done("run", cwd=place)
    return Workspace.at(place)


def asked(workspace, challenges):
    with workspace.ledger.writing("test", NOW) as work:
        work.add(challenges)
        work.add([suspected(one.actor) for one in challenges])


def sent(kind, number):
    """Two hours of packets of a person, a program, or a program that calls a person for its tests."""
    persona = ("newbie", "casual", "grinder", "hard-core")[number % 4] if kind == "person" else "farmer"
    name, start = f"{kind}{number}", NOW - 40 * MINUTE
    packets = packets_of(sender_like(persona, name), micros(start), 7200, dice_for(5, number))
    for place, test in enumerate(rounds(name) if kind == "called" else []):
        inside = (pl.col("at") >= test.issued) & (pl.col("at") < test.ended)
        person = sender_like("casual", name)
        fetched = packets_of(person, micros(test.issued), TEST.total_seconds(), dice_for(6, 10 * number + place))
        packets = pl.concat([packets.filter(~inside), fetched])
    return packets


def rounds(actor):
    return [passed(actor, NOW), passed(actor, NOW + 40 * MINUTE)]


def micros(moment):
    return int(moment.timestamp()) * 1_000_000


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    place = tmp_path_factory.mktemp("calling")
    crowd = [
        (kind, number) for kind, many in (("person", 12), ("program", 12), ("called", 6)) for number in range(many)
    ]
    packets = pl.concat([sent(kind, number) for kind, number in crowd]).sort("at", maintain_order=True)
    packets.write_parquet(place / "packets.parquet")
    source = f'[[source]]\nname = "net"\nlocator = "{place}/packets.parquet"\nkind = "packets"\n'
    labels = [(f"{kind}{number}", kind == "program") for kind, number in crowd if kind != "called"]
    workspace = home_with(
        place / "home", source, ("traffic", place / "packets.parquet", "--tree", "majority", "--no-thresholds"), labels
    )
    asked(workspace, [test for kind, number in crowd for test in rounds(f"{kind}{number}")])
    return workspace


def marked(workspace):
    return {one.actor for one in workspace.ledger.find(Suspicion, on_call=True)}


@pytest.mark.integration
def test_packets_at_rest_show_who_is_called_and_the_ledger_is_told_once(network):
    settled = []
    found = Calling(network, LATER, lambda _work, actors: settled.extend(actors)).look()
    again = Calling(network, LATER, lambda _work, actors: settled.extend(actors)).look()

    names = {one.found.actor for one in found}
    assert found == again
    assert {one.family for one in found} == {PACKETS}
    assert len(names & {f"called{number}" for number in range(6)}) >= 3
    assert not any(name.startswith("person") for name in names)
    assert marked(network) == names
    assert sorted(settled) == sorted(names)
    lines = network.ledger.find(AuditLine, what="human on call")
    assert {line.subject for line in lines} == names
    assert len(lines) == len(names)


def test_a_mark_goes_when_nothing_carries_it_any_more(network):
    Calling(network, LATER).look()
    before = marked(network)
    one = min(before)
    with network.ledger.writing("gm", LATER) as work:
        work.add([Exonerated(one, None, None, (), "an appeal", LATER)])
    Calling(network, LATER).look()
    cleared = marked(network)
    Calling(network, NOW + timedelta(days=40)).look()

    assert cleared == before - {one}
    assert marked(network) == set()


def minutes_of(name, seed, since, count, *, steady):
    """Events of some minutes: the same in each, or what a person's mood brings."""
    chance, rows = np.random.default_rng(seed), []
    kinds = ["combat.kill", "item.pickup", "move", "chat.say", "trade.give", "item.use", "skill.use", "quest.done"]
    for number in range(count):
        at = since + number * MINUTE
        weights = np.ones(8) if steady else chance.dirichlet(np.full(8, 0.5))
        counts = [4, 4, 4, 4, 0, 0, 0, 0] if steady else chance.multinomial(20, weights)
        told = [kind for kind, times in zip(kinds, counts, strict=True) for _ in range(times)]
        rows += [(name, at + timedelta(seconds=2 * place), kind) for place, kind in enumerate(told)]
    return pl.DataFrame(rows, schema=["actor", "at", "kind"], orient="row")


def test_events_at_rest_show_a_macro_whose_owner_is_called(tmp_path):
    begin = NOW - 60 * MINUTE
    people = [minutes_of(f"person{n}", n, begin, 120, steady=False) for n in range(14)]
    macros = [minutes_of(f"macro{n}", n, begin, 120, steady=True) for n in range(14)]
    inside = (pl.col("at") >= NOW) & (pl.col("at") < NOW + 9 * MINUTE)
    lively = minutes_of("called", 99, NOW, 9, steady=False)
    called = pl.concat([minutes_of("called", 1, begin, 120, steady=True).filter(~inside), lively])
    pl.concat([*people, *macros, called]).sort("at").write_parquet(tmp_path / "events.parquet")
    source = f'[[source]]\nname = "game"\nlocator = "{tmp_path}/events.parquet"\n'
    labels = [(f"{kind}{n}", kind == "macro") for kind in ("person", "macro") for n in range(14)]
    workspace = home_with(tmp_path / "home", source, ("self-similarity", tmp_path / "events.parquet"), labels)
    long = [replace(passed(name), ended=NOW + 9 * MINUTE) for name in ("called", "person3", "macro3")]
    asked(workspace, long)

    found = Calling(workspace, LATER).look()
    assert [(one.family, one.found.actor) for one in found] == [(LOGS, "called")]
    assert marked(workspace) == {"called"}


def test_without_a_ledger_or_models_nobody_is_looked_for(tmp_path):
    (tmp_path / "warden.toml").write_text('[workspace]\nlake = "lake"\n', encoding="utf-8")

    assert Calling(Workspace.at(tmp_path), NOW).look() == []
    assert not (tmp_path / "ledger.db").exists()


def windows(cosines, empty=(), broken=None):
    since = [
        NOW + number * MINUTE + (MINUTE if broken is not None and number >= broken else 0 * MINUTE)
        for number in range(len(cosines))
    ]
    events = [0 if number in empty else 5 for number in range(len(cosines))]
    return pl.DataFrame({"since": since, "until": [at + MINUTE for at in since], "events": events, "cosine": cosines})


def test_a_span_is_as_alike_as_its_windows_and_says_nothing_over_a_break_or_of_silence():
    chance = seeded(1)
    cosines = [chance.random() for _ in range(12)]
    plain = rolling(windows(cosines))

    assert plain["self_sim"].to_list() == pytest.approx(
        [1 - float(np.std(cosines[first : first + 5])) / 2 for first in range(8)]
    )
    assert plain["since"].to_list() == [NOW + number * MINUTE for number in range(8)]
    assert plain["until"].to_list() == [NOW + (number + 5) * MINUTE for number in range(8)]
    assert rolling(windows(cosines, broken=6)).height == 4
    assert rolling(windows(cosines, empty=(3,))).height == 8
    assert rolling(windows(cosines, empty=(3, 5)))["since"].to_list() == [
        NOW,
        *(NOW + n * MINUTE for n in (4, 5, 6, 7)),
    ]
    assert rolling(windows(cosines[:4])).height == 0

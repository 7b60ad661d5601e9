"""Packets of the synthetic world: what its senders promise."""

import numpy as np
import polars as pl
import pytest

from gamewarden.core.trees import TESTS
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.lab.world.personas import PERSONAS
from gamewarden.lab.world.sending import dice_for, over_the_network, packets_of, with_replies
from gamewarden.lab.world.traffic import TRACES, hiding, jittering, padding, person, program, sender_like
from gamewarden.tables import PACKETS, FramePackets, check
from packets_made_up import START

HOUR = 3600


def sent(sender, seed=5, seconds=HOUR):
    return packets_of(sender, START, seconds, dice_for(seed, 0))


def lag_one(packets):
    sizes = packets["size"].to_numpy().astype(float)
    return float(np.corrcoef(sizes[1:], sizes[:-1])[0, 1])


def flagged(packets, answer="bot"):
    return TrafficTest().measure(FramePackets(packets))[answer].fill_null(value=False).mean()


@pytest.mark.parametrize("sender", TRACES.values(), ids=list(TRACES))
def test_a_sender_sends_packets_in_order_within_its_time(sender):
    packets = check(sent(sender), PACKETS, "test")

    assert packets["at"].is_sorted()
    assert packets["at"].to_physical().is_between(START, START + HOUR * 1_000_000).all()
    assert packets["up"].all()


def test_one_seed_gives_the_same_packets_and_another_gives_others():
    assert sent(TRACES["M1"]).equals(sent(TRACES["M1"]))
    assert not sent(TRACES["M1"]).equals(sent(TRACES["M1"], seed=6))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", TRACES)
def test_lengths_go_together_for_people_and_alternate_for_programs(name, seed):
    correlation = lag_one(sent(TRACES[name], seed, 2 * HOUR))

    assert correlation < -0.05 if TRACES[name].bot else correlation > 0.05


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_test_is_about_as_good_on_the_eight_traces_as_published_and_the_tree_better_than_each_test(seed):
    corpus = pl.concat([packets_of(s, START, 2 * HOUR, dice_for(seed, at)) for at, s in enumerate(TRACES.values())])
    windows = TrafficTest().measure(FramePackets(corpus)).with_columns(pl.col(TESTS).fill_null(value=False))
    truth = windows["actor"].is_in([name for name, sender in TRACES.items() if sender.bot])
    right = {answer: (windows[answer] == truth).mean() for answer in (*TESTS, "bot")}
    seconds = (windows["until"] - windows["since"]).dt.total_milliseconds() / 1000

    assert 0.81 < right["bot"] < 0.90
    assert all(0.70 < right[test] < 0.84 for test in TESTS)
    assert right["bot"] > 0.04 + max(right[test] for test in TESTS)
    assert 33 < seconds.mean() < 37


def test_hiding_in_one_dimension_is_caught_more_often_than_in_both():
    bot = program("bot", alone=True, favourable=True)
    plain, jitters, pads, both = (
        flagged(sent(one, 3, 4 * HOUR)) for one in (bot, jittering(bot), padding(bot), hiding(bot))
    )

    assert plain > jitters > both
    assert plain > pads > both


def test_padding_only_adds_bytes_and_jittering_only_costs_packets():
    bot = program("bot", alone=False, favourable=True)
    plain, jitters, pads = sent(bot), sent(jittering(bot)), sent(padding(bot))

    assert (pads["size"] >= plain["size"]).all()
    assert pads["at"].equals(plain["at"])
    assert jitters.height < 0.95 * plain.height


def test_without_the_assumed_experience_beginners_and_experts_send_alike():
    beginner, expert = (sent(person("p", hours, experience=0.0)) for hours in (10, 2000))

    assert beginner.equals(expert)
    assert not sent(person("p", 10)).equals(sent(person("p", 2000)))


def test_the_server_sees_the_same_lengths_later_and_in_order():
    packets = pl.concat([sent(TRACES["M1"]), sent(TRACES["SS1"])]).sort("at", maintain_order=True)

    seen = over_the_network(packets, dice_for(1, 0, 3))

    assert seen.drop("at").equals(packets.drop("at"))
    assert (seen["at"] > packets["at"]).all()
    assert all(part["at"].is_sorted() for part in seen.partition_by("actor"))


def test_replies_come_from_the_server_and_change_no_client_packet():
    packets = sent(TRACES["X1"])

    both = with_replies(packets, dice_for(1, 0, 2))

    assert both.filter("up").equals(packets)
    assert both.height > 1.4 * packets.height


@pytest.mark.parametrize("persona", PERSONAS, ids=lambda persona: persona.name)
def test_every_persona_sends_as_what_it_is(persona):
    sender = sender_like(persona.name, "u1")

    assert (sender.name, sender.bot) == ("u1", persona.bot)

"""What training sees is what the test sees."""

from dataclasses import fields, replace

import polars as pl
import pytest

from gamewarden.errors import MeasureError
from gamewarden.features.traffic.details import LAYOUTS, TrafficDetails
from gamewarden.features.traffic.recipe import TrafficTest
from gamewarden.tables import FramePackets
from packets_made_up import mixture
from traffic_reference import correlation


@pytest.fixture(scope="module")
def frame():
    return mixture(packets=5000)


@pytest.mark.parametrize("layout", [*LAYOUTS, (4, 4)])
def test_every_layout_has_the_windows_and_counts_of_the_test_itself(frame, layout):
    acn, acv = layout
    test = TrafficTest(win=acv * (acn + 1), acn=acn, acv=acv)
    details = TrafficDetails(test, LAYOUTS).measure(FramePackets(frame, 700)).filter(acn=acn, acv=acv)
    measured = test.measure(FramePackets(frame))

    def over(column, threshold):
        return pl.col(column).list.eval(pl.element() > threshold).list.sum().cast(pl.Int64)

    counted = details.select(
        *("actor", "since", "until", "window"),
        gaps_over_1=over("gaps", test.itthr1),
        gaps_over_2=over("gaps", test.itthr2),
        sizes_over_1=over("sizes", test.dlthr1),
        sizes_over_2=over("sizes", test.dlthr2),
        votes=pl.col("correlations").list.eval(pl.element() < test.acthr).list.sum().cast(pl.Int64),
        valid=pl.col("correlations").list.drop_nulls().list.len().cast(pl.Int64),
    )
    assert measured.height > 20
    assert counted.equals(measured.select(counted.columns))


def test_correlations_are_those_of_the_reference_bit_for_bit(frame):
    details = TrafficDetails().measure(FramePackets(frame))

    for row in details.select("acn", "sizes", "correlations").iter_rows(named=True):
        step = row["acn"] + 1
        parts = [row["sizes"][begin : begin + step] for begin in range(0, len(row["sizes"]), step)]
        assert row["correlations"] == [correlation(part) for part in parts]


def test_the_first_window_of_a_session_has_one_gap_less(frame):
    details = TrafficDetails().measure(FramePackets(frame)).filter(window=0)

    assert (details["gaps"].list.len() == details["events"] - 1).all()


def test_no_packets_give_no_rows(frame):
    assert TrafficDetails().measure(FramePackets(frame.clear())).height == 0
    assert TrafficDetails().measure(FramePackets(frame.with_columns(up=pl.lit(False)))).height == 0


def test_the_layout_of_the_start_comes_first_and_once():
    assert TrafficDetails().layouts == LAYOUTS
    start = TrafficTest(win=102, acn=33, acv=3)

    assert TrafficDetails(start).layouts == ((33, 3), (19, 5), (9, 9), (9, 11), (13, 7))


def test_a_recipe_comes_back_from_its_own_values():
    recipe = TrafficDetails(replace(TrafficTest(), itrt1=2), ((9, 9),))

    assert TrafficDetails.from_dict(recipe.to_dict()) == recipe
    assert all(option.metadata["also"] and option.metadata["says"] for option in fields(TrafficDetails))


@pytest.mark.parametrize("values", [{}, {"start": {}, "layouts": [[1]]}, {"start": {"win": 7}, "layouts": []}])
def test_other_values_are_refused(values):
    with pytest.raises(MeasureError, match="traffic"):
        TrafficDetails.from_dict(values)


def test_a_layout_the_test_cannot_run_with_is_refused():
    with pytest.raises(MeasureError, match="2 pairs"):
        TrafficDetails(layouts=((1, 5),))

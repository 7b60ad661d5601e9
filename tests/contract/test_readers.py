"""What every reader of event logs promises, plain and packed, whatever its format."""

import gzip
import json

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from gamewarden import readers
from gamewarden.tables import EVENTS, check


def as_csv(frame):
    return frame.write_csv(datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ").encode()


def as_jsonl(frame):
    times = frame.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"))
    return b"".join(json.dumps(row).encode() + b"\n" for row in times.iter_rows(named=True))


def as_parquet(frame):
    from io import BytesIO

    frame.write_parquet(buffer := BytesIO())
    return buffer.getvalue()


WRITERS = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}
PACKINGS = {"plain": bytes, "gz": gzip.compress, "zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True)}


def test_every_reader_has_a_writer_here_so_that_it_is_tested():
    assert set(readers.NAMES) == set(WRITERS)


@pytest.fixture(
    scope="module", params=[(name, packing) for name in readers.NAMES for packing in PACKINGS], ids="-".join
)
def opened(request, play, tmp_path_factory):
    """The log written in one format and packing, with the reader that opens it."""
    name, packing = request.param
    path = tmp_path_factory.mktemp("reader") / "log"
    path.write_bytes(PACKINGS[packing](WRITERS[name](play)))
    return lambda: readers.open_as(name, path)


def everything(stream, columns):
    batches = list(stream.batches(columns))
    assert all(batch.schema.names == list(columns) for batch in batches)
    return pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches))).with_columns(
        pl.col(pl.Categorical).cast(pl.String)
    )


def test_events_come_back_as_they_were_written(opened, play):
    stream = opened()
    back = everything(stream, list(EVENTS.columns))

    assert_frame_equal(check(back, EVENTS, "contract"), check(play, EVENTS, "contract"))
    assert set(play.columns) <= stream.columns


def test_a_stream_can_be_read_again_and_gives_the_same(opened):
    stream = opened()

    assert everything(stream, ["actor", "at"]).equals(everything(stream, ["actor", "at"]))


def test_only_the_columns_asked_for_come_in_the_order_asked_for(opened, play):
    back = everything(opened(), ["kind", "level", "actor"])

    assert back.columns == ["kind", "level", "actor"]
    assert back.height == play.height


def test_a_column_the_source_lacks_is_null(opened):
    assert everything(opened(), ["actor", "amount"])["amount"].null_count() > 0

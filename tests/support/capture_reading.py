"""Packets of a small capture, read back."""

import polars as pl
import pyarrow as pa

from capture_bytes import (
    pcap,
)
from gamewarden.readers.captures.packets import open_packets


def read(tmp_path, data, name="a.pcap", **options):
    path = tmp_path / name
    path.write_bytes(data)
    stream = open_packets(path, **options)
    return frame_of(stream), stream.report


def frame_of(stream):
    batches = list(stream.batches())
    if not batches:
        return pl.DataFrame(schema={"actor": pl.String, "at": pl.Int64, "up": pl.Boolean, "size": pl.Int32})
    frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(batches)))
    return frame.with_columns(pl.col("actor").cast(pl.String), pl.col("at").dt.epoch("us"))


def sizes(tmp_path, frames, **options):
    frame, _ = read(tmp_path, pcap(frames), **options)
    return [(size if is_up else -size) for is_up, size in frame.select("up", "size").iter_rows()]

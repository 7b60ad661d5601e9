"""The columns every packet reader delivers."""

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("actor", pa.dictionary(pa.int32(), pa.string())),
        ("at", pa.timestamp("us", "UTC")),
        ("up", pa.bool_()),
        ("size", pa.int32()),
    ]
)

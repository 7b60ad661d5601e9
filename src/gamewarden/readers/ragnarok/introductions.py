"""How a Ragnarok client says who it is: its connect message has the number of the account."""

from collections.abc import Callable

import numpy as np

from gamewarden.errors import ConfigError
from gamewarden.readers.captures.introductions import FIRST_BYTES, Said
from gamewarden.readers.ragnarok import kernel
from gamewarden.readers.ragnarok.batches import CONNECT, layout_of
from gamewarden.readers.ragnarok.message_table import MessageTable


def connect_messages(db: MessageTable) -> Callable[[bytes], Said]:
    """Finds the account in the first bytes of a connection, as a message table says where it stands.

    Raises:
        ConfigError: the table has no connect message, or does not say where its account stands.
    """
    if not any("account" in entry.fields for entry in db.of(CONNECT)):
        raise ConfigError(
            f"{db.name}: says of no message that it connects ({CONNECT}) and where its account stands; "
            "name the server's table with --packet-db"
        )
    layout = layout_of(db).array
    rows = kernel.new_rows(FIRST_BYTES // 2)  # no message has fewer than two bytes

    def listen(data: bytes) -> Said:
        state = np.zeros(kernel.STATE_WORDS, np.int64)
        ends, times = np.array([len(data)], np.int64), np.zeros(1, np.int64)
        _, _, status, _ = kernel.scan_plain(
            np.frombuffer(data, np.uint8), 0, len(data), ends, times, 0, layout, state, rows, 0
        )
        accounts = rows.account[: int(state[kernel.OPENED])]
        known = accounts[accounts != kernel.NOT_TOLD]
        return Said(str(known[0])) if len(known) else Said(more=status == kernel.NEEDS_BYTES)

    return listen

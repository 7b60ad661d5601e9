"""The packets of the thesis, for streams that come without a table: lengths and places of the 2008 client.

Facts from Cornelissen's appendices, checked against the tables of that time. The tick of the connect message stands at
byte 21, as the thesis' own dump shows, though the tables of the day say 18.
"""

from gamewarden.readers.ragnarok.message_table import DYNAMIC, Entry, MessageTable

THESIS = "the thesis' profile"
_PACKETS: tuple[tuple[int, int, str, tuple[int, ...]], ...] = (
    (0x0072, 25, "useskilltoid", (6, 10, 21)),
    (0x007D, 2, "loadendack", ()),
    (0x0085, 11, "changedir", (7, 10)),
    (0x0089, 8, "ticksend", (4,)),
    (0x008C, 11, "getcharnamerequest", (7,)),
    (0x0090, 7, "npcclicked", (2,)),
    (0x0094, 14, "movetokafra", (7, 10)),
    (0x0096, DYNAMIC, "wis", (2, 4, 28)),
    (0x009B, 26, "wanttoconnection", (4, 9, 17, 21, 25)),
    (0x009F, 14, "useitem", (4, 10)),
    (0x00A7, 8, "walktoxy", (5,)),
    (0x00A9, 6, "equipitem", (2, 4)),
    (0x00B2, 3, "restart", (2,)),
    (0x00B8, 7, "npcselectmenu", (2, 6)),
    (0x00B9, 6, "npcnextclicked", (2,)),
    (0x00BB, 5, "statusup", (2, 4)),
    (0x00C1, 2, "howmanyconnections", ()),
    (0x00C5, 7, "npcbuysellselected", (2, 6)),
    (0x00C8, DYNAMIC, "npcbuylistsend", (2, 4)),
    (0x00C9, DYNAMIC, "npcselllistsend", (2, 4)),
    (0x00E8, 8, "tradeadditem", (2, 4)),
    (0x00EF, 2, "tradecommit", ()),
    (0x00F5, 8, "takeitem", (4,)),
    (0x00F7, 22, "movefromkafra", (14, 18)),
    (0x0113, 22, "useskilltopos", (5, 9, 12, 20)),
    (0x0116, 10, "dropitem", (5, 8)),
    (0x0146, 6, "npccloseclicked", (2,)),
    (0x014D, 2, "guildcheckmaster", ()),
    (0x014F, 6, "guildrequestinfo", (2,)),
    (0x0190, 19, "actionrequest", (5, 18)),
    (0x021D, 6, "lesseffect", ()),
)


def advice_on_unknown(db: MessageTable) -> str:
    """What to do about an id this table does not have: the built-in one stands for a table nobody has named."""
    return "; name the server's table with --packet-db" if db.name == THESIS else db.advice


def thesis_profile() -> MessageTable:
    """The built-in table: what is understood when no other is named."""
    return MessageTable(THESIS, {packet[0]: Entry(*packet) for packet in _PACKETS})

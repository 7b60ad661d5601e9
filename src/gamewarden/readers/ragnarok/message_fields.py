"""What the positions of a message table mean, by the function the server calls.

Tables say where the parts of a message begin, never what they are; the order of the parts is the function's own and the
same in all versions, while places and even ids move (Cornelissen, appendix B and D).
"""

# Function -> its parts, in the order of the table's positions.
FIELDS: dict[str, tuple[str, ...]] = {
    "wanttoconnection": ("account", "character", "login", "tick", "sex"),
    "walktoxy": ("place",),
    "takeitem": ("target",),
    "actionrequest": ("target", "action"),
    "changedir": ("head", "direction"),
    "ticksend": ("tick",),
    "getcharnamerequest": ("target",),
    "npcclicked": ("target",),
    "npcselectmenu": ("target", "choice"),
    "npcnextclicked": ("target",),
    "npccloseclicked": ("target",),
    "npcbuysellselected": ("target", "choice"),
    "useitem": ("item", "account"),
    "equipitem": ("item", "slot"),
    "dropitem": ("item", "amount"),
    "movetokafra": ("item", "amount"),
    "movefromkafra": ("item", "amount"),
    "putitemtocart": ("item", "amount"),
    "getitemfromcart": ("item", "amount"),
    "movefromkafratocart": ("item", "amount"),
    "movetokafrafromcart": ("item", "amount"),
    "traderequest": ("target",),
    "tradeadditem": ("item", "amount"),
    "useskilltoid": ("level", "skill", "target"),
    "useskilltopos": ("level", "skill", "x", "y"),
    "wis": ("length", "name", "text"),
    "globalmessage": ("length", "text"),
    "restart": ("choice",),
    "statusup": ("status", "amount"),
    "guildrequestinfo": ("choice",),
}
# Where a table gives position 0, its server reads a layout that never moved.
FIXED: dict[str, tuple[int, ...]] = {
    "npcclicked": (2,),
    "npccloseclicked": (2,),
    "npcbuysellselected": (2, 6),
    "equipitem": (2, 4),
    "tradeadditem": (2, 4),
    "traderequest": (2,),
    "putitemtocart": (2, 4),
    "getitemfromcart": (2, 4),
    "movefromkafratocart": (2, 4),
    "movetokafrafromcart": (2, 4),
}
# What structs of today's servers call a part, and its bytes where they matter.
STRUCT_FIELDS: dict[str, frozenset[str]] = {
    "target": frozenset({"AID", "GID"}),
    "item": frozenset({"index"}),
    "amount": frozenset({"amount", "count"}),
    "choice": frozenset({"type"}),
    "slot": frozenset({"position"}),
    "place": frozenset({"dest"}),
}
PART_WIDTHS = {"target": 4, "item": 2, "place": 3}
# Bytes of an amount; of every other part they are the same in all messages.
_AMOUNT = 4
_SHORT_AMOUNTS = {"dropitem": 2, "statusup": 1}
# Functions that newer tables call otherwise.
_RENAMED = {"wismessage": "wis"}


def canonical(function: str) -> str:
    """A function's name as all tables are compared: in lower case, under its older name."""
    lower = function.lower()
    return _RENAMED.get(lower, lower)


def amount_width(function: str | None) -> int:
    """How many bytes an amount takes in a message of this function."""
    return _SHORT_AMOUNTS.get(function or "", _AMOUNT)

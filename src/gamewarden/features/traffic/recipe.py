"""The online traffic test: does this client send its packets like a person or like a program?

Hilaire, Kim, Kim, "How to deal with bot scum in MMORPGs?": every 100 client packets three tests answer, on the
autocorrelation of data lengths, on interarrival times and on data lengths, and a tree turns the answers into one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from gamewarden.contracts import PACKET_COLUMNS, Sight, StreamKind, canonical_json, digest
from gamewarden.core.durations import MINUTE, SECOND, span_text
from gamewarden.core.trees import NAMED, Tree
from gamewarden.errors import ConfigError, MeasureError
from gamewarden.features.plain import ANY_SIGHT, PlainFeature
from gamewarden.tables import FEATURES, TRAFFIC, DataType

if TYPE_CHECKING:
    from gamewarden.features.traffic.fold import Fold, WindowFold
    from gamewarden.features.traffic.kernel import Limits

ABSTAIN_AS = ("abstain", "human", "bot")
PUBLISHED = "published"  # the thresholds of Table II
PUBLISHED_WINDOW = 100  # packets, for which Table II counts long packets
_MOST_PACKETS = (1 << 16) - 1  # a window's counters have 16 bits
_MOST_PAIRS = 2047  # with the longest payload of 65,535 bytes every sum stays exact
_EXACT = 1 << 27  # pairs × bytes: then the products of a sub-window stay below 2^53


def _option(default: object, says: str, *also: object, written: str | None = None) -> Any:  # noqa: ANN401 - a dataclass field stands for its value
    """A field; `written` says how its value is written on the command line, where that is not plain."""
    metadata = {"also": also, "says": says}
    if written is not None:
        metadata |= {"as": written, "shown": span_text(default) if isinstance(default, int) else str(default)}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class TrafficTest(PlainFeature):
    """One row a completed window of client packets: what the three tests and the tree say; by default Table II."""

    name: ClassVar[str] = "traffic"
    input: ClassVar[StreamKind] = "packets"
    requires: ClassVar[tuple[str, ...]] = PACKET_COLUMNS
    optional: ClassVar[Mapping[str, str]] = {}
    tied: ClassVar[tuple[Mapping[str, int], ...]] = ({"win": 110, "acn": 9, "acv": 11},)  # what changes together

    win: int = _option(100, "Client packets a decision: acv × (acn + 1).")
    acn: int = _option(19, "Pairs of neighbouring lengths in a sub-window.")
    acv: int = _option(5, "Sub-windows that vote on a decision.")
    acthr: float = _option(-0.15, "A sub-window says bot below this autocorrelation.", -0.3, 0.0)
    itthr1: int = _option(2 * SECOND, "A gap longer than this is outside the regularity zone.", SECOND, written="span")
    itthr2: int = _option(6 * SECOND, "A gap longer than this is a peak.", 3 * SECOND, written="span")
    itrt1: int = _option(1, "With fewer long gaps than this the packets are regular.", 0, 3)
    itrt2: float = _option(0.3, "With a larger share of peaks among the long gaps there is a peak.", 0.1, 0.5)
    dlthr1: int = _option(59, "The upper threshold of lengths, in bytes.", 40)
    dlthr2: int = _option(50, "The lower threshold of lengths, in bytes.", 30)
    dlrt1: int = _option(1, "Bots send fewer packets than this over the upper threshold.", 3)
    dlrt2: int = _option(7, "Bots send fewer packets than this over the lower threshold.", 15)
    tree: Tree = _option(  # noqa: RUF009 - it makes a field
        NAMED["majority"],
        "What the three answers say together.",
        *(tree for name, tree in NAMED.items() if name != "majority"),
        written="tree",
    )
    abstain_as: str = _option("abstain", "What a sub-window of equal lengths counts as.", "human", "bot")
    session_gap: int = _option(10 * MINUTE, "A longer silence ends the session and the window.", MINUTE, written="span")
    scaled: bool = _option(False, "Counts of long packets are for 100 packets and grow with the window.", True)

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            MeasureError: the test cannot be run with these numbers.
        """
        for bad, says in (
            (self.acn < 2, f"acn is {self.acn}; a correlation needs 2 pairs"),  # noqa: PLR2004 - two points make a line
            (self.acn > _MOST_PAIRS, f"acn is {self.acn}; up to {_MOST_PAIRS} pairs the sums stay exact"),
            (self.acv < 1, f"acv is {self.acv}; one sub-window has to vote"),
            (
                self.win != self.acv * (self.acn + 1),
                f"win is {self.win}, but acv × (acn + 1) is {self.acv * (self.acn + 1)}; they must be equal",
            ),
            (self.win > _MOST_PACKETS, f"win is {self.win}; a window has at most {_MOST_PACKETS} packets"),
            (self.itthr1 < 0, f"itthr1 is {self.itthr1} µs; it must be 0 or more"),
            (
                self.itthr2 < self.itthr1,
                f"itthr2 is {self.itthr2} µs, below itthr1 of {self.itthr1} µs; a peak is longer than a long gap",
            ),
            (self.session_gap < 1, f"session_gap is {self.session_gap} µs; it must be above 0"),
            (self.abstain_as not in ABSTAIN_AS, f"abstain_as is {self.abstain_as!r}; choose {', '.join(ABSTAIN_AS)}"),
            (not -1 <= self.acthr <= 1, f"acthr is {self.acthr}; a correlation is between -1 and 1"),
            (not 0 <= self.itrt2 <= 1, f"itrt2 is {self.itrt2}; a share is between 0 and 1"),
            *(
                (getattr(self, name) < 0, f"{name} is {getattr(self, name)}; it must be 0 or more")
                for name in ("itrt1", "dlthr1", "dlthr2", "dlrt1", "dlrt2")
            ),
        ):
            if bad:
                raise MeasureError(f"traffic: {says}")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know about this profile before trusting it."""
        doubts = []
        if self.acv % 2 == 0:
            doubts.append(f"acv is {self.acv}, an even number: a tied vote counts as human")
        if self.session_gap <= self.itthr2:
            doubts.append(
                f"session_gap {span_text(self.session_gap)} is not above itthr2 {span_text(self.itthr2)}: "
                "no gap can be a peak"
            )
        return tuple(doubts)

    @property
    def profile(self) -> str:
        """A short name of these numbers: "published", or a digest of them."""
        return PUBLISHED if self == TrafficTest() else digest(canonical_json(self.to_dict()))[:12]

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return {name: dtype for name, dtype in TRAFFIC.columns.items() if name not in FEATURES.columns}

    @property
    def longest(self) -> int:
        """The longest payload in bytes with which all sums stay exact."""
        return _EXACT // self.acn

    def fold(self, sight: Sight = ANY_SIGHT) -> "WindowFold":
        """Every player's state, and the windows that were completed."""
        from gamewarden.features.traffic.fold import WindowFold

        del sight
        return WindowFold(self)

    def live(self) -> "Fold":
        """The same test live: every player's state, which gives each window when it is completed and keeps none."""
        from gamewarden.features.traffic.fold import Fold

        return Fold(self)

    def limits(self) -> "Limits":
        """The profile as the kernel reads it."""
        from gamewarden.features.traffic.kernel import Limits

        numbers = {name: getattr(self, name) for name in Limits._fields if hasattr(self, name)}
        return Limits(
            **numbers
            | {
                "acthr": float(self.acthr),
                "itrt2": float(self.itrt2),
                "dlrt1": self._for_window(self.dlrt1),
                "dlrt2": self._for_window(self.dlrt2),
                "tree": self.tree.bits,
                "zero_variance": {"abstain": -1, "human": 0, "bot": 1}[self.abstain_as],
            }
        )

    def _for_window(self, count: int) -> int:
        """The least whole number of packets that reaches this share of the window."""
        return -(-count * self.win // PUBLISHED_WINDOW) if self.scaled else count

    def to_dict(self) -> dict[str, Any]:
        """The profile as JSON values, the tree as nested questions."""
        return {option.name: getattr(self, option.name) for option in fields(self)} | {"tree": self.tree.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The profile back from JSON values; what is not said is as in Table II.

        Raises:
            MeasureError: an option is unknown, or the test cannot be run with these numbers.
        """
        known = {option.name: option.default for option in fields(cls)}
        for name, value in values.items():
            if name not in known:
                raise MeasureError(f"traffic: the option {name!r} is unknown; there are {', '.join(known)}")
            if name != "tree" and not _fits(value, known[name]):
                raise MeasureError(f"traffic: {name} is {value!r}; it must be like {known[name]!r}")
        try:
            tree = {"tree": Tree.from_dict(values["tree"])} if "tree" in values else {}
        except ConfigError as error:
            raise MeasureError(f"traffic: {error}") from error
        return cls(**{**values, **tree})


def _fits(value: object, example: object) -> bool:
    if isinstance(example, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(example)

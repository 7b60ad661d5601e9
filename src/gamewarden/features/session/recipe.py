"""Play sessions of a Ragnarok client: how it moves, loots and fights, told from its decoded messages.

Cornelissen, "A modern Turing test: bot detection in MMORPGs": nine features a session; the turn angles are the thesis'
own proposal, and attacks that are not continued are counted there but never used.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

from gamewarden.contracts import Entity, Sight, StreamKind
from gamewarden.errors import MeasureError
from gamewarden.features.plain import ANY_SIGHT, PlainFeature
from gamewarden.phrases import Phrase
from gamewarden.phrases.sessions import PHRASES
from gamewarden.tables import FEATURES, SESSIONS, DataType

if TYPE_CHECKING:
    from gamewarden.features.session.fold import SessionFold

By = Literal["account", "character"]
# The features in the order of the published code, and what each is divided by in the published vector.
PUBLISHED_SCALE = {
    "packets_per_s": 1,
    "move_dx": 1,
    "move_dy": 1,
    "move_distance": 1,
    "move_gap_ms": 100,
    "take_gap_ms": 1000,
    "turn_to_take_ms": 1000,
    "attack_to_take_ms": 1000,
    "continuous_attacks_per_s": 1,
}
PROPOSED = ("turn_mean_deg", "turn_circular_variance", "turn_back_share", "once_attacks_per_s")


@dataclass(frozen=True)
class Sessions(PlainFeature):
    """One row a play session: packets a second, steps, gaps, attacks and turns (Cornelissen).

    A session lasts from one connect message to the next. It is valid above ten minutes, and there is enough of it when
    it has the moves and actions asked for; an action is an attack or a pick-up. Empty means not measured.
    """

    name: ClassVar[str] = "session"
    input: ClassVar[StreamKind] = "messages"
    requires: ClassVar[tuple[str, ...]] = ("session", "actor", "at", "function")
    optional: ClassVar[Mapping[str, str]] = {}

    paper_mode: bool = field(
        default=False,
        metadata={
            "also": (True,),
            "says": "As published: 7000 ms for none, gaps divided by 100 and 1000, the chain of moves never cut, "
            "a session ends when the next one connects, no gate of evidence; it implies --strict.",
        },
    )
    by: By = field(default="account", metadata={"also": ("character",), "says": "What stands in the column actor."})
    min_moves: int = field(default=50, metadata={"also": (0, 200), "says": "Moves a session needs to be enough."})
    min_actions: int = field(
        default=10, metadata={"also": (0, 40), "says": "Attacks and pick-ups a session needs to be enough."}
    )

    def __post_init__(self) -> None:
        """Check every option.

        Raises:
            MeasureError: a number is negative, or nobody can stand in the column actor.
        """
        if self.by not in get_args(By):
            raise MeasureError(f"session: by is {self.by!r}; choose {' or '.join(get_args(By))}")
        for name in ("min_moves", "min_actions"):
            if getattr(self, name) < 0:
                raise MeasureError(f"session: {name} is {getattr(self, name)}; it must be 0 or more")

    @property
    def schema(self) -> Mapping[str, DataType]:
        """The columns after actor, since, until and events."""
        return {name: dtype for name, dtype in SESSIONS.columns.items() if name not in FEATURES.columns}

    @property
    def phrases(self) -> Mapping[str, Phrase]:
        """The words for the numbers of a session."""
        return PHRASES

    @property
    def entity(self) -> Entity:
        """As `by` says."""
        return "character" if self.by == "character" else "actor"

    @property
    def strict(self) -> bool:
        """As published also means as strict: that reader gives a file up at the first id it does not know."""
        return self.paper_mode

    def fold(self, sight: Sight = ANY_SIGHT) -> "SessionFold":
        """A row of counters per session."""
        del sight
        from gamewarden.features.session.fold import SessionFold

        return SessionFold(self)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The recipe back from JSON values.

        Raises:
            MeasureError: an option is unknown or of another kind.
        """
        known = {option.name: option.default for option in fields(cls)}
        for name, value in values.items():
            if name not in known:
                raise MeasureError(f"session: the option {name!r} is unknown; there are {', '.join(known)}")
            if type(value) is not type(known[name]):
                raise MeasureError(f"session: {name} is {value!r}; it must be like {known[name]!r}")
        return cls(**values)

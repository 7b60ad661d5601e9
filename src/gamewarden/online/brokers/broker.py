"""What a worker asks of a broker, and what a broker tells a worker: messages, and whose a partition is.

Who has which partition is never decided here: Kafka's consumer group does, or whoever starts the workers.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from gamewarden.errors import ReadError


class Message(NamedTuple):
    """What came, and where it stands in its partition."""

    partition: int
    offset: int
    value: bytes


class Reach(NamedTuple):
    """What a partition holds: from its first offset to before the one that comes next."""

    first: int
    next: int


class Owner(Protocol):
    """Who works on partitions, and is told which."""

    def at_rest(self) -> Sequence[int]:
        """The partitions of which there are states, whoever works on them."""

    def gain(self, partitions: Sequence[int]) -> None:
        """These are ours from now on."""

    def hand_over(self, partitions: Sequence[int]) -> None:
        """These are ours until this returns."""

    def lose(self, partitions: Sequence[int]) -> None:
        """These may be somebody else's already: nothing of them is written any more."""


class Broker(Protocol):
    """A topic that somebody else keeps; all that waits does so in `poll`."""

    @property
    def source(self) -> str:
        """What it is called in sentences."""

    @property
    def identity(self) -> str:
        """What tells this topic from another of the same name, as far as the broker says."""

    @property
    def partitions(self) -> int | None:
        """How many the topic has; None where the broker does not say."""

    @property
    def trouble(self) -> str | None:
        """What goes wrong on the way to the broker, where it is tried again."""

    def poll(self, owner: Owner, seconds: float) -> Sequence[Message]:
        """Messages of the partitions that were started, each partition's in order; the owner is told of changes.

        Raises:
            ReadError: what a partition needs next has expired, or the broker refuses us.
        """

    def reach(self, partition: int) -> Reach | None:
        """What the partition holds; None where the broker does not say yet."""

    def remembered(self, partition: int) -> int | None:
        """The offset that the broker was told last; None where there is none."""

    def start(self, partition: int, offset: int) -> bool:
        """Let messages come from this offset on; False where that is not possible yet."""

    def stop(self, partition: int) -> None:
        """Let no more come."""

    def empty_until(self, partition: int) -> int | None:
        """An offset before which nothing is left to read, where the broker can say one."""

    def remember(self, offsets: Mapping[int, int]) -> None:
        """Tell the broker where we stand, for the eyes of those who look there; we go by our own states."""

    def lag(self, partition: int) -> int | None:
        """How many messages are yet to come, as far as is known."""

    def close(self) -> None:
        """Leave."""


class Publisher(Protocol):
    """A topic that rows are sent to."""

    @property
    def partitions(self) -> int:
        """How many there are."""

    def send(self, partition: int, value: bytes) -> None:
        """Send a message; those of one partition arrive in this order.

        Raises:
            WriteError: the broker does not take it.
        """

    def flush(self) -> None:
        """Wait until all of them have arrived.

        Raises:
            WriteError: one did not.
        """

    def close(self) -> None:
        """Leave."""


def expired(source: str, partition: int, expected: int, first: int, state: Path | None = None) -> ReadError:
    """What was to be read next is gone."""
    where = f" of {state}" if state is not None else ""
    return ReadError(
        f"{source}: partition {partition}: the state{where} goes on at offset {expected:,}, but the broker has nothing "
        f"before {first:,}: what came between has expired and was judged by nobody; let the broker keep messages for "
        "longer, move the partition's state away and add ?from=beginning to begin with what is there"
    )


def made_anew(source: str, partition: int, expected: int, end: int, state: Path) -> ReadError:
    """The topic is another one than before."""
    return ReadError(
        f"{source}: partition {partition}: the state {state} goes on at offset {expected:,}, but the broker has only "
        f"{end:,}: the topic was made anew, or is another; name the one the state was made with, or move the state "
        "away and add ?from=beginning"
    )

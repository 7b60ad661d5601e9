"""What a reading of decoded messages counted: each byte as part of a message, of a tag, or skipped for a reason."""

from dataclasses import dataclass, field

from gamewarden.core.text import counted
from gamewarden.readers.ragnarok import kernel

REASONS = {
    kernel.UNKNOWN_ID: "after an id the message table does not have",
    kernel.ZERO_LENGTH: "after an id the message table gives no length",
    kernel.BAD_LENGTH: "after a length no message can have",
    kernel.END_MARK: "after the mark that ends the stream",
}
CUT_OFF = "of a message that is cut off"
AFTER_LOSS = "after bytes that were not captured, up to a place where messages begin"
JOINED = "of a connection joined midway, up to a place where messages begin"

REUSED = "of a connection that began with the sequence number of the one before it"


@dataclass
class MessageReport:
    """Counts for people; `taken` + `tags` + all of `skipped` is every byte there was."""

    source: str
    advice: str = ""  # what to do about an id the message table does not have
    messages: int = 0
    sessions: int = 0
    taken: int = 0
    tags: int = 0
    lost: int = 0  # bytes of TCP streams that were never captured
    resumed: int = 0  # times that reading went on behind something that could not be read
    skipped: dict[str, int] = field(default_factory=dict)
    problem: str | None = None  # the first thing that could not be read, with its place
    further: tuple[str, ...] = ()  # what the capture reader has to say

    @property
    def bytes(self) -> int:
        """All bytes that were there."""
        return self.taken + self.tags + sum(self.skipped.values())

    @property
    def damaged(self) -> bool:
        """Whether bytes were skipped or never captured, or something could not be read."""
        return bool(self.skipped or self.lost or self.problem)

    def skip(self, count: int, reason: str) -> None:
        """Account for bytes that could not be read."""
        if count:
            self.skipped[reason] = self.skipped.get(reason, 0) + count

    def notice(self, what: str) -> None:
        """Keep the first problem."""
        if self.problem is None:
            self.problem = f"{self.source}: {what}"

    def notice_unread(self, what: str, status: int | None) -> None:
        """Keep the first problem: with what to do where the message table lacks an id."""
        self.notice(what + (self.advice if status == kernel.UNKNOWN_ID else ""))

    def lines(self) -> list[str]:
        """The counts on one line, and the problem, if there is one, on another."""
        said = [
            f"{counted(self.messages, 'message')} in {counted(self.sessions, 'session')}, {counted(self.taken, 'byte')}"
        ]
        said += [f"{self.tags:,} bytes of tags"] * (self.tags > 0)
        said += [f"{counted(count, 'byte')} skipped {reason}" for reason, count in self.skipped.items()]
        said += [f"{counted(self.lost, 'byte')} not captured"] * (self.lost > 0)
        said += [f"resumed {counted(self.resumed, 'time')}"] * (self.resumed > 0)
        return [line for line in (*self.further, ", ".join(said), self.problem) if line]


class Reported:
    """A stream of messages that says what its latest reading counted."""

    report: MessageReport

    @property
    def notes(self) -> tuple[str, ...]:
        """What the latest reading counted, and where it had to stop."""
        return tuple(self.report.lines())

    @property
    def messages(self) -> int:
        """How many messages the latest reading gave."""
        return self.report.messages

    @property
    def sessions(self) -> int:
        """In how many sessions they were."""
        return self.report.sessions

    @property
    def damaged(self) -> bool:
        """Whether it had to skip something, or to stop."""
        return self.report.damaged

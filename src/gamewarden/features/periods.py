"""What features with a row per actor and period have in common: whose rows they are, and the times they speak of."""

from gamewarden.contracts import Divides, Entity
from gamewarden.core.clock import Clock
from gamewarden.core.durations import DAY, LONGEST_PERIOD, parse_zone, span_text
from gamewarden.errors import ConfigError, MeasureError
from gamewarden.features.plain import PlainFeature


class ByPeriod(PlainFeature):
    """A feature whose recipe has the options `by`, `every` and `time_zone`, in whatever place among its others."""

    @property
    def by(self) -> str:
        """What stands in the column actor: account or character."""
        return "account"

    @property
    def every(self) -> int:
        """Length of one period."""
        return DAY

    @property
    def entity(self) -> Entity:
        """As `by` says."""
        return "character" if self.by == "character" else "actor"

    @property
    def clock(self) -> Clock:
        """Its periods."""
        return Clock(self.every, self.time_zone or "UTC")

    @property
    def divides(self) -> Divides:
        """A period can be measured without the others."""
        return Divides(self.clock)

    def _check_every(self) -> None:
        if not 0 < self.every <= LONGEST_PERIOD:
            raise MeasureError(f"{self.name}: every is {span_text(self.every)}; ten years (3653d) are the most")

    def _check_windows(self, unit: int) -> None:
        """Stop over windows that do not fill a period."""
        if unit < 1 or self.every < 1 or self.every % unit:
            raise MeasureError(
                f"{self.name}: unit {span_text(unit)} does not divide every {span_text(self.every)}; "
                "take a unit that fits a whole number of times, such as 60s into 1d"
            )
        self._check_every()

    def _check_zone(self) -> None:
        if self.time_zone is not None:
            try:
                parse_zone(self.time_zone)
            except ConfigError as error:
                raise MeasureError(f"{self.name}: {error}") from error

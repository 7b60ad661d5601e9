"""What a number of a session means, in a sentence for a game master."""

from collections.abc import Mapping, Sequence

from gamewarden.learning.phrases import Phrase, Seen, says

PHRASES: Mapping[str, Phrase] = {
    "packets_per_s": Phrase(
        "Sends more packets than {humans}",
        "Sends a usual number of packets",
        "Sends fewer packets than {humans}",
        "{value} a second",
        "The stream has no times, so there is no rate of packets.",
        2,
    ),
    "move_dx": Phrase(
        "Goes farther east or west at a step than {humans}",
        "Goes as far east or west at a step as usual",
        "Goes less far east or west at a step than {humans}",
        "{value} cells",
        "It did not move twice.",
        1,
        has="a typical human goes",
    ),
    "move_dy": Phrase(
        "Goes farther north or south at a step than {humans}",
        "Goes as far north or south at a step as usual",
        "Goes less far north or south at a step than {humans}",
        "{value} cells",
        "It did not move twice.",
        1,
        has="a typical human goes",
    ),
    "move_distance": Phrase(
        "Takes longer steps than {humans}",
        "Takes steps of usual length",
        "Takes shorter steps than {humans}",
        "{value} cells",
        "It did not move twice.",
        1,
        has="a typical human goes",
    ),
    "move_gap_ms": Phrase(
        "Lets more time pass between two steps than {humans}",
        "Lets as much time pass between two steps as usual",
        "Steps again sooner than {humans}",
        "{value} ms",
        "It did not move twice within seven seconds.",
        has="a typical human needs",
    ),
    "take_gap_ms": Phrase(
        "Lets more time pass between two pick-ups than {humans}",
        "Lets as much time pass between two pick-ups as usual",
        "Picks up again sooner than {humans}",
        "{value} ms",
        "It did not pick up twice within seven seconds.",
        has="a typical human needs",
    ),
    "turn_to_take_ms": Phrase(
        "Takes longer from turning to picking up than {humans}",
        "Takes as long from turning to picking up as usual",
        "Is faster from turning to picking up than {humans}",
        "{value} ms",
        "It did not turn and then pick up within seven seconds.",
        has="a typical human needs",
    ),
    "attack_to_take_ms": Phrase(
        "Takes longer from the last blow to the first pick-up than {humans}",
        "Takes as long from the last blow to the first pick-up as usual",
        "Is faster from the last blow to the first pick-up than {humans}",
        "{value} ms",
        "It did not strike and then pick up within seven seconds.",
        has="a typical human needs",
    ),
    "continuous_attacks_per_s": Phrase(
        "Orders lasting attacks more often than {humans}",
        "Orders lasting attacks as often as usual",
        "Orders lasting attacks less often than {humans}",
        "{value} a second",
        "The stream has no times, so there is no rate of attacks.",
        3,
    ),
    "turn_mean_deg": Phrase(
        "Turns more sharply on its way than {humans}",
        "Turns on its way as usual",
        "Keeps its course more than {humans}",
        "{value} degrees",
        "It did not move three times in a row.",
        1,
        has="a typical human turns",
    ),
    "turn_circular_variance": Phrase(
        "Its turns vary more than those of {humans}",
        "Its turns vary as usual",
        "Its turns vary less than those of {humans}",
        "circular variance {value}",
        "It did not move three times in a row.",
        3,
    ),
    "turn_back_share": Phrase(
        "Turns back more often than {humans}",
        "Turns back as often as usual",
        "Turns back less often than {humans}",
        "{value} of 1",
        "It did not move three times in a row.",
        3,
    ),
    "once_attacks_per_s": Phrase(
        "Strikes single blows more often than {humans}",
        "Strikes single blows as often as usual",
        "Strikes single blows less often than {humans}",
        "{value} a second",
        "The stream has no times, so there is no rate of attacks.",
        3,
    ),
}
# As published, the vector holds tenths of a second between moves and seconds between the rest (Appendix E).
PUBLISHED_SCALE = {"move_gap_ms": 100.0, "take_gap_ms": 1000.0, "turn_to_take_ms": 1000.0, "attack_to_take_ms": 1000.0}


def sentence(name: str, value: float | None, percentiles: Sequence[float], *, as_published: bool) -> str:
    """One sentence on one number of a session, in milliseconds however the vector is scaled."""
    scale = PUBLISHED_SCALE.get(name, 1.0) if as_published else 1.0
    shown = None if value is None else value * scale
    return says(Seen(name, shown, [scale * one for one in percentiles]), PHRASES.get(name))

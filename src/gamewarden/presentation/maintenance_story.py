"""What maintenance did, period by period, in sentences."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from gamewarden.drift.flow import Record, as_written, auc_words, distrust, doubts_in, outside


def story(records: Iterable[Record]) -> Iterator[str]:
    """One line a step that says something; periods in which nothing happened are one line."""
    for number, record in enumerate(records, 1):
        with as_written(number):
            told = _TELLERS.get(record["step"], _nothing)(record)
            day = str(record["period"])[:10]
        if told:
            yield f"{day}  {told}"


def _nothing(_record: Record) -> str:
    return ""


def _begun(record: Record) -> str:
    return f"Maintenance begins with {record['model']}."


def _changed(record: Record) -> str:
    return f"Somebody put {record['model']} into force instead of {record['instead_of']}; the chart begins anew."


def _late(record: Record) -> str:
    if record["only_scored"]:
        return "Events of this period came late: it is scored, and what was decided since stays."
    return "Events of this period came late: it is taken up again."


def _watched(record: Record) -> str:
    notes = f"{_silent(record)}{' Marked: a ban wave.' if record['ban_wave'] else ''}{_doubted(record)}"
    match record["status"]:
        case "missing":
            return f"No X_t: {record['why_missing']}. Z stays.{notes}"
        case "learning":
            return f"X = {record['x']:.3f} over {record['common']:,} actors; the limits are still being learned.{notes}"
        case "in control":
            return f"In control: {_place(record)}.{notes}"
        case status:
            return f"Out of control, {status} its limit: {_place(record)}; {_answer(record)}.{notes}"


def _answer(record: Record) -> str:
    if record["signal"]:
        return "the model is retrained"
    if outside(record):
        return "these are the limits of a model before, so the model stays until it has its own"
    return "only lower excursions count, so nothing is done"


def _place(record: Record) -> str:
    kind = "provisional limits" if record["provisional"] else "limits"
    drawn = f"Z = {record['z']:.3f}, {kind} {record['lower']:.3f} to {record['upper']:.3f}"
    return f"X = {record['x']:.3f} over {record['common']:,} actors, {drawn}"


def _silent(record: Record) -> str:
    return f" Silent kinds: {', '.join(record['silent'][:5])}." if record["silent"] else ""


def _doubted(record: Record) -> str:
    return f" {distrust(record)}" if doubts_in(record) else ""


def _explained(record: Record) -> str:
    told = [f"{at}. {cause['says']}" for at, cause in enumerate(record["causes"], 1) if cause["strength"] >= 1]
    return "Possible causes: " + " ".join(told)


def _retrained(record: Record) -> str:
    if record["model"] is None:
        return f"No new model: {record['why_not'].rstrip('.')}."
    numbers = record["numbers"]
    return (
        f"Retrained as {record['model']} on {numbers['bots']:,} bots and {numbers['humans']:,} humans of the last "
        f"{numbers['periods']} periods."
    )


def _validated(record: Record) -> str:
    if record["valid"]:
        return f"Valid: {auc_words(record)}."
    return f"Invalid, so it scores nobody and the old model stays: {'; '.join(record['failures'])}."


def _promoted(record: Record) -> str:
    return f"{record['model']} is in force instead of {record['instead_of']}; Z and t begin anew."


def _rescored(record: Record) -> str:
    return f"The period was scored again: {record['flagged']:,} of {record['actors']:,} actors are flagged."


def _notified(record: Record) -> str:
    return " ".join(f"Operator ({one['outcome']}): {one['text']}" for one in record["messages"])


_TELLERS: Mapping[str, Callable[[Record], str]] = {
    "begin": _begun,
    "changed": _changed,
    "late": _late,
    "watch": _watched,
    "causes": _explained,
    "retrain": _retrained,
    "validate": _validated,
    "promote": _promoted,
    "rescore": _rescored,
    "notify": _notified,
}

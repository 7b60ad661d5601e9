"""How many decisions a second are decided in rehearsal, and recorded durably beside SQLite's own insert rate.

    python benchmarks/bench_decisions.py [--accounts 5000] [--days 14] [--decisions 20000] [--batch 1000] [--to DIR]

Deciding: accounts with a verdict per day and two challenges, half of them bots by all rules, a quarter suspects whose
evidence carries nothing and a quarter people; all from scratch, with nothing standing yet, and once more with all
that was decided standing. CPU-seconds of one thread.

Recording: the decisions are added to a ledger in batches, each a transaction that is on the disk when it ends, with a
line per decision in the audit that is bound to all lines before. The same rows go into a table with the same columns
and indices by sqlite3's executemany, in the same batches and with the same durability (WAL, synchronous=FULL), without
an audit. Both take turns; seconds are those of the clock, since durability is waiting for a disk.
"""

import argparse
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from gamewarden.cases import CHALLENGE, LADDER, VERDICT, Decision, Observation
from gamewarden.config import Config
from gamewarden.contracts import canonical_json
from gamewarden.core.durations import to_micros
from gamewarden.response.ladder import Case, Ladder, Outcome, climb
from gamewarden.store.ledger.ledger import Ledger as Book
from gamewarden.store.ledger.values import row_of

START = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)
DECIDED, RECORDED = 10_000, 1_000  # a second: what was promised
ROUNDS = 3


def seen(actor: str, days: int, llr: float, agree: int) -> Iterator[Observation]:
    """What is known of an account."""
    for day in range(days):
        since, until = START + day * DAY, START + (day + 1) * DAY
        told = {"fpr": 0.0005, "agree": agree, "covered": 1.0, "since": since, "until": until}
        yield Observation(f"{actor}-{day}", actor, until, VERDICT, f"v{actor}-{day}", llr, **told)
    for number in (1, 2):
        at = START + days / 2 * DAY + number * DAY / 24
        yield Observation(f"{actor}-c{number}", actor, at, CHALLENGE, f"c{actor}-{number}", llr / 3)


def cases(accounts: int, days: int) -> list[Case]:
    """Half of them bots, a quarter suspects whose evidence carries nothing, a quarter people."""
    kinds = [(6.0, 3), (-1.0, 0), (6.0, 3), (6.0, 0)]
    return [Case(f"a{n:06}", tuple(seen(f"a{n:06}", days, *kinds[n % 4])), None, ()) for n in range(accounts)]


def decide(ladder: Ladder, given: Sequence[Case], now: datetime) -> tuple[float, list[Outcome]]:
    """CPU-seconds, and what was decided."""
    begun = time.process_time()
    outcomes = [climb(ladder, case, now, rehearsal=True) for case in given]
    return time.process_time() - begun, outcomes


def batches(decisions: Sequence[Decision], size: int) -> Iterator[Sequence[Decision]]:
    """The decisions, so many at once."""
    return (decisions[place : place + size] for place in range(0, len(decisions), size))


def into_the_ledger(place: Path, decisions: Sequence[Decision], size: int) -> None:
    """Recorded as `decide` does."""
    ledger = Book.at(place / "ledger.db")
    for batch in batches(decisions, size):
        with ledger.writing(LADDER, START) as work:
            work.add(batch)
    ledger.close()


def into_sqlite(place: Path, decisions: Sequence[Decision], size: int) -> None:
    """The same rows by SQLite alone: what no ledger on it can be faster than."""
    connection = sqlite3.connect(place / "plain.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    names = list(row_of(decisions[0]))
    connection.execute(f"CREATE TABLE decisions (id TEXT PRIMARY KEY, {', '.join(names[1:])})")
    for column in ("actor", "at"):
        connection.execute(f"CREATE INDEX decisions_{column} ON decisions ({column})")
    marks = ", ".join("?" * len(names))
    for batch in batches(decisions, size):
        rows = [tuple(map(_plain, row_of(one).values())) for one in batch]
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(f"INSERT INTO decisions VALUES ({marks})", rows)  # noqa: S608  question marks alone
        connection.execute("COMMIT")
    connection.close()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return to_micros(value)
    return canonical_json(value) if isinstance(value, tuple) else value


def seconds(work: Callable[[Path], None], within: Path) -> tuple[float, float]:
    """Seconds of the clock and of CPU, in a directory of its own."""
    with TemporaryDirectory(dir=within) as place:
        began, cpu = time.perf_counter(), time.process_time()
        work(Path(place))
        return time.perf_counter() - began, time.process_time() - cpu


def show_deciding(ladder: Ladder, given: Sequence[Case], days: int) -> list[Decision]:
    """Print how fast it is decided; the decisions."""
    now = START + days * DAY
    spent, outcomes = decide(ladder, given, now)
    made = [one for outcome in outcomes for one in outcome.decisions]
    again = [
        Case(case.actor, case.observations, out.suspicion, out.decisions)
        for case, out in zip(given, outcomes, strict=True)
    ]
    twice, standing = decide(ladder, again, now + DAY)
    assert not any(outcome.decisions for outcome in standing)  # noqa: S101  what stands is not decided again
    rate = len(made) / spent
    print(f"{len(given):,} accounts with {days + 2} observations each: {len(made):,} decisions")
    print(f"decided in rehearsal   {rate:10,.0f} a second  {rate / DECIDED:5.1f} x the {DECIDED:,} promised")
    print(f"accounts looked at     {len(given) / spent:10,.0f} a second")
    print(f"  with all standing    {len(given) / twice:10,.0f} a second")
    return made


def show_recording(decisions: Sequence[Decision], size: int, within: Path) -> None:
    """Print how fast decisions are on the disk."""
    ways = {"ledger": into_the_ledger, "SQLite alone": into_sqlite}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            times[name].append(seconds(lambda place, way=way: way(place, decisions, size), within))
    clocks = {name: median(clock for clock, _ in told) for name, told in times.items()}
    print(f"\n{len(decisions):,} decisions in batches of {size:,}, medians of {ROUNDS} runs that take turns")
    for name, clock in clocks.items():
        cpu = median(cpu for _, cpu in times[name])
        ratio = clock / clocks["SQLite alone"]
        print(
            f"{name:<14} {len(decisions) / clock:10,.0f} a second  {ratio:5.1f} x the time of SQLite  {cpu:.2f} s CPU"
        )
    rate = len(decisions) / clocks["ledger"]
    print(f"recorded durably: {rate / RECORDED:.1f} x the {RECORDED:,} promised")


def main() -> None:
    """Decide, and record what was decided."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--accounts", type=int, default=5000)
    words.add_argument("--days", type=int, default=14)
    words.add_argument("--decisions", type=int, default=20_000)
    words.add_argument("--batch", type=int, default=1000)
    words.add_argument("--to", type=Path, help="A directory on the disk to be measured; the current one by default.")
    asked = words.parse_args()
    made = show_deciding(Ladder.of(Config()), cases(asked.accounts, asked.days), asked.days)
    for size in (asked.batch, 100, 1):
        some = made[: asked.decisions] if size > 1 else made[:500]
        show_recording(some, size, asked.to or Path())


if __name__ == "__main__":
    main()

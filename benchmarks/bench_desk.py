"""How long the pages of the desk take on a large workspace, while somebody else asks, too.

A small synthetic workspace is made and run, then grown (desk_fill.py) to as many accounts and days as are asked for:
sealed verdicts, features, scores and the desk's own tables rest as a run would leave them. The real server is started
as a process, and a second process asks for a fixed number of pages from several connections at once. What is printed
is the server's own time (the header Server-Timing) and the time on the wall, each at the median and the 95th
percentile, and the CPU a request, which others on the machine change little. Pages of other parts stand in the table
PAGES; rows per second of POST /events are of bench_push.py.

    python benchmarks/bench_desk.py                                   # 300,000 accounts × 30 days, some minutes
    python benchmarks/bench_desk.py --accounts 30000 --days 7
    python benchmarks/bench_desk.py --at DIR                          # in what an earlier run has left there
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from desk_fill import Fill
from gamewarden.desk.desk import Desk
from gamewarden.desk.people import first_admin
from gamewarden.desk.population import Span, judged_days, population
from gamewarden.desk.tokens import make_token
from gamewarden.notices import now
from gamewarden.workspace.place import Workspace

GAMEWARDEN = (sys.executable, "-m", "gamewarden")
MOST = 100.0  # milliseconds of the server for a page, at the 95th percentile
AT_ONCE = 2  # connections
EACH = 60  # requests for each page
# What is asked for. {actor} is an account that reaches a point, {day} the newest day, {zone} a zone.
PAGES: tuple[tuple[str, str], ...] = (
    ("overview", "/overview"),
    ("overview, newest week", "/overview?days=7"),
    ("map of a zone", "/overview/cells?zone={zone}"),
    ("accounts", "/accounts"),
    ("accounts, 200 rows", "/accounts?size=200"),
    ("accounts, suspected of a zone", "/accounts?zone={zone}&point=act&point=watch"),
    ("accounts, by money", "/accounts?sort=money_total&probability_from=0.5"),
    ("accounts, by text", "/accounts?q=0000"),
    ("accounts, by kind and level", "/accounts?kind=chat&level_from=40&sort=name&order=rising"),
    ("accounts, newest day", "/accounts?days=1"),
    ("values of a condition", "/facets?facet=zone&find=1"),
    ("account", "/accounts/{actor}"),
    ("account, reasons", "/accounts/{actor}/reasons"),
    ("account, hours", "/accounts/{actor}/hours"),
    ("account, mix", "/accounts/{actor}/mix"),
    ("account, trade", "/accounts/{actor}/trade"),
    ("account, timeline", "/accounts/{actor}/timeline"),
    ("review", "/review"),
    ("groups", "/groups"),
    ("decisions", "/decisions"),
    ("appeals", "/appeals"),
    ("models", "/models"),
    ("policy", "/policy"),
    ("sources", "/sources"),
    ("audit", "/audit"),
)


def main() -> int:
    """Print one line per page; 1 where one is too slow."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--accounts", type=int, default=300_000)
    asked.add_argument("--days", type=int, default=30)
    asked.add_argument("--at", type=Path, help="a directory that is kept")
    asked.add_argument("--each", type=int, default=EACH, help="requests for each page")
    asked.add_argument("--only", help="only pages whose name has this in it")
    asked.add_argument("--ask", nargs=3, metavar=("URL", "TOKEN", "EACH"), help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.ask:
        return ask(*options.ask)
    with tempfile.TemporaryDirectory() as made:
        place = options.at or Path(made)
        large = prepared(place, Fill(options.accounts, options.days))
        return measured(large, options.each, options.only or "")


def prepared(place: Path, fill: Fill) -> Workspace:
    """The large workspace, made where it is not there yet."""
    small, large = place / "small", place / "large"
    if not large.exists():
        begun = time.monotonic()
        subprocess.run([*GAMEWARDEN, "init", str(small), "--from", "demo"], check=True, stdout=subprocess.DEVNULL)
        line = [*GAMEWARDEN, "--workspace", str(small), "run"]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        fill.grow(Workspace.at(small), large)
        say(f"filled in {time.monotonic() - begun:.0f} s")
    return Workspace.at(large)


def measured(workspace: Workspace, each: int, only: str) -> int:
    """Start the server, ask for all pages, and say how long they took."""
    pages = dict(named(Desk(workspace), only))
    accounts = judged_days(Desk(workspace))
    rows = sum(day.partition.rows for day in accounts)
    say(f"{rows:,} account-days of {len(accounts)} days, on {os.cpu_count()} cores")
    token = token_of(workspace)
    with subprocess.Popen(
        [*GAMEWARDEN, "--workspace", str(workspace.root), "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as server:
        try:
            url = address_of(server)
            begun = time.monotonic()
            fetch(f"{url}/accounts", token, "text/html", 120)
            say(f"first list after {time.monotonic() - begun:.1f} s; {memory_of(server.pid):,} MiB")
            say(f"{'':34} ms of the server at the median and the 95th percentile, on the wall, and CPU a request")
            slow = [name for name, path in pages.items() if not is_quick(name, url + path, token, each, server.pid)]
            say(f"memory of the server: {memory_of(server.pid):,} MiB")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    say(f"slower than {MOST:g} ms: {', '.join(slow)}" if slow else f"every page is below {MOST:g} ms")
    return 1 if slow else 0


def named(desk: Desk, only: str) -> Iterator[tuple[str, str]]:
    """The pages with an account, a day and a zone of this workspace in their addresses."""
    people = population(desk, Span(1))
    one = (
        people.frame.filter(people.frame["verdict"].is_not_null())
        .sort("probability", descending=True)
        .row(0, named=True)
    )
    told = {"actor": one["actor"], "day": str(people.days[-1].date), "zone": str(one["zone"])}
    for name, path in PAGES:
        if only in name:
            yield name, path.format(**told)


def is_quick(name: str, url: str, token: str, each: int, server: int) -> bool:
    """Ask for a page, and for its JSON, from another process; say what it took."""
    told = {}
    for kind in ("html", "json"):
        line, before = [sys.executable, __file__, "--ask", url, f"{kind}:{token}", str(each)], cpu_of(server)
        told[kind] = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        told[kind]["cpu"] = (cpu_of(server) - before) * 1_000 / (each + 1)
    page, data = told["html"], told["json"]
    if "failed" in page:
        say(f"{name:34} {page['failed']}")
        return True
    quick = page["server"][1] <= MOST and data.get("server", (0, 0))[1] <= MOST
    figures = "   ".join(f"{kind}: {_figures(one)}" for kind, one in told.items())
    say(f"{name:34} {figures}{'' if quick else '   TOO SLOW'}")
    return quick


def _figures(told: dict[str, Any]) -> str:
    if "failed" in told:
        return str(told["failed"])
    (server, worst), (wall, longest) = told["server"], told["wall"]
    return f"server {server:6.1f} {worst:6.1f}  wall {wall:6.1f} {longest:6.1f}  CPU {told['cpu']:6.1f}"


def ask(url: str, secret: str, each: str) -> int:
    """The second process: a fixed number of requests over some connections; medians and 95th percentiles in ms."""
    kind, _, token = secret.partition(":")
    accept = "text/html" if kind == "html" else "application/json"
    try:
        fetch(url, token, accept, 120)
        with ThreadPoolExecutor(AT_ONCE) as several:
            took = list(several.map(lambda _: fetch(url, token, accept, 120), range(int(each))))
    except urllib.error.HTTPError as error:
        sys.stdout.write(json.dumps({"failed": f"answers {error.code}"}))
        return 0
    server, wall = (np.percentile([one[place] for one in took], [50, 95]).round(2).tolist() for place in (0, 1))
    sys.stdout.write(json.dumps({"server": server, "wall": wall}))
    return 0


def fetch(url: str, token: str, accept: str, patience: float) -> tuple[float, float]:
    """Milliseconds of the server, and on the wall."""
    wanted = urllib.request.Request(  # noqa: S310  our own server
        url, headers={"Accept": accept, "Authorization": f"Bearer {token}"}
    )
    begun = time.perf_counter()
    with urllib.request.urlopen(wanted, timeout=patience) as answer:  # noqa: S310  our own server
        answer.read()
        told = answer.headers.get("Server-Timing", "")
    wall = (time.perf_counter() - begun) * 1_000
    found = re.search(r"dur=([0-9.]+)", told)
    return float(found[1]) if found else wall, wall


def token_of(workspace: Workspace) -> str:
    """A program's secret with which all pages can be read."""
    ledger, at = workspace.ledger, now()
    first_admin(ledger, at)
    return make_token(
        ledger, "admin", f"bench {at.isoformat()}", ["read", "vote", "decide", "operate", "administer"], at
    ).text


def address_of(server: "subprocess.Popen[str]") -> str:
    """Where the server is, once it says so."""
    if server.stdout is None:
        raise RuntimeError("the server says nothing")
    for line in server.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0].rstrip("/")
    raise RuntimeError("the server ended before it said where it is")


def memory_of(process: int) -> int:
    """MiB that a process has in memory."""
    return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def cpu_of(process: int) -> float:
    """Seconds of CPU that a process has used, which do not grow when others use the machine."""
    told = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def say(line: str) -> None:
    """A line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""Processes that write a ledger at once, or are killed while they do: started by tests as `python ledgers_killed.py`.

This process imports all that is needed, once, and forks the writers; what it prints is JSON.
"""

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace

from gamewarden.cases import DONE
from gamewarden.errors import LedgerError
from gamewarden.store.ledger.ledger import Ledger
from ledgers_made_up import AT, action, decision

MODES = {}


def mode(function):
    MODES[function.__name__] = function
    return function


def forked(work):
    """A process that does some work, and what is read of it: a line per answer."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(readable)
        try:
            work(lambda answer: os.write(writable, f"{answer}\n".encode()))
        except LedgerError as error:
            os.write(writable, f"error {error}\n".encode())
        finally:
            os._exit(0)
    os.close(writable)
    return pid, readable


def answers(pid, readable):
    """All that a process says until it ends."""
    with os.fdopen(readable, "rb") as pipe:
        lines = pipe.read().decode().split("\n")[:-1]
    os.waitpid(pid, 0)
    return lines


def transaction(ledger, name):
    """Three kinds of writing that count together."""
    with ledger.writing(name, AT) as work:
        mine = action(name, state="waiting")
        work.add([decision(name)])
        work.add([mine])
        work.change(mine, replace(mine, state=DONE))
        work.remember("counter", str(int(work.fact("counter") or 0) + 1))


def write_for_ever(place, name):
    def work(answer):
        ledger = Ledger.at(place)
        for number in range(1_000_000):
            transaction(ledger, f"{name}-{number}")
            answer(f"{name}-{number}")

    return work


@mode
def kill_often(place, kills, seed):
    """Writers killed one after the other, each at a random moment; prints what they had acknowledged."""
    chance, acknowledged = random.Random(int(seed)), []  # noqa: S311
    for kill in range(int(kills)):
        pid, readable = forked(write_for_ever(place, f"k{kill}"))
        begun = b""
        for _ in range(chance.randrange(6)):
            begun += os.read(readable, 1000)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        acknowledged += (begun.decode() + "".join(f"{one}\n" for one in answers(pid, readable))).split()
    return acknowledged


@mode
def write_until_it_fails(place, name):
    """A writer whose server dies; prints what was acknowledged, and last how it failed."""
    return answers(*forked(write_for_ever(place, name)))


@mode
def write_at_once(place, writers, transactions):
    """Several writers at the same time; prints what each acknowledged."""

    def work(name):
        def write(answer):
            ledger = Ledger.at(place)
            for number in range(int(transactions)):
                transaction(ledger, f"{name}-{number}")
                answer(f"{name}-{number}")

        return write

    started = [forked(work(f"w{one}")) for one in range(int(writers))]
    return [line for one in started for line in answers(*one)]


@mode
def open_at_once(place, processes):
    """Several processes that make the same ledger; prints whether each has it."""
    moment = time.time() + 0.2

    def work(answer):
        time.sleep(max(0.0, moment - time.time()))
        answer(Ledger.at(place).head)

    started = [forked(work) for _ in range(int(processes))]
    return [line for one in started for line in answers(*one)]


@mode
def fork_while_open(place):
    """A ledger that is used on both sides of a fork."""
    ledger = Ledger.at(place)
    transaction(ledger, "before")

    def work(answer):
        transaction(ledger, "child")
        answer(len(ledger.find(type(decision()))))

    with ledger.writing("parent", AT) as writing:
        writing.add([decision("within")])
        pid, readable = forked(lambda answer: answer("left"))  # a child that ends does not end its parent's transaction
        found = answers(pid, readable)
    found += answers(*forked(work))
    transaction(ledger, "after")
    return [*found, *sorted(one.id for one in ledger.find(type(decision())))]


@mode
def die_holding(place):
    """A process killed in the middle of a transaction; prints whether the next one may write."""

    def work(answer):
        ledger = Ledger.at(place)
        with ledger.writing("holder", AT) as writing:
            writing.add([decision("lost")])
            answer("holds")
            time.sleep(600)

    pid, readable = forked(work)
    os.read(readable, 6)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    ledger = Ledger.at(place, patience=20)
    transaction(ledger, "next")
    return sorted(one.id for one in ledger.find(type(decision())))


@mode
def write_once(place):
    """A writer; prints how it failed."""

    def work(_answer):
        transaction(Ledger.at(place), "once")

    return answers(*forked(work))


@mode
def opened_directories(place):
    """Which directories are opened while a new ledger is made: what is synced must be opened."""
    opened = []
    sys.addaudithook(lambda name, words: opened.append(str(words[0])) if name == "open" else None)
    Ledger.at(place).close()
    return [one for one in opened if os.path.isdir(one)]  # noqa: PTH112  a number is a file too


if __name__ == "__main__":
    if "://" in sys.argv[2]:
        import psycopg  # noqa: F401  once, and not in every writer
    print(json.dumps(MODES[sys.argv[1]](*sys.argv[2:])))  # noqa: T201

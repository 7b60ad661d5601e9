"""Looking at accounts one by one at the terminal: `review`."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamewarden.cli import first_look, options
from gamewarden.cli.home import at_rest, from_workspace, here, workspace
from gamewarden.cli.settings import current
from gamewarden.cli.show import at_a_terminal, hand_over, head, print_lines, progress, say, tell, width_here
from gamewarden.core.files import refuse_bad_place
from gamewarden.core.outside import visible
from gamewarden.core.text import counted
from gamewarden.core.user import login
from gamewarden.desk_records import BOT, HUMAN, SKIP, UNSURE
from gamewarden.errors import InstallError, NotThereError, ResponseError, short
from gamewarden.verdicts.review_order import CHANCE

if TYPE_CHECKING:
    from gamewarden.desk_records import Review
    from gamewarden.pipeline.first_look import LookOptions
    from gamewarden.readers.options import SourceOptions
    from gamewarden.reviewing.agreement import Agreement
    from gamewarden.reviewing.estimates import Estimate
    from gamewarden.reviewing.evidence import Evidence
    from gamewarden.reviewing.session import Sitting
    from gamewarden.store.ledger.ledger import Ledger
    from gamewarden.verdicts.review_order import Candidate, Place

_USUAL = Path("reviews")
_ONE_RATER = "[workspace] one_rater"
_SAYS = {"b": BOT, "p": HUMAN, "u": UNSURE, "s": SKIP}
_NOTE, _BACK, _QUIT, _HELP = "n", "z", "q", "?"
_KEYS = "b bot · p person · u unsure · s skip · n note · z back · q quit · ? help"
_EXPLAINED = (
    "b  it is a bot; p  a person plays it; u  you looked and cannot tell",
    "s  skip it: it comes back another day",
    "n  write a note that is kept with your answer; in a pipe it may stand behind the key: b never sleeps",
    "z  take your last answer back and look at that account again",
    "q  stop here; the next time you go on where you stopped",
)
_TOLD = {BOT: "bot", HUMAN: "person", UNSURE: "unsure", SKIP: "skipped"}
_SEVERAL = {BOT: "bots", HUMAN: "people"}
_MOST_LISTED, _LISTED_SHARE = 100, 10  # the list that is asked what it misses: so many at the most, and a tenth of all


@dataclass(frozen=True)
class _Kept:
    """Where votes are kept."""

    ledger: Path | None  # None: in the workspace
    labels: Path | None  # None: a workspace learns from its ledger

    @classmethod
    def of(cls, to: Path | None) -> "_Kept":
        """A directory that was named, else the workspace, else the usual directory."""
        if to is None and workspace() is not None:
            return cls(None, None)
        folder = to or _USUAL
        return cls(folder / "ledger.db", folder / "labels.csv")

    def opened(self) -> "Ledger":
        """The ledger; made where there is none."""
        if self.ledger is None:
            return here().ledger
        from gamewarden.store.ledger.ledger import Ledger

        return Ledger.at(self.ledger)

    def asked(self) -> "list[Review]":
        """All that was said; nothing is made by asking."""
        from gamewarden.desk_records import Review

        if not (here().has_ledger if self.ledger is None else self.ledger.exists()):
            raise ResponseError(f"review: {self.ledger or 'this workspace'}: nobody has voted yet")
        return self.opened().find(Review)

    def disputed(self, ledger: "Ledger") -> frozenset[str]:
        """Accounts that wait for a third person."""
        if self.ledger is None:
            return here().disputed
        from gamewarden.cases import Label
        from gamewarden.workspace.labels import disputed

        return disputed(ledger.find(Label, order=("at",)))

    def write(self, ledger: "Ledger") -> None:
        """Write the labels anew."""
        if self.labels is not None:
            from gamewarden.reviewing.labels_file import write_labels

            write_labels(ledger, self.labels)


@click.command
@click.argument(
    "source", type=options.SOURCE, required=False, callback=from_workspace("lake", needed=False), metavar="[SOURCE]"
)
@click.option("--by", metavar="NAME", help="Who looks: a person's name.  [default: your login name]")
@click.option(
    "--to",
    type=options.FILE,
    metavar="DIR",
    help="Where votes are kept: ledger.db, and labels.csv to learn from.  [default: reviews; the workspace's ledger]",
)
@click.option(
    "--chance",
    type=click.FloatRange(0, 1),
    default=CHANCE,
    show_default=True,
    metavar="SHARE",
    help="Share of the places that go to accounts drawn from everybody: by them it is told how many are bots.",
)
@click.option(
    "--most",
    type=click.IntRange(1),
    metavar="N",
    help="Stop after so many accounts; with --estimate, how many stand on the list.",
)
@click.option("--accounts", metavar="A,B", help="Only these accounts.")
@click.option("--agreement", is_flag=True, help="Only say how far raters agree.")
@click.option("--estimate", is_flag=True, help="Only say how many of all are bots, and how many a list misses.")
@click.option("--json", "as_json", is_flag=True, help="Print the agreement or the estimates as JSON.")
@first_look.looking
@options.reading
def review(
    *,
    source: options.Where | None,
    look: "LookOptions",
    by: str | None,
    to: Path | None,
    chance: float,
    most: int | None,
    accounts: str | None,
    agreement: bool,
    estimate: bool,
    as_json: bool,
    reading: "SourceOptions",
) -> None:
    """Look at accounts one by one and say what they are.

    Odd accounts come early, and some places go to chance. One key says what an account is; what the list thinks of it
    is shown only afterwards. Every answer is kept at once, as a vote in the ledger and in a file of labels that models
    learn from; whoever stops goes on there the next time. A second rater's votes count beside the first one's.

    At a terminal each answer is one key, in a pipe a line: b, p, u, s, n, z, q, and a note may stand behind it.
    """
    if (agreement and estimate) or (as_json and not agreement and not estimate):
        raise click.UsageError("--json belongs to --agreement or --estimate, of which one is asked for at a time")
    kept = _Kept.of(to)
    if agreement:
        _show_agreement(kept, as_json=as_json)
    elif estimate:
        listed = [] if source is None else _oddest(_evidence_of(source, look, reading), most)
        _show_estimates(kept, listed, as_json=as_json)
    elif source is None:
        raise click.UsageError(
            "name the SOURCE to look at; inside a workspace (`gamewarden init`) it need not be named"
        )
    else:
        from gamewarden.reviewing.session import Sitting

        rater = _named(by)
        if kept.labels is not None:
            refuse_bad_place(kept.labels)
        evidence, ledger = _evidence_of(source, look, reading), kept.opened()
        candidates = _only(accounts, _candidates(evidence, ledger))
        say(*evidence.notes)
        zone = reading.logs.time_zone or "UTC"
        one_enough = _one_vote_enough(kept, ledger, rater)
        sitting = Sitting(
            ledger,
            candidates,
            rater,
            chance=0.0 if accounts else chance,
            time_zone=zone,
            disputed=kept.disputed(ledger),
        )
        _Talk(sitting, evidence, kept, most, accounts).go_on()
        _sum_up(sitting, kept, source, evidence.learner, one_enough=one_enough)


def _evidence_of(place: options.Where, look: "LookOptions", reading: "SourceOptions") -> "Evidence":
    """Whom to look at in a source, and what is known of them."""
    from gamewarden.pipeline import RankOptions
    from gamewarden.reviewing.evidence import OddEvidence

    source, home = options.opened(place, reading), at_rest("source")
    asked = look if home is None else replace(look, models=home.models)
    with progress("looking at everybody") as done:
        found = first_look.Looker(asked, home, reading).at(source, RankOptions.of(current()), done)
    return OddEvidence(found, lambda: first_look.events_of(source, found), width_here())


def _candidates(evidence: "Evidence", ledger: "Ledger") -> "Sequence[Candidate]":
    """Everybody who may be looked at, with what the votes so far teach of them."""
    from gamewarden.reviewing.labels_file import labels_of

    return evidence.candidates(labels_of(ledger))


def _named(by: str | None) -> str:
    rater = (login() if by is None else by).strip()
    if not rater:
        raise click.UsageError("name who looks: --by NAME")
    return rater


def _one_vote_enough(kept: _Kept, ledger: "Ledger", rater: str) -> bool:
    """Whether one vote is a label; at a terminal the only reviewer of a workspace is asked, once."""
    from gamewarden.cases import Label
    from gamewarden.config import FILE_NAME

    if kept.labels is not None:  # outside a workspace
        return True
    settings = current()
    others = {name for label in ledger.find(Label) for name in label.votes} - {rater}
    if others or _ONE_RATER in settings.given or not at_a_terminal():
        return settings.workspace.one_rater
    from gamewarden.workspace.setting_up import write_one_rater

    path = here().settings or here().root / FILE_NAME
    tell(f"Nobody but {rater} has reviewed accounts here. A label needs two reviewers who agree, unless one is enough.")
    enough = click.confirm("Is one vote enough for a label?", default=False)
    write_one_rater(path, enough=enough)
    tell(f"{path} now says {_ONE_RATER} = {'true' if enough else 'false'}; change it there.")
    return enough


def _only(accounts: str | None, candidates: "Sequence[Candidate]") -> "Sequence[Candidate]":
    """Those of these names; everybody where none is given."""
    if accounts is None:
        return candidates
    wanted = {name.strip() for name in accounts.split(",")} - {""}
    if missing := sorted(wanted - {one.actor for one in candidates}):
        raise NotThereError(f"review: nobody called {short(missing[0])} can be looked at here")
    return [one for one in candidates if one.actor in wanted]


@dataclass
class _Talk:
    """The talk with one rater."""

    sitting: "Sitting"
    evidence: "Evidence"
    kept: _Kept
    most: int | None
    only: str | None = None
    answered: int = 0
    learned: int = 0  # answers after which the order was last learned anew
    note: str = ""

    def go_on(self) -> None:
        """One account after the other, until nobody is left or the rater ends it."""
        self.kept.write(self.sitting.ledger)  # a file that a crash left behind its ledger catches up
        try:
            said = _typed()
            while (now := self._wanted()) is not None and self._about(now, said):
                pass
        except (KeyboardInterrupt, EOFError, click.Abort):
            tell("")

    def _wanted(self) -> "Place | None":
        return self.sitting.next() if self.most is None or self.answered < self.most else None

    def _about(self, now: "Place", said: Iterator[str]) -> bool:
        """Show an account and hear what it is; whether the talk goes on."""
        far = self.sitting.progress()
        self._prepare()
        head(f"{self.answered + 1}. {now.actor}")
        if now.actor in self.sitting.disputed:
            tell("A vote contradicts what is known of this account: a third person decides.")
        tell(f"today {_counts(far.today)}; in all {_counts(far.ever)}; {counted(far.waiting, 'account')} to come")
        tell(*self.evidence.story(now.actor).split("\n"), _KEYS)
        for line in said:
            key, _, note = line.strip().partition(" ")
            if key.lower() == _QUIT:
                return False
            if self._heard(now, key.lower(), visible(note.strip())):
                return True
        return False

    def _prepare(self) -> None:
        """Read the days of those who come next, some at once; learn from what was said every now and then."""
        from gamewarden.reviewing.evidence import AT_ONCE

        if self.answered and self.answered % AT_ONCE == 0 and self.answered != self.learned:
            self.learned = self.answered
            self.sitting.reorder(_only(self.only, _candidates(self.evidence, self.sitting.ledger)))
        if self.answered % AT_ONCE == 0:
            self.evidence.prepare(self.sitting.coming(AT_ONCE))

    def _heard(self, now: "Place", key: str, note: str) -> bool:
        """Do what a key asks for; whether that ends the look at this account."""
        try:
            if key in _SAYS:
                self._answer(now, _SAYS[key], note)
            elif key == _BACK:
                self._back()
            else:
                self._aside(key, note)
                return False
        except ResponseError as error:
            tell(str(error))
            return False
        return True

    def _answer(self, now: "Place", says: str, note: str) -> None:
        self.sitting.answer(says, note or self.note)
        self.kept.write(self.sitting.ledger)
        self.answered, self.note = self.answered + 1, ""
        tell(f"{now.actor}: {_TOLD[says]}.", *([] if says == SKIP else [self.evidence.said(now.actor)]), "")

    def _back(self) -> None:
        self.sitting.back()
        self.kept.write(self.sitting.ledger)
        self.answered, self.note = max(0, self.answered - 1), ""

    def _aside(self, key: str, note: str) -> None:
        if key == _NOTE:
            self.note = note
            tell("The note is kept with your answer." if note else "There is no note.")
        elif key == _HELP:
            tell(*_EXPLAINED)
        else:
            tell(f"{short(key)} is no answer; {_KEYS}")


def _typed() -> Iterator[str]:
    """What is typed: at a terminal a key at a time, and a line for a note; else lines."""
    if sys.stdin is None:  # closed
        return
    if not at_a_terminal():
        for line in sys.stdin.buffer:
            yield line.decode(errors="replace")
        return
    while True:
        key = click.getchar()
        if key == _NOTE:
            yield f"{key} {click.prompt('note', default='', show_default=False)}"
        else:
            yield key


def _counts(said: Mapping[str, int]) -> str:
    words = {says: word if said.get(says) == 1 else _SEVERAL.get(says, word) for says, word in _TOLD.items()}
    return ", ".join(f"{said[says]:,} {word}" for says, word in words.items() if said.get(says)) or "nobody"


def _sum_up(
    sitting: "Sitting", kept: _Kept, source: options.Where, learner: Sequence[str], *, one_enough: bool
) -> None:
    """What was said, what it says of all, and what to do next."""
    from gamewarden.desk_records import Review

    far, reviews = sitting.progress(), sitting.ledger.find(Review)
    tell(f"{sitting.rater} said today: {_counts(far.today)}; in all: {_counts(far.ever)}.")
    if not far.waiting:
        tell("Nobody is left that you have not looked at.")
    tell(*(_agreed(one) for one in _agreements(reviews)))
    try:
        bots, _ = _estimates(reviews, ())
        tell(*([] if bots.share is None else [bots.says]))
    except InstallError as error:
        say(str(error))
    if any(says in far.ever for says in (BOT, HUMAN)):
        _say_next(sitting, kept, source, learner, one_enough=one_enough)


def _say_next(
    sitting: "Sitting", kept: _Kept, source: options.Where, learner: Sequence[str], *, one_enough: bool
) -> None:
    import polars as pl

    from gamewarden.reviewing.labels_file import labels_of

    named = "" if at_rest("source") else f" {shlex.quote(str(source))}"
    there = "" if kept.labels is None else f" --to {shlex.quote(str(kept.labels.parent))}"
    labels = labels_of(sitting.ledger)
    alone = labels.filter(raters=1).height
    if alone and not one_enough:
        tell(
            f"{counted(alone, 'account')} with one vote: no model learns from them before a second reviewer agrees, "
            f"unless warden.toml says {_ONE_RATER} = true. A second reviewer looks with:"
        )
        print_lines(f"  gamewarden review{named} --by NAME{there}")
        if not labels.filter(pl.col("raters") > 1).height:
            return
    learned = "" if kept.labels is None else f" --labels {shlex.quote(str(kept.labels))} --to models"
    tell("To learn from what was said:")
    detector, *needed = learner
    print_lines(f"  gamewarden fit {detector}{named}{''.join(f' {shlex.quote(word)}' for word in needed)}{learned}")


def _oddest(evidence: "Evidence", most: int | None) -> list[str]:
    """Who stands on a list of the oddest."""
    ordered = sorted(evidence.candidates(), key=lambda one: (one.as_odd, one.actor))
    return [one.actor for one in ordered[: most or min(_MOST_LISTED, -(-len(ordered) // _LISTED_SHARE))]]


def _estimates(reviews: "list[Review]", listed: Sequence[str]) -> "tuple[Estimate, Estimate | None]":
    from gamewarden.reviewing.estimates import missed_by, share_of_bots

    return share_of_bots(reviews), missed_by(reviews, listed) if listed else None


def _show_estimates(kept: _Kept, listed: Sequence[str], *, as_json: bool) -> None:
    bots, missed = _estimates(kept.asked(), listed)
    if as_json:
        told = {"bots": asdict(bots), "missed": None if missed is None else asdict(missed)}
        hand_over(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    else:
        tell(*(one.says for one in (bots, missed) if one is not None))


def _agreements(reviews: "list[Review]") -> "tuple[Agreement, ...]":
    from gamewarden.reviewing.agreement import agreements
    from gamewarden.reviewing.votes import votes_in

    votes = votes_in(reviews)
    return agreements({actor: {who: one.says for who, one in said.items()} for actor, said in votes.items()})


def _show_agreement(kept: _Kept, *, as_json: bool) -> None:
    from gamewarden.reviewing.agreement import LEAST

    found = _agreements(kept.asked())
    if as_json:
        hand_over(json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=1) + "\n")
    elif found:
        tell(*map(_agreed, found))
    else:
        tell(
            f"No two raters have looked at {LEAST} accounts that both judged; with fewer nothing is said of agreement."
        )


def _agreed(one: "Agreement") -> str:
    who = " and ".join(one.raters) if one.raters else "Three raters an account"
    beyond = "" if one.kappa is None else f"; {one.kind}'s kappa, beyond chance, is {one.kappa:.2f}"
    return f"{who} agree in {100 * one.raw:.0f} % of what they say of {counted(one.accounts, 'account')}{beyond}."

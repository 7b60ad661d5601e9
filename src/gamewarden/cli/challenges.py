"""Commands for challenges: `challenge issue`, `answer`, `end`, `list`, `due`, `on-call`; for scripts and for people."""

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamewarden.cli import options
from gamewarden.cli.home import here
from gamewarden.cli.show import Presentation, hand_over, tell

if TYPE_CHECKING:
    import polars as pl

    from gamewarden.response.challenges.asking import Issued
    from gamewarden.response.challenges.waiting import Postponed
    from gamewarden.workspace.challenging import Asked, Challenging

_PICTURES = (".png", ".bmp")
_LANGUAGES = ("en", "ko")
_as_json = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
_language = click.option(
    "--language", type=click.Choice(_LANGUAGES), help="What the player reads.  [default: warden.toml]"
)


@click.group
def challenge() -> None:
    """Ask whether somebody is there, and take the answer.

    An outcome is one piece of evidence and never a verdict: a pass lifts nothing, and a disconnect is no guilt.
    """


@challenge.command("issue")
@click.argument("actor", metavar="ACTOR")
@click.option("--session", required=True, metavar="ID", help="The session that is asked; only it can answer.")
@click.option("--kind", metavar="KIND", help="image, arithmetic, item or task.  [default: warden.toml]")
@click.option("--busy", multiple=True, metavar="WORD", help="What the player does, such as fighting; may be repeated.")
@click.option("--to", "place", type=options.FILE, metavar="FILE", help="Write the picture here: .png, or .bmp.")
@_language
@click.option("--instead", metavar="ID", help="End this open challenge, once, and ask another kind in its place.")
@click.option("--tell-answer", is_flag=True, help="Say the answer too, for a game that checks it itself.")
@click.option("--rehearse", is_flag=True, help="Show such a question and ask nobody: nothing is written down.")
@_as_json
def issue_one(  # noqa: PLR0917  click passes them by name
    actor: str,
    session: str,
    kind: str | None,
    busy: tuple[str, ...],
    place: Path | None,
    language: str | None,
    instead: str | None,
    *,
    tell_answer: bool,
    rehearse: bool,
    as_json: bool,
) -> None:
    """Ask an account in a session, or say until when not.

    Nobody is asked while busy, while a question is open, soon after the last one, or for some days after a pass. With
    --json a picture without --to is in the answer as a PNG in base64.
    """
    from gamewarden.workspace.challenging import Asked

    _refuse_lost_picture(kind or here().config.challenge.kind, place, as_json=as_json)
    challenging = _challenging(language)
    made = _made(challenging, Asked(actor, session, busy, kind, instead), rehearse=rehearse)
    told = _issued(challenging, made, place, tell_answer=tell_answer, rehearse=rehearse)
    if as_json:
        hand_over(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    else:
        tell(*_sentences(told))


def _refuse_lost_picture(kind: str, place: Path | None, *, as_json: bool) -> None:
    """Refuse a place that cannot be written, and a picture that nobody would see, before anybody is asked."""
    from gamewarden.core.files import refuse_bad_place
    from gamewarden.response.challenges import load

    draws = load(kind).draws
    if place is not None:
        refuse_bad_place(place, _PICTURES)
    elif draws and not as_json:
        raise click.UsageError(f"{kind} shows a picture: say where it goes, --to FILE.png, or take it from --json")


def _made(challenging: "Challenging", asked: "Asked", *, rehearse: bool) -> "Issued | Postponed":
    from gamewarden.notices import now

    return challenging.rehearse(asked, now()) if rehearse else challenging.issue(asked, now())


def _issued(
    challenging: "Challenging", made: "Issued | Postponed", place: Path | None, *, tell_answer: bool, rehearse: bool
) -> dict[str, Any]:
    from gamewarden.response.challenges.waiting import Postponed

    if isinstance(made, Postponed):
        return {"postponed": made.until.isoformat(), "because": made.because}
    one = made.challenge
    times = {"issued": one.issued.isoformat(), "expires": one.expires.isoformat()}
    told: dict[str, Any] = {
        "id": one.id,
        "actor": one.actor,
        "session": one.session,
        "kind": one.kind,
        **times,
        "text": made.text,
    }
    told |= {"task": made.question.task} if made.question.task else {}
    told |= _picture(challenging, made, place, rehearse=rehearse)
    told |= {"answer": made.question.answers[0]} if tell_answer else {}
    return told | ({"rehearsal": True} if rehearse else {})


def _picture(challenging: "Challenging", made: "Issued", place: Path | None, *, rehearse: bool) -> dict[str, str]:
    """Where the picture is; a question whose picture cannot be written counts as never seen."""
    from base64 import b64encode

    from gamewarden.core.files import whole_file
    from gamewarden.errors import WriteError
    from gamewarden.notices import now
    from gamewarden.response.challenges.drawing import encoded

    picture = made.question.picture
    if picture is None:
        return {}
    if place is None:
        return {"png": b64encode(encoded(picture, "PNG")).decode()}
    try:
        with whole_file(place) as draft:
            draft.write_bytes(encoded(picture, place.suffix[1:].upper()))
    except WriteError:
        if not rehearse:
            challenging.end(made.challenge.id, now())
        raise
    return {"picture": str(place)}


def _sentences(told: dict[str, Any]) -> list[str]:
    if "postponed" in told:
        return [f"Not before {told['postponed']}: {told['because']}"]
    lines = [f"Challenge {told['id']} for {told['actor']}, until {told['expires']}", told["text"]]
    lines += [f"The game waits for {json.dumps(told['task'], ensure_ascii=False)}"] if "task" in told else []
    lines += [f"The picture is in {told['picture']}"] if "picture" in told else []
    lines += [f"The answer is {told['answer']}"] if "answer" in told else []
    return lines + (["This is a rehearsal: nobody was asked."] if "rehearsal" in told else [])


@challenge.command("answer")
@click.argument("name", metavar="ID")
@click.argument("text", metavar="TEXT")
@click.option("--actor", required=True, metavar="ACTOR", help="The account that answers.")
@click.option("--session", required=True, metavar="ID", help="The session in which it answers.")
@_language
@_as_json
def answer_one(name: str, text: str, actor: str, session: str, language: str | None, *, as_json: bool) -> None:
    """Take an answer and say what it leads to.

    The outcome is passed, wrong (there are tries left), failed, timeout or over. What players type may look like an
    option: write -- before TEXT.
    """
    from gamewarden.errors import ResponseError
    from gamewarden.notices import now
    from gamewarden.response.challenges.answering import REFUSED, Answer
    from gamewarden.workspace.challenging import NOT_YOURS

    challenging = _challenging(language)
    reply = challenging.answer(name, Answer(actor, session, text), now())
    if reply.outcome == REFUSED:
        raise ResponseError(NOT_YOURS)
    said = challenging.game.say(reply.outcome, left=reply.left)
    if as_json:
        told = {"outcome": reply.outcome, "left": reply.left, "text": said, "reward": reply.reward}
        hand_over(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    else:
        tell(f"{reply.outcome}: {said}", *([f"The reward is {reply.reward}"] if reply.reward else []))


@challenge.command("end")
@click.argument("name", metavar="ID")
@click.option("--disconnect", is_flag=True, help="The session has ended: no guilt and no pass.")
def end_one(name: str, *, disconnect: bool) -> None:
    """End a challenge whose session has ended.

    What is not ended so ends by itself when its time is over, and that speaks against somebody a little.
    """
    from gamewarden.notices import now

    if not disconnect:
        raise click.UsageError("a challenge ends by an answer or by its time; --disconnect says that the session ended")
    tell(f"{name}: {_challenging().end(name, now()).state}")


@challenge.command("list")
@click.option("--actor", metavar="ACTOR", help="Only those of this account.")
@options.table
def list_all(*, actor: str | None, present: Presentation) -> None:
    """List challenges, the newest first, with what became of them."""
    from gamewarden.cases import Challenge
    from gamewarden.notices import now

    challenging = _challenging()
    challenging.expire(now())
    where: dict[str, Any] = {} if actor is None else {"actor": actor}
    found = challenging.ledger.find(Challenge, order=("issued",), **where)[::-1]
    shown = [one.name for one in fields(Challenge) if one.name != "answer"]
    present.table(_table({name: [getattr(one, name) for one in found] for name in shown}))


@challenge.command("due")
@options.table
def list_due(*, present: Presentation) -> None:
    """List who is to be asked, and from when on.

    A game looks here again and again.
    Only those are listed whose step `challenge` was carried out: in a rehearsal nobody is.
    """
    from gamewarden.notices import now

    challenging, moment = _challenging(), now()
    challenging.expire(moment)
    found = challenging.due(moment)
    told: dict[str, list[Any]] = {name: [getattr(one, name) for one in found] for name in ("actor", "at")}
    told |= {"now": [one.at <= moment for one in found]}
    present.table(_table(told | {name: [getattr(one, name) for one in found] for name in ("because", "decision")}))


@challenge.command("on-call")
@options.table
def list_calls(*, present: Presentation) -> None:
    """List who has somebody on call for tests, and mark them.

    A bot before and after the challenges that were passed, and a person during them: as windows of packets at rest
    show, or spans of events. Further passes then lower suspicion no further than to being watched.
    """
    from gamewarden.notices import now
    from gamewarden.workspace.calling import Calling
    from gamewarden.workspace.responding import Responding

    home, moment = here(), now()
    found = Calling(home, moment, Responding(home, moment).settling.settle).look()
    shares = ("before", "during", "after", "challenges")
    told: dict[str, list[Any]] = {"actor": [one.found.actor for one in found], "by": [one.family for one in found]}
    told |= {name: [getattr(one.found, name) for one in found] for name in shares}
    present.table(_table(told | {"says": [str(one.found) for one in found]}))


def _challenging(language: str | None = None) -> "Challenging":
    """The challenges of the workspace; an outcome moves the ladder at once."""
    from gamewarden.notices import now
    from gamewarden.workspace.challenging import Challenging
    from gamewarden.workspace.responding import Responding

    home = here()
    return Challenging.of(home, language, Responding(home, now()).settling.settle)


def _table(columns: "dict[str, list[Any]]") -> "pl.DataFrame":
    import polars as pl

    from gamewarden.tables import TIME

    times = {"issued", "expires", "ended", "at"}
    types: dict[str, Any] = dict.fromkeys(columns, pl.String) | {"attempts": pl.Int64, "score": pl.Float64}
    types |= {"now": pl.Boolean, "challenges": pl.Int64} | dict.fromkeys(times, TIME)
    types |= dict.fromkeys(("before", "during", "after"), pl.Float64)
    return pl.DataFrame({name: pl.Series(name, values, types[name]) for name, values in columns.items()})

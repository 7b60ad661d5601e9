"""What people decide about accounts: before, on its way, and taken back; and what players object to."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from gamewarden.desk import acts as doing
from gamewarden.desk.acts import (
    Acted,
    Chosen,
    Preview,
    Undone,
    act,
    approve_one,
    chosen_actors,
    names_of,
    preview,
    protect_one,
)
from gamewarden.desk.conditions import Conditions
from gamewarden.desk.decisions import AppealsView, DecisionsView, appeals, decide_appeal, decisions, open_appeal
from gamewarden.desk.desk import Desk
from gamewarden.desk.search import matching
from gamewarden.web.account_names import ActorHere, account_url
from gamewarden.web.asked import Decider, DeskHere, Reader
from gamewarden.web.security import page_of_ours
from gamewarden.web.showing import done, language_of, show, wanted

router = APIRouter(tags=["decisions"])
Names = Annotated[list[str] | None, Form(description="Accounts; one field each.")]
Query_ = Annotated[
    str, Form(description="Instead: all accounts that this query of /accounts finds.", max_length=20_000)
]
Number = Annotated[int | None, Form(description="With a query: how many accounts were seen. Another number: no act.")]
Seen = Annotated[str, Form(description="With a query: a digest of those seen; the preview has it.", max_length=64)]
Step = Annotated[str, Form(description="watch, limit, challenge, freeze, isolate, review, hold, suspend, ban, dismiss")]
Because = Annotated[str, Form(description="Why; it is kept.", max_length=4_000)]
Lasts = Annotated[str, Form(description="For how long, such as 7d; empty: until it is taken back.", max_length=20)]
Next = Annotated[str, Form(description="The page to go on to.", max_length=20_000)]


@router.post("/acts/preview", response_model=Preview)
def before_acting(
    request: Request,
    desk: DeskHere,
    person: Decider,
    step: Step,
    *,
    actors: Names = None,
    query: Query_ = "",
    expected: Number = None,
    because: Because = "",
    lasts: Lasts = "",
    next: Next = "",  # noqa: A002  what forms call it
) -> Response:
    """What a step would be about, and what speaks against it; nothing is decided."""
    chosen = _chosen(actors, query, expected)
    names = chosen_actors(chosen, _finder(desk))
    view = preview(desk, names, step, by=person.name, span=doing.span_of(lasts))
    found = {"query": query, "expected": len(names), "seen": names_of(names) if query else ""}
    form = {**found, "because": because, "lasts": lasts, "next": page_of_ours(next, "")}
    return show(request, "acts_preview.html", view, form=form, named=() if query else names)


@router.post("/acts", response_model=Acted)
def decide(
    request: Request,
    desk: DeskHere,
    person: Decider,
    step: Step,
    *,
    actors: Names = None,
    query: Query_ = "",
    expected: Number = None,
    seen: Seen = "",
    because: Because = "",
    lasts: Lasts = "",
    next: Next = "",  # noqa: A002  what forms call it
) -> Response:
    """Decide a step about accounts, all at once; nothing leaves before the grace is over, and all can be taken back."""
    names = chosen_actors(replace(_chosen(actors, query, expected), seen=seen), _finder(desk))
    made = act(desk, names, step, by=person.name, because=because, span=doing.span_of(lasts), query=query or None)
    if wanted(request) == "json":
        return show(request, "decisions.html", made)
    return done(request, page_of_ours(next, "/decisions?tab=pending"), made.says, undo=f"/acts/{made.batch}/undo")


@router.post("/acts/{batch}/undo", response_model=Undone)
def take_back(
    request: Request,
    desk: DeskHere,
    person: Decider,
    batch: str,
    next: Next = "",  # noqa: A002  what forms call it
) -> Response:
    """Take back all that was decided at once: what has not left never leaves, the rest goes on its way back."""
    back = doing.undo(desk, batch, by=person.name)
    if wanted(request) == "json":
        return show(request, "decisions.html", back)
    return done(request, page_of_ours(next, "/decisions?tab=ended"), back.says)


@router.get("/decisions", response_model=DecisionsView)
def all_decisions(
    request: Request,
    desk: DeskHere,
    person: Reader,
    *,
    tab: Annotated[str, Query(description="pending, active, rehearsed, ended", max_length=20)] = "",
    after: Annotated[str, Query(description="`next` of the page before.", max_length=200)] = "",
    actor: Annotated[str, Query(max_length=4_000)] = "",
    step: Annotated[str, Query(max_length=20)] = "",
    by: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Decisions, the newest first: what waits, what holds, what was only rehearsed, what ended."""
    chosen = tab or ("active" if desk.workspace.config.response.armed else "rehearsed")
    view = decisions(desk, chosen, after=after, actor=actor, step=step, by=by)
    return show(request, "decisions.html", view, may_decide="decide" in person.rights)


@router.post("/decisions/{decision}/undo")
def undo_one(request: Request, desk: DeskHere, person: Decider, decision: str, because: Because = "") -> Response:
    """Take one decision back; what was carried out of it goes on its way back."""
    doing.undo_one(desk, decision, by=person.name, because=because)
    return done(request, "/decisions?tab=ended", language_of(request).text("The decision is taken back."))


@router.post("/decisions/{decision}/approve")
def approve(request: Request, desk: DeskHere, person: Decider, decision: str) -> Response:
    """Approve what another person decided and what waits for a second one."""
    approve_one(desk, decision, by=person.name)
    return done(request, "/decisions?tab=pending", language_of(request).text("The decision is approved."))


@router.post("/actions/{action}/settle")
def settle(
    request: Request,
    desk: DeskHere,
    person: Decider,
    action: str,
    happened: Annotated[bool, Form(description="Whether it happened in the game; else it is tried anew.")],
) -> Response:
    """Say what became of an action that nobody knows the end of."""
    says = doing.settle_one(desk, action, happened=happened, by=person.name)
    return done(request, "/policy#actions", says)


@router.post("/accounts/{actor}/protect")
def protect(
    request: Request,
    desk: DeskHere,
    person: Decider,
    actor: ActorHere,
    *,
    lasts: Annotated[str, Form(description="For how long, such as 30d.", max_length=20)] = "30d",
    because: Because = "",
) -> Response:
    """Let no step above watching touch an account for so long."""
    span = doing.span_of(lasts) or doing.span_of("30d")
    made = protect_one(desk, actor, span=span, by=person.name, because=because)  # type: ignore[arg-type]  # never None
    says = language_of(request).text("Protected until %(day)s.") % {"day": language_of(request).day(made.until)}
    return done(request, account_url(actor), says)


@router.post("/accounts/{actor}/unprotect")
def unprotect(request: Request, desk: DeskHere, person: Decider, actor: ActorHere) -> Response:
    """Protect an account no longer."""
    doing.unprotect_one(desk, actor, by=person.name)
    return done(request, account_url(actor), language_of(request).text("Protected no longer."))


@router.get("/appeals", response_model=AppealsView)
def all_appeals(
    request: Request,
    desk: DeskHere,
    person: Reader,
    *,
    every: Annotated[bool, Query(description="Also those that were decided.")] = False,
) -> Response:
    """Appeals of players, and accounts that are protected."""
    return show(request, "appeals.html", appeals(desk, only_open=not every), may_decide="decide" in person.rights)


@router.post("/appeals")
def open_one(
    request: Request,
    desk: DeskHere,
    person: Decider,
    about: Annotated[str, Form(description="An account, or the id of a decision.", max_length=4_000)],
    text: Annotated[str, Form(description="What the player writes.", max_length=40_000)],
) -> Response:
    """Open an appeal for a player who wrote to you."""
    made = open_appeal(desk, about, text, by=person.name)
    return done(
        request, "/appeals", language_of(request).text("The appeal of %(actor)s is open.") % {"actor": made.actor}
    )


@router.post("/appeals/{appeal}")
def decide_one(
    request: Request,
    desk: DeskHere,
    person: Decider,
    appeal: str,
    *,
    outcome: Annotated[str, Form(description="upheld or overturned", max_length=20)],
    because: Because = "",
) -> Response:
    """Decide an appeal; overturned, all that rested on it is taken back."""
    return done(request, "/appeals", decide_appeal(desk, appeal, outcome, by=person.name, because=because))


def _chosen(actors: list[str] | None, query: str, expected: int | None) -> Chosen:
    return Chosen(tuple(actors or ()), query or None, expected)


def _finder(desk: Desk) -> Callable[[str], Sequence[str]]:
    """Who meets the conditions of a query."""
    return lambda query: matching(desk, Conditions.of_query(query))

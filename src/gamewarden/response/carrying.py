"""The one place where a decision leaves gamewarden: each action once, never in rehearsal, and with a way back."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from gamewarden.cases import (
    BEGUN,
    CANCELLED,
    DO,
    DONE,
    FAILED,
    LADDER,
    REHEARSED,
    STOPPED,
    UNCERTAIN,
    UNDO,
    UNDONE,
    WAITING,
    Action,
)
from gamewarden.core.outside import cut, visible
from gamewarden.errors import ResponseError
from gamewarden.policy import Response
from gamewarden.response.actions import (
    beneath,
    for_adapter,
    has_left,
    others,
    place_of,
    seen,
    undos_due,
)
from gamewarden.response.adapters import LEFT, NOW, STILL, Adapter, RefusedError, TryLaterError, Ways
from gamewarden.response.book import Book, Page
from gamewarden.response.gates import Gate, Known, first_gate, lacking
from gamewarden.response.holders import is_gone, me
from gamewarden.response.waves import next_try

CARRIER = "carrier"  # who writes into the ledger what was carried out
HOLDER = "holder"  # in the receipt of what was begun: which process did
_LEASE = timedelta(minutes=10)  # beside the longest attempt: how long one is believed who cannot be asked
_HOUR = timedelta(hours=1)
_LONGEST = 600  # letters that are kept of what went wrong
_OPEN = (WAITING, FAILED, BEGUN)


@dataclass
class Carried:
    """What became of the actions that were due."""

    actions: list[Action] = field(default_factory=list)
    held: list[tuple[Action, str]] = field(default_factory=list)  # still waiting, and for what
    halted: str | None = None  # why nothing further leaves until a person resumes

    def of(self, *states: str) -> list[Action]:
        """The actions that came to one of these states."""
        return [action for action in self.actions if action.state in states]


@dataclass
class Carrier:
    """Carries out what is due, through the adapters, as far as the settings allow."""

    settings: Response
    ways: Ways
    book: Book

    def carry(self, now: datetime) -> Carried:
        """Carry out all that is due, the ways back first; beside another process nothing happens twice."""
        carried, began = Carried(), time.monotonic()
        self._add_undos(now)
        for action in self.book.due(now):
            moment = now + timedelta(seconds=time.monotonic() - began)
            _Turn(self, action.id, moment, carried).take()
        return carried

    def _add_undos(self, now: datetime) -> None:
        if actions := undos_due(self.book.standing(), now):
            with self.book.turning(now, CARRIER) as page:
                page.add(actions)


def resume(book: Book, who: str, now: datetime) -> str | None:
    """Let actions leave again after a breaker stopped them; why they were stopped, None where they were not.

    Raises:
        ResponseError: nobody signs for it.
    """
    need_person(who)
    with book.turning(now, who) as page:
        why = page.halted()
        if why is not None:
            page.resume()
        return why


def settle(book: Book, key: str, who: str, now: datetime, *, happened: bool) -> Action:
    """A person has looked whether an uncertain or stopped action happened: it counts as done, or is tried anew.

    Raises:
        ResponseError: nobody signs for it, or the action waits for nobody's word.
    """
    need_person(who)
    with book.turning(now, who) as page:
        action = page.action(key)
        if action is None or action.state not in {UNCERTAIN, STOPPED}:
            state = "not there" if action is None else action.state
            raise ResponseError(f"action {key} is {state}; only one that is uncertain or stopped waits for a person")
        new = replace(action, state=DONE, before=action.before or seen({}, 0), error=None, changed=now)
        decision = page.decision(action.decision)
        over = decision is None or decision.undone_at is not None
        if not happened and action.verb == DO and over:
            new = replace(
                action, state=CANCELLED, before=None, error="it never happened, and was taken back", changed=now
            )
        elif not happened:
            new = replace(new, state=WAITING, before=_kept_before(page, action), due=now, attempts=0)
        page.change(action, new)
        if happened and action.verb == UNDO:
            _mark_undone(page, action)
        return new


def _kept_before(page: Page, action: Action) -> Mapping[str, Any] | None:
    """What was there before an action that is tried anew; looked at again where others came later."""
    holding = [one for one in page.actions(action.actor, action.adapter) if one.verb == DO and has_left(one)]
    return None if any(place_of(one) > place_of(action) for one in holding) else action.before


def need_person(who: str) -> None:
    """Refuse whoever is no person.

    Raises:
        ResponseError: nobody signs.
    """
    if not who.strip() or who in {LADDER, CARRIER}:
        raise ResponseError(f"{who!r} is no person; say who you are")


@dataclass
class _Turn:
    """One action's turn: claimed in a transaction, carried out outside of any, and written down in another."""

    carrier: Carrier
    key: str
    now: datetime
    carried: Carried

    def take(self) -> None:
        """Bring the action as far as it comes now."""
        with self._page() as page:
            begun = self._claim(page)
        if begun is None:
            return
        adapter = self.carrier.ways.adapters[begun.adapter]
        try:
            begun = self._looked(begun, adapter)
            receipt = adapter.carry(for_adapter(begun))
        except RefusedError as error:
            self._finish(begun, self._refused(begun, _line(error)))
        except TryLaterError as error:
            self._finish(begun, self._failed(begun, adapter, _line(error), error.after))
        except Exception as error:  # noqa: BLE001  what an adapter did not foresee must not stop the others
            text = f"{visible(adapter.name)}: {type(error).__name__}: {_line(error)}"
            self._finish(begun, self._failed(begun, adapter, text, None))
        else:
            self._finish(begun, replace(begun, state=DONE, receipt=dict(receipt), error=None, changed=self.now))

    def _page(self) -> Any:  # noqa: ANN401  a transaction of the book
        return self.carrier.book.turning(self.now, CARRIER)

    # Claiming: all that is said here holds in one transaction.

    def _claim(self, page: Page) -> Action | None:
        """The action, begun by us; None where it may not leave now, or is somebody else's."""
        action = page.action(self.key)
        if action is None or action.state not in _OPEN or (action.state != BEGUN and action.due > self.now):
            return None
        found = self._may_begin(page, action)
        if isinstance(found, Gate):
            self._turned_away(page, action, found)
            return None
        return self._begin(page, action, found)

    def _may_begin(self, page: Page, action: Action) -> Gate | Action:
        """What is to be begun, or why nothing is."""
        if action.state == BEGUN and self._is_held(action):
            return Gate(WAITING, "another process carries it out")
        return self._may_do(page, action) if action.verb == DO else self._may_undo(page, action)

    def _may_do(self, page: Page, action: Action) -> Gate | Action:
        adapter = self.carrier.ways.adapters.get(action.adapter)
        gate = first_gate(self._known(page, action, adapter), self.carrier.settings, page.secret())
        if gate is not None or adapter is None:
            return gate or Gate(WAITING, "no adapter")
        if action.state == BEGUN and action.before is not None and not adapter.sure:
            return Gate(UNCERTAIN, "who carried it out died meanwhile; look whether it happened")
        return self._busy(page, action, adapter) or self._breaker(page, action) or action

    def _known(self, page: Page, action: Action, adapter: Adapter | None) -> Known:
        halted = None if action.state == BEGUN else page.halted()  # what had begun was let through
        self.carried.halted = self.carried.halted or halted
        ways = self.carrier.ways
        missing = ways.missing.get(action.adapter) or ways.closed.get(action.adapter)
        return Known(
            action, page.decision(action.decision), page.protected(action.actor), adapter, missing, halted, self.now
        )

    def _breaker(self, page: Page, action: Action) -> Gate | None:
        """Let nothing further leave where too much did, or too much of it was wrong."""
        if action.state == BEGUN:  # it was let through
            return None
        since = page.resumed()
        why = self._too_many(page, action, since) or self._too_wrong(page, since)
        if why is None:
            return None
        page.halt(why)
        self.carried.halted = why
        return Gate(WAITING, why)

    def _too_many(self, page: Page, action: Action, since: datetime | None) -> str | None:
        most, hour_ago = self.carrier.settings.actions_per_hour, self.now - _HOUR
        if page.left_since(hour_ago if since is None else max(hour_ago, since), action.id, most) < most:
            return None
        return f"{most} actions went out within an hour ([response] actions_per_hour); look, then `decisions resume`"

    def _too_wrong(self, page: Page, since: datetime | None) -> str | None:
        settings = self.carrier.settings
        newest = page.newest_left(settings.overturned_of, since)
        wrong = sum(one.undone_by not in {None, LADDER} for one in newest)
        if len(newest) < settings.overturned_of or wrong <= settings.overturned_most * len(newest):
            return None
        return f"{wrong} of the newest {len(newest)} actions were taken back by people; look at them, then resume"

    def _may_undo(self, page: Page, action: Action) -> Gate | Action:
        """The way back knows neither rehearsal nor breakers: it only takes back what left."""
        actions = page.actions(action.actor, action.adapter)
        done = next((one for one in actions if _is_way_back(action, one)), None)
        if done is None or not has_left(done):
            return self._nothing_to_undo(page, done)
        adapter = self.carrier.ways.adapters.get(action.adapter)
        missing = lacking(action, adapter, self.carrier.ways.missing.get(action.adapter))
        if adapter is None or missing is not None:
            return Gate(WAITING, missing or "no adapter")
        if action.state == BEGUN and not adapter.sure:
            return Gate(UNCERTAIN, "who took it back died meanwhile; look whether it happened")
        if done.state == BEGUN and not self._is_held(done):
            done = self._changed(page, done, UNCERTAIN, "who carried it out died meanwhile")
        if (busy := self._busy(page, action, adapter)) is not None:
            return busy
        if (upper := self._above(actions, done, adapter)) is not None:
            return self._undo_beneath(page, done, upper)
        return replace(action, before=done.before, until=done.until)

    def _nothing_to_undo(self, page: Page, done: Action | None) -> Gate:
        if done is not None and done.state == BEGUN and self._is_held(done):
            return Gate(WAITING, "another process carries out what it takes back")
        if done is not None and done.state in _OPEN:
            self._changed(page, done, CANCELLED, "taken back before it left")
        state = REHEARSED if done is not None and done.state == REHEARSED else CANCELLED
        return Gate(state, "nothing had left that could be taken back")

    def _undo_beneath(self, page: Page, done: Action, upper: Action) -> Gate:
        """A later action on the same thing still holds: it now restores what was there before this one."""
        left = None if done.receipt is None else done.receipt.get(NOW)
        page.change(upper, replace(upper, before=beneath(done.before or {}, upper.before or {}, left)))
        page.change(done, replace(done, state=UNDONE))
        return Gate(DONE, f"action {upper.id} on the same account still holds")

    def _busy(self, page: Page, action: Action, adapter: Adapter) -> Gate | None:
        """Another action on the same thing has to end first."""
        for one in others(page.actions(action.actor, action.adapter), action):
            if adapter.slot(one.step) != adapter.slot(action.step):
                continue
            if one.state == BEGUN or (action.verb == one.verb == DO and one.state == FAILED and has_left(one)):
                return Gate(WAITING, f"action {one.id} on the same account comes first")
        return None

    def _above(self, actions: Sequence[Action], done: Action, adapter: Adapter) -> Action | None:
        """The next action on the same thing that came later and may still hold."""
        slot, place = adapter.slot(done.step), place_of(done)
        later = [one for one in actions if one.verb == DO and has_left(one) and adapter.slot(one.step) == slot]
        return min((one for one in later if place_of(one) > place), key=place_of, default=None)

    def _begin(self, page: Page, old: Action, action: Action) -> Action:
        new = replace(
            action,
            state=BEGUN,
            attempts=action.attempts + 1,
            receipt={HOLDER: me()},
            error=None,
            changed=self.now,
        )
        page.change(old, new)
        return new

    def _is_held(self, action: Action) -> bool:
        """Whether another process may still be at it."""
        holder = str((action.receipt or {}).get(HOLDER, ""))
        lease = _LEASE + 2 * self.carrier.ways.patience
        return not is_gone(holder) and action.changed is not None and self.now - action.changed < lease

    # Carrying out.

    def _looked(self, begun: Action, adapter: Adapter) -> Action:
        """The action with what was there before it, written down before anything is done."""
        if begun.before is not None:
            return begun
        there = adapter.look(begun)
        with self._page() as page:
            slot = adapter.slot(begun.step)
            actions = page.actions(begun.actor, begun.adapter)
            place = 1 + max((place_of(one) for one in actions if adapter.slot(one.step) == slot), default=0)
            new = replace(begun, before=seen(there, place))
            self._still_ours(page, begun)
            page.change(begun, new)
        return new

    def _refused(self, begun: Action, text: str) -> Action:
        """Nothing was done this time; unless an earlier attempt may have, there is nothing to take back."""
        before = begun.before if begun.verb == UNDO or begun.attempts > 1 else None
        return replace(begun, state=STOPPED, before=before, receipt=None, error=text, changed=self.now)

    def _failed(self, begun: Action, adapter: Adapter, text: str, after: float | None) -> Action:
        if begun.before is not None and not adapter.sure:
            return replace(begun, state=UNCERTAIN, receipt=None, error=text, changed=self.now)
        if begun.attempts >= self.carrier.ways.attempts.get(begun.adapter, 1):
            error = f"{text} (tried {begun.attempts} times)"
            return replace(begun, state=STOPPED, receipt=None, error=error, changed=self.now)
        with self._page() as page:
            wait = next_try(begun.id, begun.attempts, self.carrier.settings, page.secret(), after)
        return replace(begun, state=FAILED, due=self.now + wait, receipt=None, error=text, changed=self.now)

    def _finish(self, begun: Action, new: Action) -> None:
        """Write down what became of an action, unless another process took it over because we were too slow."""
        with self._page() as page:
            now = page.action(begun.id)
            if now is None or now.state != BEGUN or now.receipt != begun.receipt:
                return
            if new.verb == UNDO and (why := self._not_undone(page, new)) is not None:
                new = replace(new, state=STOPPED, error=why)
            # Another process may have changed what this one restores meanwhile.
            kept = replace(new, before=now.before if new.before is not None and now.before is not None else new.before)
            self._turned(page, now, kept)
            if new.verb == UNDO and new.state == DONE:
                _mark_undone(page, new)

    def _not_undone(self, page: Page, undo: Action) -> str | None:
        """Why a step may still hold in the game although its way back was carried out: a person looks."""
        receipt = undo.receipt or {}
        if LEFT in receipt or STILL not in receipt:
            return receipt.get(LEFT)
        adapter = self.carrier.ways.adapters[undo.adapter]
        own = (one for one in page.actions(undo.actor, undo.adapter) if one.verb == DO and has_left(one))
        slot = adapter.slot(undo.step)
        others_hold = any(not _is_way_back(undo, one) and adapter.slot(one.step) == slot for one in own)
        return None if others_hold else str(receipt[STILL])

    def _still_ours(self, page: Page, begun: Action) -> None:
        if page.action(begun.id) != begun:
            raise TryLaterError("another process took it over meanwhile")

    # Writing down.

    def _turned_away(self, page: Page, action: Action, gate: Gate) -> None:
        """What becomes of an action that may not leave; one that may have left already is a person's to look at."""
        if gate.state == WAITING:
            self._hold(page, action, gate.why)
        elif gate.state == DONE:
            receipt = {LEFT: gate.why}
            self._turned(page, action, replace(action, state=DONE, receipt=receipt, error=None, changed=self.now))
        elif action.verb == DO and action.before is not None and gate.state != UNCERTAIN:
            self._end(page, action, UNCERTAIN, f"{gate.why}, but it had begun; look whether it happened")
        else:
            self._end(page, action, gate.state, gate.why)

    def _hold(self, page: Page, action: Action, why: str) -> None:
        if action.state == WAITING and action.error != why:
            page.change(action, replace(action, error=why))
        self.carried.held.append((action, why))

    def _end(self, page: Page, action: Action, state: str, why: str) -> None:
        self.carried.actions.append(self._changed(page, action, state, why))

    def _turned(self, page: Page, old: Action, new: Action) -> None:
        page.change(old, new)
        self.carried.actions.append(new)

    def _changed(self, page: Page, action: Action, state: str, why: str) -> Action:
        new = replace(action, state=state, error=why, changed=self.now)
        page.change(action, new)
        return new


def _line(error: Exception) -> str:
    """What went wrong, in a line."""
    return cut(visible(str(error)), _LONGEST)


def _is_way_back(undo: Action, done: Action) -> bool:
    """Whether the one takes the other back."""
    return done.verb == DO and (done.decision, done.step) == (undo.decision, undo.step)


def _mark_undone(page: Page, undo: Action) -> None:
    """Let what was taken back no longer hold; when it left stays as it was written."""
    for done in page.actions(undo.actor, undo.adapter):
        if _is_way_back(undo, done) and has_left(done):
            page.change(done, replace(done, state=UNDONE))

"""The kernel that plays accounts one after the other, from arrays alone."""

import numpy as np
import numpy.typing as npt

from gamewarden.core.kernels import kernel
from gamewarden.lab.world.agenda import (
    CHAPTER,
    DAY,
    JUST_TRADE,
    MOST_SESSIONS,
    RAID,
    Cast,
    first_level,
    meetings_of,
    next_raid,
    own,
    plan,
)
from gamewarden.lab.world.dice import Array, Number, Record, about, among, bell, chance, jit, key, unit
from gamewarden.lab.world.rules import (
    ASIDE_ROUTINE,
    ERRAND_ROUTINE,
    FOLK,
    HAND,
    HANDS,
    ITEMS,
    MONSTERS,
    PERSON,
    SPOKEN,
)

Table = npt.NDArray[np.void]

RUN = 9.0  # paces a second: nobody who keeps the rules is faster
QUICKEST_KILL = 2.5  # seconds between two kills: nobody who keeps the rules is faster
FIELD = 1000.0  # paces across a zone
NOTHING = -1
HURRY = 0.03  # what a cheat's burst leaves of the time a step takes

(BAG, PARTY, WANDER, SECOND) = (PERSON.index(name) for name in ("bag", "party", "wander", "second"))
(PACE, JITTER, DRIFT, VARIETY, FAVOURITES, PAUSE, PAUSE_MINUTES, ASIDE, ROAM, LOOP, DEATH, BURST, LEAP, SPOTS) = range(
    len(HAND)
)
SCATTER = 6.0  # paces around a favourite spot that a hand stops at
AT_A_SPOT = 4  # rounds, before somebody on rounds goes on to the next
(LOGIN, LOGOUT, ENTER, KILL, DIE, LOOT, GIVE, RECEIVE, LEVEL_UP, JOIN, LEAVE) = range(len(SPOKEN))
MONSTER, NPC = 1, 2
IN_TOWN, IN_FIELD = 1, 2

# One event; texts are codes, -1 is null, and a missing amount is NaN until Arrow knows null.
EVENT = np.dtype(
    [
        ("at", np.int64),
        ("amount", np.float64),
        ("account", np.int32),
        ("other", np.int32),
        ("x", np.float32),
        ("y", np.float32),
        ("session", np.int32),
        ("kind", np.int16),
        ("zone", np.int16),
        ("target", np.int16),
        ("item", np.int16),
        ("level", np.int16),
        ("character", np.int16),
    ]
)

# The player at hand; one record, so that small functions can share it.
ME = np.dtype(
    [
        ("dice", np.uint64),
        ("seed", np.uint64),
        ("start", np.int64),
        ("account", np.int64),
        ("persona", np.int64),
        ("way", np.int64),  # whose way-points its script has
        ("rotation", np.int64),  # whose favourites
        ("grade", np.int64),  # the level of the fields the script was written for; below 0: the player's own
        ("person", np.float64, (len(PERSON),)),
        ("hands", np.float64, (HANDS, len(HAND))),
        ("hand", np.float64, (len(HAND),)),  # the one in use
        ("session", np.int64),
        ("character", np.int64),
        ("level", np.int64, (2,)),
        ("progress", np.float64, (2,)),
        ("t", np.float64),  # seconds since the world began
        ("end", np.float64),  # of the session
        ("last_kill", np.float64),
        ("moved", np.float64),
        ("x", np.float64),
        ("y", np.float64),
        ("goal_x", np.float64),
        ("goal_y", np.float64),
        ("town", np.int64),
        ("zone", np.int64),
        ("field", np.int64),
        ("round", np.int64),
        ("bag", np.int64),
        ("tempo", np.float64),
        ("thorough", np.float64),
        ("cheating", np.bool_),
        ("next_meeting", np.int64),
        ("rows", np.int64),
    ],
    align=True,
)


@jit
def _write(me: Record, log: Array, kind: Number, target: Number, item: Number, amount: Number, other: Number) -> None:
    """Log one event; what does not fit is only counted."""
    if me.rows < len(log):
        row = log[me.rows]
        row.at = me.start + np.int64(me.t * 1e6)
        row.amount = amount
        row.account = me.account
        row.other = other
        row.x = me.x
        row.y = me.y
        row.session = me.session
        row.kind = kind
        row.zone = me.zone
        row.target = target
        row.item = item
        row.level = me.level[me.character]
        row.character = me.character
    me.rows += 1


@jit
def _walk(me: Record) -> None:
    """Go towards the goal as fast as the time since the last step allows."""
    dx, dy = me.goal_x - me.x, me.goal_y - me.y
    distance = np.sqrt(dx * dx + dy * dy)
    reach = RUN * (me.t - me.moved)
    me.moved = me.t
    if distance > 0.0:
        share = min(1.0, 0.98 * reach / distance)
        me.x += share * dx
        me.y += share * dy


@jit
def _keep_deal(rules: Record, me: Record, deal: Record, log: Array) -> None:
    """The event of something agreed; a common kill does not count for whoever has killed a moment ago."""
    if deal.kind == rules.kinds[KILL]:
        if me.t < me.last_kill + QUICKEST_KILL:
            return
        me.last_kill = me.t
    _write(me, log, deal.kind, NOTHING, deal.item, deal.amount, deal.other)


@jit
def _keep_meetings(rules: Record, me: Record, meetings: Array, log: Array, until: Number) -> None:
    """Whatever was agreed for a time up to `until` happens first."""
    now = me.t
    while me.next_meeting < len(meetings) and meetings[me.next_meeting].t <= until:
        meeting = meetings[me.next_meeting]
        me.t = meeting.t
        _walk(me)
        if meeting.kind != JUST_TRADE:
            _keep_deal(rules, me, meeting, log)
        for i in range(meeting.gives):
            _write(me, log, rules.kinds[GIVE], NOTHING, (meeting.item + i) % ITEMS, -1.0 - i, meeting.other)
        for i in range(meeting.takes):
            _write(me, log, rules.kinds[RECEIVE], NOTHING, (meeting.item + i) % ITEMS, 1.0 + i, meeting.other)
        me.next_meeting += 1
    me.t = now


@jit
def _say(
    rules: Record, me: Record, meetings: Array, log: Array, kind: Number, target: Number, item: Number, amount: Number
) -> None:
    """Log one event now, unless the session is over."""
    if me.t < me.end:
        if me.next_meeting < len(meetings) and meetings[me.next_meeting].t <= me.t:
            _keep_meetings(rules, me, meetings, log, me.t)
        _walk(me)
        _write(me, log, kind, target, item, amount, NOTHING)


@jit
def _aim(me: Record) -> None:
    """The next goal: a way-point of the loop, or somewhere around the player's own spot in this zone."""
    scripted = me.hand[LOOP] >= 1.0
    spot = key(me.seed, me.way if scripted else me.account, 5000 + me.zone)
    if scripted:
        point = key(spot, me.round % int(me.hand[LOOP]), 7)
        across, along = unit(point), unit(point + np.uint64(1))
    elif me.hand[SPOTS] >= 1.0:
        point = key(spot, me.round // AT_A_SPOT % int(me.hand[SPOTS]), 7)
        across = unit(point) + SCATTER / me.hand[ROAM] * (chance(me) - 0.5)
        along = unit(point + np.uint64(1)) + SCATTER / me.hand[ROAM] * (chance(me) - 0.5)
    else:
        across, along = chance(me), chance(me)
    me.goal_x = _inside(FIELD * unit(spot) + me.hand[ROAM] * (2.0 * across - 1.0))
    me.goal_y = _inside(FIELD * unit(spot + np.uint64(1)) + me.hand[ROAM] * (2.0 * along - 1.0))


@jit
def _inside(place: Number) -> Number:
    return min(FIELD, max(0.0, place))


@jit
def _enter(rules: Record, me: Record, meetings: Array, log: Array, zone: Number) -> None:
    """Through a portal into another zone."""
    me.t += about(me, 12.0, me.hand[JITTER])
    if me.t >= me.end:
        return
    me.zone = zone
    _aim(me)
    me.x, me.y, me.moved = me.goal_x, me.goal_y, me.t
    _say(rules, me, meetings, log, rules.kinds[ENTER], NOTHING, NOTHING, np.nan)


@jit
def _pick(me: Record, first: Number, size: Number) -> Number:
    """A kind of a family: one of the player's favourites, or any."""
    if size == 1:
        return first
    if chance(me) < me.hand[VARIETY]:
        return first + among(size, chance(me))
    slot = int(max(1.0, me.hand[FAVOURITES]) * chance(me) * chance(me))
    whose = me.rotation if me.hand[LOOP] >= 1.0 else me.account
    return first + among(size, unit(key(me.seed, whose, 9000 + 64 * first + slot)))


@jit
def _target(me: Record, kind: Number) -> Number:
    """Monsters and townsfolk belong to a zone."""
    if kind == MONSTER:
        return (MONSTERS + FOLK) * me.zone + int(MONSTERS * chance(me) * chance(me))
    if kind == NPC:
        return (MONSTERS + FOLK) * me.zone + MONSTERS + int(FOLK * chance(me))
    return NOTHING


@jit
def _learn(rules: Record, me: Record, meetings: Array, log: Array) -> None:
    """A kill brings the next level nearer: some twenty kills at the first levels, thousands at the last."""
    level, highest = me.level[me.character], rules.limits[0]
    if level < highest:
        me.progress[me.character] += 1.0 / (15.0 + 6000.0 * (level / highest) ** 2)
        if me.progress[me.character] >= 1.0:
            me.progress[me.character] -= 1.0
            me.level[me.character] += 1
            _say(rules, me, meetings, log, rules.kinds[LEVEL_UP], NOTHING, NOTHING, 1.0)


@jit
def _do(rules: Record, me: Record, meetings: Array, log: Array, number: Number, pace: Number) -> None:
    """Log one step of a round: each of its events takes its time first."""
    step = rules.steps[number]
    kill = step.first == rules.kinds[KILL]
    for _ in range(step.least + int((step.most - step.least + 1) * chance(me))):
        me.t += pace * about(me, step.seconds, me.hand[JITTER])
        if kill and not me.cheating:
            me.t = max(me.t, me.last_kill + QUICKEST_KILL)
        if me.t >= me.end:
            return
        kind = _pick(me, step.first, step.size)
        amount = np.floor(step.low + (step.high - step.low + 1) * chance(me)) if step.has_amount else np.nan
        item = among(ITEMS, chance(me)) if step.has_item else NOTHING
        _say(rules, me, meetings, log, kind, _target(me, step.target), item, amount)
        if kill:
            me.last_kill = me.t
            _learn(rules, me, meetings, log)
        elif step.first == rules.kinds[LOOT]:
            me.bag += 1


@jit
def _round(rules: Record, me: Record, meetings: Array, log: Array, number: Number) -> None:
    """One round of a routine: all its steps, or one of them."""
    routine = rules.routines[number]
    me.round += 1
    me.cheating = me.hand[BURST] > 0.0 and chance(me) < me.hand[BURST]
    pace = me.hand[PACE] * me.tempo * (HURRY if me.cheating else 1.0)
    if routine.one_of:
        luck = chance(me)
        step = routine.first
        while luck >= rules.steps[step].chance and step < routine.end - 1:
            step += 1
        _do(rules, me, meetings, log, step, pace)
    else:
        for step in range(routine.first, routine.end):
            odds = rules.steps[step].chance
            if odds >= 1.0 or chance(me) < odds * me.thorough:
                _do(rules, me, meetings, log, step, pace)
    if routine.rest > 0.0:
        me.t += pace * about(me, routine.rest, me.hand[JITTER])


@jit
def _leap(me: Record) -> None:
    """A cheat may stand at the other end of the map a moment later."""
    if me.hand[LEAP] > 0.0 and chance(me) < me.hand[LEAP]:
        me.goal_x, me.goal_y = FIELD * chance(me), FIELD * chance(me)
        me.x, me.y = me.goal_x, me.goal_y


@jit
def _die(rules: Record, me: Record, meetings: Array, log: Array) -> None:
    """Back to town, and back again."""
    field = me.zone
    _say(rules, me, meetings, log, rules.kinds[DIE], _target(me, MONSTER), NOTHING, np.nan)
    _enter(rules, me, meetings, log, me.town)
    _enter(rules, me, meetings, log, field)


@jit
def _errand(rules: Record, me: Record, meetings: Array, log: Array) -> None:
    """Empty the bag in town and come back."""
    field = me.zone
    me.bag = 0
    _enter(rules, me, meetings, log, me.town)
    _round(rules, me, meetings, log, ERRAND_ROUTINE)
    _enter(rules, me, meetings, log, field)


@jit
def _after(rules: Record, me: Record, meetings: Array, log: Array) -> None:
    """What may come between two rounds: an aside, a pause, a death, a full bag."""
    if chance(me) < me.hand[ASIDE]:
        _round(rules, me, meetings, log, ASIDE_ROUTINE)
    if chance(me) < me.hand[PAUSE]:
        me.t += 60.0 * about(me, me.hand[PAUSE_MINUTES], 0.6)
    if me.zone >= rules.limits[1]:
        if chance(me) < me.hand[DEATH]:
            _die(rules, me, meetings, log)
        if me.bag >= me.person[BAG]:
            _errand(rules, me, meetings, log)


@jit
def _go(rules: Record, me: Record, meetings: Array, log: Array, place: Number) -> None:
    """To where the bout is played: the home town, or a field that suits the level."""
    highest, towns, fields = rules.limits[0], rules.limits[1], rules.limits[2]
    zone = me.zone
    if place == IN_TOWN:
        zone = me.town
    elif place == IN_FIELD:
        if chance(me) < me.person[WANDER]:
            me.field = int(3.0 * chance(me))
        level = me.grade if me.grade >= 0 else me.level[me.character]
        zone = towns + int((fields - 3) * level / (highest + 1.0)) + me.field
    if zone != me.zone:
        _enter(rules, me, meetings, log, zone)


@jit
def _bout(rules: Record, me: Record, meetings: Array, log: Array, number: Number, until: Number) -> None:
    """Rounds of one activity until its time is over."""
    bout = rules.bouts[number]
    me.hand[:] = me.hands[bout.hand]
    me.tempo = np.exp(me.hand[DRIFT] * bell(me))
    me.thorough = np.exp(me.hand[DRIFT] * bell(me))
    _go(rules, me, meetings, log, rules.routines[bout.routine].place)
    party = chance(me) < me.person[PARTY]
    if party:
        _say(rules, me, meetings, log, rules.kinds[JOIN], NOTHING, NOTHING, np.nan)
    while me.t < until:
        _aim(me)
        _leap(me)
        _round(rules, me, meetings, log, bout.routine)
        _after(rules, me, meetings, log)
    if party:
        _say(rules, me, meetings, log, rules.kinds[LEAVE], NOTHING, NOTHING, np.nan)


@jit
def _raid(rules: Record, cast: Record, me: Record, meetings: Array, log: Array, until: Number) -> None:
    """Hunt with the others in the raid's place, in a party that its leader has formed."""
    call = cast.call[me.account]
    number = rules.phases[rules.personas[me.persona].first].first
    me.hand[:] = me.hands[rules.bouts[number].hand]
    me.tempo = np.exp(me.hand[DRIFT] * bell(me))
    me.thorough = np.exp(me.hand[DRIFT] * bell(me))
    if me.zone != call.zone:
        _enter(rules, me, meetings, log, call.zone)
    _speak_of(rules, me, meetings, log, rules.kinds[JOIN], call.leader)
    while me.t < until:
        _aim(me)
        _round(rules, me, meetings, log, rules.bouts[number].routine)
        _after(rules, me, meetings, log)
    _speak_of(rules, me, meetings, log, rules.kinds[LEAVE], call.leader)


@jit
def _speak_of(rules: Record, me: Record, meetings: Array, log: Array, kind: Number, other: Number) -> None:
    """Log one event that names somebody else, unless the session is over."""
    if me.t < me.end:
        _keep_meetings(rules, me, meetings, log, me.t)
        _walk(me)
        _write(me, log, kind, NOTHING, NOTHING, np.nan, other if other != me.account else NOTHING)


@jit
def _next_bout(rules: Record, me: Record, phase: Number) -> Number:
    number = rules.phases[phase].first
    luck = chance(me)
    while luck >= rules.bouts[number].odds and number < rules.phases[phase].end - 1:
        number += 1
    return number


@jit
def _session(
    rules: Record, cast: Record, me: Record, meetings: Array, log: Array, begin: Number, finish: Number
) -> None:
    """Log in, live bout by bout through the phases, log out; what lies outside the world's days is not logged."""
    horizon = cast.days * DAY
    me.t, me.end = max(begin, 0.0), min(finish, horizon)
    me.last_kill, me.moved = me.t, me.t
    me.character = 1 if chance(me) < me.person[SECOND] else 0
    if begin >= 0.0:
        _say(rules, me, meetings, log, rules.kinds[LOGIN], NOTHING, NOTHING, np.nan)
    phase, last = rules.personas[me.persona].first, rules.personas[me.persona].end
    phase_end = begin + 3600.0 * about(me, rules.phases[phase].hours, rules.phases[phase].hours_factor)
    while me.t < me.end:
        raid = next_raid(cast, me.account, me.t)
        if raid <= me.t:
            _raid(rules, cast, me, meetings, log, min(raid + RAID, me.end))
            continue
        if me.t >= phase_end and phase < last - 1:
            phase += 1
            phase_end += 3600.0 * about(me, rules.phases[phase].hours, rules.phases[phase].hours_factor)
        number = _next_bout(rules, me, phase)
        minutes = about(me, rules.bouts[number].minutes, rules.bouts[number].minutes_factor)
        until = min(me.t + 60.0 * minutes, me.end)
        if phase < last - 1:
            until = min(until, max(phase_end, me.t + 1.0))
        until = min(until, max(raid, me.t + 1.0))
        _bout(rules, me, meetings, log, number, until)
    _keep_meetings(rules, me, meetings, log, me.end)
    if finish < horizon:
        me.t = me.end
        _write(me, log, rules.kinds[LOGOUT], NOTHING, NOTHING, np.nan, NOTHING)


@jit
def _begin(rules: Record, cast: Record, me: Record, account: Number) -> None:
    """Who this is: its own values, its levels, and where it stands."""
    persona = cast.persona[account]
    me.seed, me.start = cast.seed, cast.start
    me.account, me.persona, me.session = account, persona, 0
    me.way = me.rotation = account
    me.grade = -1
    if len(cast.way) > 0:
        me.way, me.rotation = cast.way[account], cast.rotation[account]
        if me.way != account:
            me.grade = first_level(rules, cast.seed, persona, me.way)
    me.next_meeting, me.round, me.cheating = 0, 0, False
    me.dice = key(cast.seed, account, 2 + CHAPTER * cast.chapter)
    for phase in range(rules.personas[persona].first, rules.personas[persona].end):
        for bout in range(rules.phases[phase].first, rules.phases[phase].end):
            hand = rules.bouts[bout].hand
            whose = me.way if rules.hands[hand, LOOP, 0] > 0.0 else account
            own(rules.hands, hand, cast.seed, whose, 300 + 32 * hand, me.hands[hand])
    me.level[0] = first_level(rules, cast.seed, persona, account)
    me.level[1] = max(1, int(0.5 * me.level[0] * unit(key(cast.seed, account, 4))))
    me.progress[:] = 0.0
    me.town = int(rules.limits[1] * unit(key(cast.seed, me.way, 3)))
    me.zone = me.town
    me.field = int(3.0 * unit(key(cast.seed, me.way, 6)))
    me.bag = int(me.person[BAG] * unit(key(cast.seed, account, 8)))
    me.x = me.goal_x = FIELD / 2
    me.y = me.goal_y = FIELD / 2


@kernel
def _play(rulebook: Array, cast: Record, account: Number, stop: Number, log: Array, players: Array) -> Number:
    rules, me, shadow = rulebook[0], players[0], players[1]
    spans = np.empty((MOST_SESSIONS * (cast.days + 1), 2))
    done = 0
    while account < stop:
        if cast.persona[account] < 0:
            account += 1
            continue
        online = spans[: plan(rules, cast, account, me.person, spans, shadow)]
        meetings = meetings_of(rules, cast, account, me.person, online, shadow)
        _begin(rules, cast, me, account)
        me.rows = done
        for i in range(len(online)):
            _session(rules, cast, me, meetings, log, online[i, 0], online[i, 1])
            me.session += 1
        if me.rows > len(log):
            return (account, done) if done else (account, -me.rows)
        done = me.rows
        account += 1
    return account, done


def play(rulebook: Table, cast: Cast, account: int, stop: int, log: Table) -> tuple[int, int]:
    """Play accounts from `account` on until `stop` or until the log is full.

    Returns the account to go on with and the rows written. The log holds whole accounts only: one that did not fit is
    played again next time. If not even the first fits, the rows are negative and say how many it needs.
    """
    # A record borrows its array's memory, so the array of players must outlive the kernel: it is made here.
    upto, rows = _play(rulebook, cast, account, stop, log, np.zeros(2, ME))
    return upto, rows

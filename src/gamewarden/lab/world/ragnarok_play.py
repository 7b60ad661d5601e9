"""One session of the synthetic Ragnarok: a character walks, fights, loots, rests and talks; its client sends."""

from dataclasses import dataclass, fields, replace
from math import cos, exp, radians, sin
from typing import Any

import numpy as np

from gamewarden.lab.world.ragnarok_cast import About, Style
from gamewarden.lab.world.ragnarok_wire import Message

SECOND = 1_000_000
TICK = 12.0  # seconds between two ticks of the client (the thesis' dump)
NEAR, FAR = 20, 380  # the map is a square of 400 cells; nobody walks along its rim
ATTACK, SIT, STAND, ATTACK_ON = 0, 2, 3, 7
_FIRST_MONSTER = 110_000_000
_CHANCE_OF_POTION, _CHANCE_OF_NAME, _CHANCE_OF_PORTAL = 0.12, 0.3, 0.02
_HALF_TURN = 180.0


@dataclass(frozen=True)
class Session:
    """Who plays, how, from when and for how long."""

    actor: int
    character: int
    persona: str
    style: Style
    start: int  # µs
    seconds: float


def play(session: Session, seed: int) -> list[Message]:
    """The messages of a session in their order; the same session and seed give the same messages."""
    random = np.random.default_rng([seed, session.actor])
    return _Client(session, random).play()


class _Client:
    """A character on its map, and what its client has sent so far."""

    def __init__(self, session: Session, random: np.random.Generator) -> None:
        self._session = session
        self._random = random
        self._style = own_style(session.style, random)
        self._now = 0.0
        self._until = session.seconds
        self._x, self._y = (float(value) for value in random.uniform(NEAR, FAR, 2))
        self._course = float(random.uniform(0, 360))
        self._next_tick = TICK
        self._next_rest = self._about(About(60 * self._style.rest_every, 0.4))
        self._monster = _FIRST_MONSTER + int(random.integers(0, 1 << 16))
        self._sent: list[Message] = []

    def play(self) -> list[Message]:
        """From connecting to the last message before the time is over."""
        self._connect()
        while self._now < self._until:
            self._hunt()
            self._asides()
        self._sent.sort(key=lambda message: message.at)
        limit = self._session.start + int(self._until * SECOND)
        return [message for message in self._sent if message.at < limit]

    def _connect(self) -> None:
        self._send("wanttoconnection", actor=self._session.actor, character=self._session.character)
        self._wait(0.3)
        for function in ("lesseffect", "loadendack", "guildcheckmaster", "guildrequestinfo"):
            self._send(function)
            self._wait(0.05)
        self._wait(self._about(About(3.0, 0.5)))

    def _hunt(self) -> None:
        """To where the monsters are, fight them, take what they leave."""
        style = self._style
        for _ in range(max(1, int(self._random.poisson(style.crowd)) if style.crowd > 1 else 1)):
            self._walk(self._about(style.leg))
            self._wait(self._about(style.reaction))
            self._monster += int(self._random.integers(1, 9))
            if self._random.random() < _CHANCE_OF_NAME:
                self._send("getcharnamerequest", target=self._monster)
        self._step(max(1.0, self._about(style.approach)))
        self._wait(self._about(style.step_gap))
        self._fight()
        if self._random.random() < style.loot:
            self._loot()

    def _walk(self, cells: float) -> None:
        """A leg: order after order, the course drifting, turned back at the rim of the map."""
        style = self._style
        self._course += float(self._random.normal(0, 2 * style.wobble))
        while cells > 0 and self._now < self._until:
            stride = max(1.0, self._about(style.stride))
            self._course += float(self._random.normal(0, style.wobble / (4 if style.grid else 1)))
            self._step(stride)
            cells -= stride
            self._wait(self._about(style.step_gap) + style.cell * stride)

    def _step(self, stride: float) -> None:
        heading = round(self._course / 45) * 45 if self._style.grid else self._course
        x, y = self._x + stride * cos(radians(heading)), self._y + stride * sin(radians(heading))
        if not (NEAR <= x <= FAR and NEAR <= y <= FAR):
            self._course += _HALF_TURN + float(self._random.normal(0, 40))
            x, y = min(max(x, NEAR), FAR), min(max(y, NEAR), FAR)
        self._x, self._y = float(round(x)), float(round(y))
        self._send("walktoxy", x=int(self._x), y=int(self._y))

    def _fight(self) -> None:
        style = self._style
        orders = 1 + int(self._random.poisson(max(style.blows - 1, 0)))
        length = self._about(style.kill)
        for _ in range(orders):
            lasting = self._random.random() < style.lasting
            self._send("actionrequest", target=self._monster, action=ATTACK_ON if lasting else ATTACK)
            self._wait(length / orders)
        if self._random.random() < _CHANCE_OF_POTION:
            self._send("useitem", target=self._session.actor)

    def _loot(self) -> None:
        style = self._style
        self._wait(self._about(style.loot_delay))
        for item in range(1 + int(self._random.poisson(style.items))):
            if item:
                self._wait(self._about(style.item_gap))
            if self._random.random() < style.turn:
                self._send("changedir", action=int(self._random.integers(8)))
                self._wait(self._about(style.turn_lead))
            self._send("takeitem", target=int(self._random.integers(1, 5000)))

    def _asides(self) -> None:
        """What happens between fights: talk, pauses, portals, rests."""
        style = self._style
        minutes = 0.3  # about what a round takes
        for _ in range(int(self._random.poisson(style.chat * minutes))):
            self._wait(self._about(About(4.0, 0.6)))
            self._send("wis", text="x" * int(self._random.integers(3, 60)))
        for _ in range(int(self._random.poisson(style.idle * minutes))):
            self._wait(self._about(About(7.0, 0.8)))
        if self._random.random() < _CHANCE_OF_PORTAL:
            self._portal()
        if self._now >= self._next_rest:
            self._rest()

    def _portal(self) -> None:
        self._wait(1.5)
        self._x, self._y = (float(round(value)) for value in self._random.uniform(NEAR, FAR, 2))
        self._send("loadendack")
        self._wait(self._about(About(1.5, 0.4)))

    def _rest(self) -> None:
        self._send("actionrequest", action=SIT)
        self._wait(self._about(self._style.rest))
        self._send("actionrequest", action=STAND)
        self._wait(self._about(About(0.8, 0.4)))
        self._next_rest = self._now + self._about(About(60 * self._style.rest_every, 0.4))

    def _wait(self, seconds: float) -> None:
        """Time passes; the client ticks on its own meanwhile."""
        self._now += seconds
        while self._next_tick <= self._now:
            self._sent.append(Message(self._micros(self._next_tick), "ticksend"))
            self._next_tick += TICK + 0.002 * float(self._random.random())

    def _send(
        self,
        function: str,
        *,
        x: int | None = None,
        y: int | None = None,
        target: int | None = None,
        action: int | None = None,
        actor: int | None = None,
        character: int | None = None,
        text: str = "",
    ) -> None:
        at = self._micros(self._now)
        self._sent.append(Message(at, function, x, y, target, action, actor, character, text))
        self._now += 0.001  # no client sends two messages at one time

    def _micros(self, seconds: float) -> int:
        return self._session.start + round(seconds * SECOND)

    def _about(self, number: About) -> float:
        return number.center * exp(number.spread * float(self._random.normal())) if number.spread else number.center


def own_style(style: Style, random: np.random.Generator) -> Style:
    """One player's or program's own version of a style: every time and length off by a factor of its own."""
    changed: dict[str, Any] = {}
    for part in fields(style):
        value = getattr(style, part.name)
        if isinstance(value, About) and not (style.grid and part.name == "stride"):
            spread = style.strength if part.name == "kill" else style.own
            changed[part.name] = replace(value, center=value.center * exp(spread * float(random.normal())))
    return replace(style, **changed)

"""Sentences that rest in English, told in the reader's language: known by their pattern, with the same values in them.

What was sealed or decided stays as it was written; only how a page shows it changes. A sentence that nobody has
translated, or that a person wrote, is shown as it is.
"""

import re
from functools import cache, lru_cache

from gamewarden.web.languages import N_, Language

_LEADS = (
    N_("The %(window)ss resemble one another more than those of %(humans)s"),
    N_("The %(window)ss vary as usual"),
    N_("The %(window)ss vary more than those of %(humans)s"),
    N_("Every %(window)s looks almost like every other"),
    N_("Active in more %(window)ss than %(humans)s"),
    N_("A usual number of active %(window)ss"),
    N_("Active in fewer %(window)ss than %(humans)s"),
    N_("More different %(window)ss than %(humans)s"),
    N_("A usual number of different %(window)ss"),
    N_("Fewer different %(window)ss than %(humans)s"),
    N_("More idle %(window)ss online than %(humans)s"),
    N_("A usual number of idle %(window)ss online"),
    N_("Fewer idle %(window)ss online than %(humans)s"),
    N_("One and the same %(window)s comes back more often than with %(humans)s"),
    N_("%(window)ss repeat exactly about as often as usual"),
    N_("%(window)ss repeat exactly less often than with %(humans)s"),
    N_("More actions than %(humans)s"),
    N_("A usual number of actions"),
    N_("Fewer actions than %(humans)s"),
    N_("A higher main character than %(humans)s"),
    N_("A main character of a usual level"),
    N_("A lower main character than %(humans)s"),
    N_("Online longer than %(humans)s"),
    N_("Online for a usual time"),
    N_("Online for a shorter time than %(humans)s"),
    N_("Kills more monsters than %(humans)s"),
    N_("Kills a usual number of monsters"),
    N_("Kills fewer monsters than %(humans)s"),
    N_("Receives in more trades than %(humans)s"),
    N_("Receives in a usual number of trades"),
    N_("Receives in fewer trades than %(humans)s"),
    N_("Gives in more trades than %(humans)s"),
    N_("Gives in a usual number of trades"),
    N_("Gives in fewer trades than %(humans)s"),
    N_("Takes out of storage more often than %(humans)s"),
    N_("Takes out of storage as often as usual"),
    N_("Takes out of storage less often than %(humans)s"),
    N_("Puts into storage more often than %(humans)s"),
    N_("Puts into storage as often as usual"),
    N_("Puts into storage less often than %(humans)s"),
    N_("Acts faster than %(humans)s"),
    N_("Acts at a usual pace"),
    N_("Acts more slowly than %(humans)s"),
    N_("Sends more packets than %(humans)s"),
    N_("Sends a usual number of packets"),
    N_("Sends fewer packets than %(humans)s"),
    N_("Goes farther east or west at a step than %(humans)s"),
    N_("Goes as far east or west at a step as usual"),
    N_("Goes less far east or west at a step than %(humans)s"),
    N_("Goes farther north or south at a step than %(humans)s"),
    N_("Goes as far north or south at a step as usual"),
    N_("Goes less far north or south at a step than %(humans)s"),
    N_("Takes longer steps than %(humans)s"),
    N_("Takes steps of usual length"),
    N_("Takes shorter steps than %(humans)s"),
    N_("Lets more time pass between two steps than %(humans)s"),
    N_("Lets as much time pass between two steps as usual"),
    N_("Steps again sooner than %(humans)s"),
    N_("Lets more time pass between two pick-ups than %(humans)s"),
    N_("Lets as much time pass between two pick-ups as usual"),
    N_("Picks up again sooner than %(humans)s"),
    N_("Takes longer from turning to picking up than %(humans)s"),
    N_("Takes as long from turning to picking up as usual"),
    N_("Is faster from turning to picking up than %(humans)s"),
    N_("Takes longer from the last blow to the first pick-up than %(humans)s"),
    N_("Takes as long from the last blow to the first pick-up as usual"),
    N_("Is faster from the last blow to the first pick-up than %(humans)s"),
    N_("Orders lasting attacks more often than %(humans)s"),
    N_("Orders lasting attacks as often as usual"),
    N_("Orders lasting attacks less often than %(humans)s"),
    N_("Turns more sharply on its way than %(humans)s"),
    N_("Turns on its way as usual"),
    N_("Keeps its course more than %(humans)s"),
    N_("Its turns vary more than those of %(humans)s"),
    N_("Its turns vary as usual"),
    N_("Its turns vary less than those of %(humans)s"),
    N_("Turns back more often than %(humans)s"),
    N_("Turns back as often as usual"),
    N_("Turns back less often than %(humans)s"),
    N_("Strikes single blows more often than %(humans)s"),
    N_("Strikes single blows as often as usual"),
    N_("Strikes single blows less often than %(humans)s"),
)
_SHOWN = (
    N_("self-similarity %(value)s"),
    N_("the most frequent one counts %(value)s"),
    N_("%(value)s log entries a minute"),
    N_("%(value)s log entries"),
    N_("level %(value)s"),
    N_("%(value)s of %(period)s minutes"),
    N_("%(value)s a second"),
    N_("%(value)s cells"),
    N_("%(value)s ms"),
    N_("%(value)s degrees"),
    N_("circular variance %(value)s"),
    N_("%(value)s of 1"),
)
_ASIDES = (
    N_("no human in training was that far up"),
    N_("no human in training was that far down"),
    N_("only %(share)s %% of humans are that far up"),
    N_("only %(share)s %% of humans are that far down"),
    N_("%(share)s %% of humans are that far up"),
    N_("%(share)s %% of humans are that far down"),
)
_VALUES = {
    "nearly all humans": N_("nearly all humans"),
    "most humans": N_("most humans"),
    "second": N_("1 second"),
    "minute": N_("1 minute"),
    "hour": N_("1 hour"),
    "day": N_("1 day"),
    "window": N_("1 window"),
    "watch": N_("watch"),
    "review": N_("review"),
    "limit": N_("limit"),
    "challenge": N_("challenge"),
    "freeze": N_("freeze"),
    "isolate": N_("isolate"),
    "hold": N_("hold"),
    "suspend": N_("suspend"),
    "ban": N_("ban"),
    "dismiss": N_("dismiss"),
    "hold, suspend and ban": N_("hold, suspend and ban"),
    "events": N_("events"),
    "features": N_("features"),
    "scores": N_("scores"),
    "verdicts": N_("verdicts"),
    "decisions": N_("decisions"),
}
_SENTENCES = (
    # why the ladder decides
    N_("suspicion %(score)s of %(enter)s needed for %(name)s (rung %(number)s)"),
    N_("among the first %(n)s accounts of the day that nobody has reviewed"),
    N_("1 observation counts, that of %(day)s"),
    N_("%(n)s observations count, the newest of %(day)s"),
    N_("challenges not passed in the last %(span)s: %(n)s"),
    N_(
        "verdict of %(day)s: false-positive rate %(fpr)s of at most %(most)s; %(agree)s families of features say bot, "
        "%(needed)s needed; %(covered)s of the period covered"
    ),
    N_(
        "verdict of %(day)s: false-positive rate %(fpr)s of at most %(most)s; %(agree)s families of features say bot, "
        "%(needed)s needed"
    ),
    N_(
        "verdict of %(day)s: false-positive rate %(fpr)s of at most %(most)s; 1 family of features says bot, "
        "%(needed)s needed; %(covered)s of the period covered"
    ),
    N_(
        "verdict of %(day)s: false-positive rate %(fpr)s of at most %(most)s; 1 family of features says bot, "
        "%(needed)s needed"
    ),
    N_("log likelihood ratio %(value)s"),
    # how decisions and actions stand
    N_("rehearsed"),
    N_("pending"),
    N_("active"),
    N_("ended"),
    N_("expired"),
    N_("waits"),
    N_("waits for %(whom)s"),
    N_("cancelled"),
    N_("carried out"),
    N_("uncertain"),
    N_("stopped"),
    N_("stands"),
    N_("taken back"),
    N_("done"),
    N_("failed"),
    N_("verdict"),
    N_("An appeal was overturned: what spoke against the account here no longer counts."),
    # who waits for a vote, and why
    N_("nobody has looked at it yet"),
    N_("1 of 3 raters has looked at it"),
    N_("2 of 3 raters have looked at it"),
    N_("those who looked do not agree"),
    N_("a vote contradicts what is known of it: a third person decides"),
    N_("it was judged on new days since"),
    N_("more money passes through it than through nine in ten others here"),
    # groups
    N_("%(n)s accounts were seen at one address"),
    N_("labels say that %(n)s accounts belong together"),
    N_("%(n)s accounts hand %(share)s %% of all they give to %(hub)s, which gives nothing back"),
    N_("%(n)s accounts hand %(share)s %% of all they give to %(hub)s, which give nothing back"),
    N_("%(n)s accounts pass things on, each to one and that one to the next"),
    N_("In %(n)s gifts they gave %(money)s in money and %(items)s items."),
    N_("In %(n)s gifts they gave %(money)s in money."),
    N_("In %(n)s gifts they gave %(items)s items."),
    N_("In %(n)s gifts they passed on up to %(money)s in money and %(items)s items at a step."),
    N_("In %(n)s gifts they passed on up to %(money)s in money at a step."),
    N_("In %(n)s gifts they passed on up to %(items)s items at a step."),
    N_("They neither trade nor play with one another."),
    N_("Half of them play at most %(hours)s hours a week."),
    N_("The hub hands %(share)s %% of it on to 1 other."),
    N_("The hub hands %(share)s %% of it on to %(n)s others."),
    N_("The hubs hand %(share)s %% of it on to %(n)s others."),
    N_("They are too few for a star that speaks by itself."),
    N_("Not all signs of a farm are there: see who they are."),
    N_(
        "Nobody here gives to another who gives nothing back: it may be a household, a café or a dormitory, or a "
        "network that gives many people one address."
    ),
    N_("1 pair of accounts at this address trade in one direction only."),
    N_("%(n)s pairs of accounts at this address trade in one direction only."),
    N_("A guild's bank and a friend who sells for others look like this too: see what speaks about each account."),
    # the policy
    N_("Entered when suspicion reaches %(enter)s, left below %(leave)s."),
    N_("Nothing of it reaches the game."),
    N_("It needs no particular evidence: looking harms nobody."),
    N_("A verdict must carry it that at most 1 in %(n)s people would get; %(agree)s families of evidence must agree."),
    N_("A verdict must carry it that at most 1 in %(n)s people would get; 1 family of evidence must agree."),
    N_("It needs no rate: the %(n)s most suspicious accounts a day that nobody has reviewed become cases."),
    N_("It holds for at most %(n)s days in all until a person has looked at the account."),
    N_("It ends by itself after %(span)s, unless newer evidence carries it."),
    N_("To stop everything, set armed = false under [response] in warden.toml of %(name)s."),
    N_(
        "Arming is done by whoever runs the server, in no browser: armed = true under [response] in warden.toml of "
        "%(name)s. Begin with a small canary: the others are rehearsed still."
    ),
    N_("Policy %(digest)s."),
    N_(
        "Suspicion (log-odds) starts at %(prior)s, a share of %(share)s bots, and decays to it with play, about two "
        "thirds of the way in %(span)s; it stays from %(least)s to %(most)s."
    ),
    N_("The first verdict counts whole, a further one %(part)s of that; a challenge counts whole."),
    N_(
        "A rung that needs evidence rests on a verdict of the last %(span)s with at most that false-positive rate "
        "(fpr), so many families that agree, %(covered)s of its period covered, and a source that the models know."
    ),
    N_(
        "Each day the %(n)s most suspicious accounts that nobody has reviewed become review cases, whatever their "
        "false-positive rate."
    ),
    N_("Only a person decides on %(steps)s; a ban or suspension for longer than %(span)s needs a second one."),
    N_("Only a person decides on %(steps)s; a ban needs no second one."),
    N_("%(step)s cannot be reached: %(why)s"),
    N_("%(step)s can be reached only after a failed challenge: %(why)s"),
    N_("Decisions are carried out: [response] armed is true."),
    N_("Nothing leaves gamewarden: [response] armed is false."),
    N_("Policy %(digest)s on %(what)s."),
    N_("%(n)s accounts would have reached a rung, and %(touched)s of them a step that players can feel."),
    N_("Of %(n)s known humans %(touched)s would have been touched."),
    N_("Of %(n)s known bots %(touched)s would have been touched."),
    N_("Outcomes of challenges are those of the policy that was in force then."),
    # how the models keep
    N_("no period is over yet"),
    N_("scores of %(day)s are not to be trusted: %(doubts)s"),
    N_("in control on %(day)s, within provisional limits"),
    N_("in control on %(day)s, within its limits"),
    N_("its limits are still being learned (%(day)s)"),
    N_("nothing could be compared on %(day)s"),
    N_("out of control on %(day)s: %(how)s"),
    N_("in control"),
    N_("learning"),
    N_("missing"),
    # verdicts
    N_("The point to act is closed ([verdict] act = 0.0): a verdict is a reason to look."),
    N_(
        "Nobody can reach the point to act with these models: %(agree)s families of features must agree and only "
        "%(names)s can speak; the FPR must be %(act)s and is never below %(least)s (%(people)s held-out "
        "humans). It takes %(takes)s; until then a verdict is a reason to look, no more."
    ),
    N_(
        "Nobody can reach the point to act with these models: %(agree)s families of features must agree and only "
        "%(names)s can speak. It takes %(takes)s; until then a verdict is a reason to look, no more."
    ),
    N_(
        "Nobody can reach the point to act with these models: the FPR must be %(act)s and is never below %(least)s "
        "(%(people)s held-out humans). It takes %(takes)s; until then a verdict is a reason to look, no more."
    ),
    N_("%(models)s learned from a synthetic world: the humans there, the typical one too, are simulated"),
    N_(
        "%(n)s of %(of)s rows lie far beyond what %(model)s learned from, most by %(feature)s; no more than watching "
        "follows from them"
    ),
    N_("`gamewarden rank` lists whom to look at; %(n)s verdicts reach a point to watch or to act"),
    N_("%(what)s are kept for ever"),
    N_("%(what)s are kept for %(span)s"),
    # what people may do
    N_("read"),
    N_("vote"),
    N_("decide"),
    N_("operate"),
    N_("administer"),
    N_("push"),
    N_("metrics"),
    # what was just done
    N_("a bot"),
    N_("a person"),
    N_("not sure"),
    N_("skipped"),
    N_("%(n)s accounts dismissed, %(back)s taken back"),
    N_("1 account dismissed, %(back)s taken back"),
    N_("1 decision taken back"),
    N_("%(n)s decisions taken back"),
    N_("The view %(view)s is kept."),
    N_("The view is removed."),
    N_("%(text)s is marked on %(day)s."),
    N_("The mark is removed."),
    N_("a run begins"),
    N_("a run goes on already"),
    N_("Your password is changed, and all other sessions ended."),
    N_("Your settings are kept."),
    N_("%(name)s is %(role)s now."),
    N_("%(name)s is let in no longer."),
    N_("%(name)s is let in again."),
    N_("The token opens nothing any more."),
    N_("%(step)s: %(n)s accounts (rehearsal: nothing leaves gamewarden)"),
    N_("%(step)s: 1 account (rehearsal: nothing leaves gamewarden)"),
    # what did not work
    N_("log in: name or password is wrong"),
    N_("password: the old one is wrong; type it again"),
    N_("password: the two new ones differ; type them again"),
    N_("This form is of another session; load the page again."),
    N_("This needs the right %(right)s, which %(who)s does not have."),
)
_REASON = re.compile(r"(.+?): (?:(.+), )?a typical human \w+ (\S+)(?: \((.+)\))?\.")
_PLACE = re.compile(r"%\((\w+)\)s|%%")
_SPAN = re.compile(r"(\d{1,6})([mhdw])")
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_AS_MANY = 4_096  # sentences: a list has one a row, and most come again


def told(sentence: str, language: Language) -> str:
    """A sentence as the reader reads it; as it is where nobody has translated its pattern."""
    return sentence if language.code == "en" else _told(sentence, language)


@lru_cache(maxsize=_AS_MANY)
def _told(sentence: str, language: Language) -> str:
    reason = _REASON.fullmatch(sentence)
    if reason is not None:
        found = _reason(reason, language)
        return sentence if found is None else found
    return _refilled(sentence, _SENTENCES, language) or _by_parts(sentence, language)


def _by_parts(sentence: str, language: Language) -> str:
    """Several sentences in one line, each perhaps with a name before it."""
    parts = []
    for part in sentence.split("; "):
        name, colon, rest = part.rpartition(": ")
        parts.append(name + colon + (_refilled(rest, _SENTENCES, language) or rest))
    return "; ".join(parts)


def _reason(reason: re.Match[str], language: Language) -> str | None:
    """What a number means, the number, the typical human's, and how rare it is."""
    lead, shown, typical, aside = reason.groups()
    means = _refilled(lead, _LEADS, language)
    if means is None:
        return None
    number = "–" if shown is None else _refilled(shown, _SHOWN, language) or shown
    words = {"means": means, "number": number, "typical": typical}
    if aside is None:
        return language.text(N_("%(means)s: %(number)s, a usual person has %(typical)s.")) % words
    words["rare"] = _refilled(aside, _ASIDES, language) or aside
    return language.text(N_("%(means)s: %(number)s, a usual person has %(typical)s (%(rare)s).")) % words


def _refilled(sentence: str, patterns: tuple[str, ...], language: Language) -> str | None:
    """The first pattern that the sentence has, in this language and with the sentence's values."""
    for pattern in patterns:
        found = _regex(pattern).fullmatch(sentence)
        if found is not None:
            values = {name: _value(value, language) for name, value in found.groupdict().items()}
            return language.text(pattern) % values
    return None


def _value(value: str, language: Language) -> str:
    span = _SPAN.fullmatch(value)
    if span is not None:
        return language.duration(int(span[1]) * _MINUTES[span[2]])
    known = _VALUES.get(value.lower())
    return value if known is None else language.text(known)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    made, at = "", 0
    for place in _PLACE.finditer(pattern):
        made += re.escape(pattern[at : place.start()]) + (f"(?P<{place[1]}>.+?)" if place[1] else "%")
        at = place.end()
    return re.compile(made + re.escape(pattern[at:]))

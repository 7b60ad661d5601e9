"""Who is let in at the desk, for how long and with what rights; nobody guesses a password, nobody is locked out."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from argon2 import PasswordHasher

from gamewarden.cases import AuditLine
from gamewarden.config import DESK_ROLES, DeskSettings
from gamewarden.desk import people as p
from gamewarden.desk.logins import Logins
from gamewarden.desk.passwords import digest_of, for_one_log_in, is_right, refuse_weak
from gamewarden.desk.throttling import ATTACKED, FREE, FREE_OF_ADDRESS, LONGEST, network_of
from gamewarden.desk.tokens import make_token, person_of_token, revoke_token, tokens_of
from gamewarden.desk_records import LoginFailure, LoginSession, Token, User
from gamewarden.errors import ConfigError, LedgerError, LoginError, PeopleError
from gamewarden.store.ledger.ledger import Ledger

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(**{unit: 1}) for unit in ("seconds", "minutes", "hours", "days"))
HERE, THERE = "192.0.2.1", "198.51.100.7"
GOOD = "a sentence that is long"


@pytest.fixture
def empty(tmp_path):
    made = Ledger.at(tmp_path / "ledger.db")
    yield made
    made.close()


@pytest.fixture
def ledger(empty, digest):
    """A ledger with a moderator, and an admin beside her."""
    with empty.writing("test", AT) as work:
        work.add([user("anna", "moderator", digest), user("root", "admin", digest)])
    return empty


@pytest.fixture
def logins(ledger):
    return Logins.by(ledger, DeskSettings())


@pytest.fixture
def digest(quick_passwords):
    return quick_passwords.hash(GOOD)


def user(name, role="viewer", digest=None, **changed):
    values = {"password": digest, "must_change": False, "disabled": False, "created": AT}
    return User(name, role, **values | changed)


def lines(ledger):
    return [(one.who, one.what, one.subject) for one in ledger.find(AuditLine)]


def fail(logins, name="anna", address=HERE, at=AT, times=1):
    for _ in range(times):
        with pytest.raises(LoginError, match="name or password is wrong"):
            logins.log_in(name, "wrong", address, at)


# Passwords


def test_a_password_is_kept_as_argon2id_and_known_again():
    digest = digest_of(GOOD)

    assert digest.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert is_right(GOOD, digest)
    assert not is_right(GOOD + "!", digest)
    assert not is_right(GOOD, None)
    assert not is_right(GOOD, "no digest")
    assert not is_right("x" * 10_000, digest)
    assert not is_right("\ud800", digest)


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("short", "has 5 letters"),
        ("x" * 257, "has 257 letters"),
        ("aaaaaaaaaaaab", "too few different"),
        ("anna-margarete1", "little more than the name"),
        ("half a letter \ud800", "half a letter"),
    ],
)
def test_a_weak_password_is_refused_in_one_line(password, why):
    with pytest.raises(PeopleError, match=why):
        refuse_weak(password, "anna-margarete")


def test_a_password_for_one_log_in_is_never_the_same():
    assert len({for_one_log_in() for _ in range(200)}) == 200
    refuse_weak(for_one_log_in(), "admin")


# The first admin


@pytest.mark.usefixtures("quick_passwords")
def test_the_first_start_makes_an_admin_whose_password_is_told_once(empty):
    ledger, logins = empty, Logins.by(empty, DeskSettings())
    password = p.first_admin(ledger, AT)

    assert p.first_admin(ledger, AT) is None
    assert logins.log_in("admin", password, HERE, AT + HOUR).person.must_change
    assert [one.name for one in p.people(ledger)] == ["admin"]
    assert password not in str(ledger.find(AuditLine)) + str(ledger.find(User))


@pytest.mark.usefixtures("quick_passwords")
def test_a_password_for_one_log_in_runs_out_after_a_day(empty):
    password = p.first_admin(empty, AT)

    with pytest.raises(LoginError, match="has run out"):
        Logins.by(empty, DeskSettings()).log_in("admin", password, HERE, AT + DAY)


@pytest.mark.usefixtures("quick_passwords")
def test_whoever_has_the_machine_gets_back_in_as_admin(empty):
    ledger, logins = empty, Logins.by(empty, DeskSettings())
    old = logins.log_in("admin", p.first_admin(ledger, AT), HERE, AT)
    with ledger.writing("test", AT) as work:
        [was] = work.find(User)
        work.change(was, replace(was, role="viewer", disabled=True))

    password = p.reset_admin(ledger, AT + HOUR)

    assert logins.person(old.secret, AT + HOUR) is None
    assert logins.log_in("admin", password, HERE, AT + HOUR).person.rights == p.ROLES["admin"]


def test_an_admin_that_is_gone_is_made_again(ledger, logins):
    assert logins.log_in("admin", p.reset_admin(ledger, AT), HERE, AT).person.must_change


# Sessions


def test_whoever_logs_in_is_known_by_the_cookie_and_no_secret_is_kept(ledger, logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)

    person = logins.person(begun.secret, AT + MINUTE)
    assert (person.name, person.role, person.rights) == ("anna", "moderator", p.ROLES["moderator"])
    assert person.csrf == begun.person.csrf != ""
    assert logins.person("another", AT) is None
    assert logins.person("", AT) is None
    assert begun.secret not in str(ledger.find(LoginSession))
    assert lines(ledger)[-1] == ("anna", "log in", "user anna")


def test_every_log_in_has_a_cookie_and_a_form_secret_of_its_own(logins):
    one, other = (logins.log_in("anna", GOOD, HERE, AT) for _ in range(2))

    assert one.secret != other.secret
    assert one.person.csrf != other.person.csrf


def test_whoever_does_nothing_is_logged_out_and_whoever_works_is_not(logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)

    assert logins.person(begun.secret, AT + 7 * HOUR)
    assert logins.person(begun.secret, AT + 14 * HOUR)
    assert logins.person(begun.secret, AT + 22 * HOUR) is None


def test_nobody_stays_logged_in_for_longer_than_a_week(logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)
    for hours in range(0, 7 * 24, 6):
        assert logins.person(begun.secret, AT + hours * HOUR)

    assert logins.person(begun.secret, AT + 7 * DAY) is None


def test_a_page_writes_at_most_every_five_minutes_that_somebody_was_there(ledger, logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)

    for minutes, seen in ((1, 0), (4, 0), (5, 5), (9, 5), (10, 10)):
        logins.person(begun.secret, AT + minutes * MINUTE)
        assert ledger.find(LoginSession)[0].seen == AT + seen * MINUTE


def test_a_page_does_not_wait_for_somebody_who_writes_for_long(ledger, logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)

    with ledger.writing("a long run", AT):
        assert logins.person(begun.secret, AT + HOUR)


def test_whoever_logs_out_is_out_and_stays_in_elsewhere(ledger, logins):
    one, other = (logins.log_in("anna", GOOD, HERE, AT) for _ in range(2))

    logins.log_out(one.secret, AT)

    assert logins.person(one.secret, AT) is None
    assert logins.person(other.secret, AT)
    assert lines(ledger)[-1] == ("anna", "log out", "user anna")
    assert logins.log_out_everywhere("anna", AT) == 1
    assert logins.person(other.secret, AT) is None


def test_a_new_password_ends_all_sessions_and_begins_one(logins):
    one, other = (logins.log_in("anna", GOOD, HERE, AT) for _ in range(2))

    begun = logins.change_password("anna", GOOD, "another long sentence", HERE, AT)

    assert [logins.person(secret, AT) for secret in (one.secret, other.secret)] == [None, None]
    assert logins.person(begun.secret, AT).name == "anna"
    fail(logins, times=1)
    assert logins.log_in("anna", "another long sentence", HERE, AT)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("wrong", "another long sentence", "the old one is wrong"),
        (GOOD, GOOD, "is the old one"),
        (GOOD, "short", "has 5 letters"),
    ],
)
def test_a_password_is_not_changed_without_the_old_one_or_to_a_weak_one(logins, old, new, why):
    with pytest.raises(PeopleError, match=why):
        logins.change_password("anna", old, new, HERE, AT)

    assert logins.log_in("anna", GOOD, HERE, AT)


def test_a_digest_of_older_parameters_is_made_anew_at_the_next_log_in(ledger, logins, digest):
    weak = PasswordHasher(time_cost=2, memory_cost=64, parallelism=1).hash(GOOD)
    with ledger.writing("test", AT) as work:
        work.put([user("anna", digest=weak)])

    logins.log_in("anna", GOOD, HERE, AT)

    [now] = ledger.find(User, name="anna")
    assert now.password.split("$")[:4] == digest.split("$")[:4] != weak.split("$")[:4]
    assert logins.log_in("anna", GOOD, HERE, AT)


def test_a_disabled_person_is_out_at_once_everywhere(ledger, logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)
    token = make_token(ledger, "anna", "nightly", ["read"], AT).text

    p.disable(ledger, "anna", "root", AT)

    assert logins.person(begun.secret, AT) is None
    assert person_of_token(ledger, token, AT) is None
    fail_with_right_password = pytest.raises(LoginError, match="name or password is wrong")
    with fail_with_right_password:
        logins.log_in("anna", GOOD, HERE, AT)
    p.enable(ledger, "anna", "root", AT)
    assert logins.person(begun.secret, AT) is None
    assert logins.log_in("anna", GOOD, HERE, AT)
    assert person_of_token(ledger, token, AT)


def test_somebody_who_is_disabled_is_out_even_where_a_session_is_left(ledger, logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)

    with ledger.writing("test", AT) as work:
        [anna] = work.find(User, name="anna")
        work.change(anna, replace(anna, disabled=True))

    assert logins.person(begun.secret, AT) is None


def test_a_role_that_changes_counts_from_the_next_page_on(ledger, logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)

    p.change_role(ledger, "anna", "viewer", "root", AT)

    assert logins.person(begun.secret, AT).rights == {"read"}


def test_failed_log_ins_are_audited_without_a_name_that_nobody_has(ledger, logins):
    fail(logins)
    fail(logins, name="my-secret-password")

    assert lines(ledger)[-2:] == [
        ("nobody", "failed log in", "user anna"),
        ("nobody", "failed log in", "unknown user"),
    ]
    assert "my-secret" not in str(ledger.find(AuditLine)) + str(ledger.find(LoginFailure))


# Guessing


def test_after_five_failures_one_waits_longer_and_longer_and_never_for_ever(logins):
    fail(logins, times=FREE)
    at, waits = AT, []
    for _ in range(12):
        with pytest.raises(LoginError, match=r"too many failed tries; wait [0-9]+ seconds") as caught:
            logins.log_in("anna", GOOD, HERE, at)
        waits.append(caught.value.wait)
        at += timedelta(seconds=caught.value.wait)
        fail(logins, at=at)

    assert waits[:5] == [2, 4, 8, 16, 32]
    assert waits[-1] == LONGEST.total_seconds()
    assert logins.log_in("anna", GOOD, HERE, at + LONGEST)


def test_many_tries_at_once_are_as_many_as_one_after_the_other(logins):
    def tried(_number):
        try:
            logins.log_in("anna", "wrong", HERE, AT)
        except LoginError as error:
            return error.wait

    with ThreadPoolExecutor(12) as pool:
        waits = list(pool.map(tried, range(24)))

    assert waits.count(0) == FREE
    assert waits.count(2) == 24 - FREE


def test_people_log_in_on_both_databases(place, quick_passwords):
    ledger = Ledger.at(place)
    with ledger.writing("test", AT) as work:
        work.add([user("anna", "moderator", quick_passwords.hash(GOOD))])
    logins = Logins.by(ledger, DeskSettings())

    fail(logins, times=FREE)
    begun = logins.log_in("anna", GOOD, THERE, AT)

    assert logins.person(begun.secret, AT + HOUR).name == "anna"
    assert ledger.find(LoginSession)[0].seen == AT + HOUR
    with pytest.raises(LoginError, match="too many"):
        logins.log_in("anna", GOOD, HERE, AT)
    logins.close()
    ledger.close()


def test_the_right_password_does_not_help_while_one_has_to_wait(logins):
    fail(logins, times=FREE)

    with pytest.raises(LoginError, match="too many"):
        logins.log_in("anna", GOOD, HERE, AT + SECOND)
    assert logins.log_in("anna", GOOD, HERE, AT + 2 * SECOND)


def test_waiting_survives_a_restart(ledger, logins):
    fail(logins, times=FREE)

    with pytest.raises(LoginError, match="too many"):
        Logins.by(Ledger.at(ledger.engine.url.database), DeskSettings()).log_in("anna", GOOD, HERE, AT)


def test_a_success_forgives_what_failed_before(logins):
    fail(logins, times=FREE - 1)
    logins.log_in("anna", GOOD, HERE, AT)

    fail(logins, times=FREE - 1)
    assert logins.log_in("anna", GOOD, HERE, AT)


def test_somebody_who_guesses_elsewhere_locks_nobody_out(logins):
    fail(logins, address=THERE, times=FREE)

    assert logins.log_in("anna", GOOD, HERE, AT)


def test_an_address_that_tries_many_names_waits_too(logins):
    for number in range(FREE_OF_ADDRESS):
        fail(logins, name=f"name-{number}")

    with pytest.raises(LoginError, match="too many"):
        logins.log_in("anna", GOOD, HERE, AT)
    assert logins.log_in("anna", GOOD, THERE, AT)


def test_own_log_ins_between_do_not_let_an_address_guess_on(logins):
    for number in range(FREE_OF_ADDRESS):
        fail(logins, name=f"name-{number}")
        if number < FREE:
            logins.log_in("root", GOOD, HERE, AT)

    with pytest.raises(LoginError, match="too many"):
        logins.log_in("anna", GOOD, HERE, AT)


def attack(ledger, name="anna"):
    """As many failures as make a name a target, from addresses all over."""
    from gamewarden.desk.throttling import Try, _Counts

    for number in range(ATTACKED):
        with ledger.writing("test", AT) as work:
            _Counts(work, Try(name, f"203.0.113.{number}", AT)).count(1)


def test_a_name_that_is_guessed_at_from_everywhere_has_one_free_failure_per_address(ledger, logins):
    attack(ledger)

    fail(logins, address=THERE)
    with pytest.raises(LoginError, match="wait 60 seconds"):
        logins.log_in("anna", GOOD, THERE, AT)
    assert logins.log_in("anna", GOOD, HERE, AT)


def test_whoever_is_logged_in_from_an_address_is_known_there_under_attack(ledger, logins):
    logins.log_in("anna", GOOD, HERE, AT)
    attack(ledger)
    for number in range(FREE_OF_ADDRESS):
        fail(logins, name=f"name-{number}")

    fail(logins, times=FREE - 1)
    assert logins.log_in("anna", GOOD, HERE, AT)


def test_failures_are_forgotten_after_a_day(logins):
    fail(logins, times=FREE)

    fail(logins, at=AT + DAY, times=FREE)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("unix", "unix", True),
    ],
)
def test_an_address_is_what_one_customer_has(one, other, same):
    assert (network_of(one) == network_of(other)) is same


# People


def test_the_roles_of_the_settings_are_those_of_the_desk():
    assert tuple(p.ROLES) == DESK_ROLES
    assert all(rights <= set(p.RIGHTS) for rights in p.ROLES.values())


def test_a_person_who_was_added_logs_in_once_with_what_they_were_handed(ledger, logins):
    password = p.add_user(ledger, "bert", "reviewer", "root", AT)

    begun = logins.log_in("bert", password, HERE, AT)
    assert begun.person.must_change
    assert not logins.change_password("bert", password, GOOD, HERE, AT).person.must_change
    assert ("root", "add users", "user bert") in lines(ledger)


@pytest.mark.parametrize("name", ["", " ", "a b", "x" * 65, "ladder", "Nobody", "a\0b", "<b>", "\u202eevil", "-x"])
def test_what_is_no_name_is_refused(ledger, name):
    with pytest.raises(PeopleError, match="is no name"):
        p.add_user(ledger, name, "viewer", "root", AT)


def test_nobody_is_called_as_somebody_else(ledger):
    with pytest.raises(PeopleError, match="somebody is called anna already"):
        p.add_user(ledger, "ANNA", "viewer", "root", AT)


def test_there_is_always_somebody_who_administers(ledger):
    for act in (
        lambda: p.disable(ledger, "root", "root", AT),
        lambda: p.change_role(ledger, "root", "viewer", "root", AT),
    ):
        with pytest.raises(PeopleError, match="nobody would be left who administers"):
            act()
    p.change_role(ledger, "anna", "admin", "root", AT)
    p.disable(ledger, "root", "anna", AT)

    assert [(one.name, one.role, one.disabled) for one in p.people(ledger)] == [
        ("anna", "admin", False),
        ("root", "admin", True),
    ]


def test_roles_and_people_that_are_not_there_are_refused(ledger):
    with pytest.raises(PeopleError, match="there is no role 'king'"):
        p.change_role(ledger, "anna", "king", "root", AT)
    with pytest.raises(PeopleError, match="nobody is called 'bob'"):
        p.change_role(ledger, "bob", "viewer", "root", AT)


def test_a_new_password_for_one_log_in_ends_the_sessions(ledger, logins):
    begun = logins.log_in("anna", GOOD, HERE, AT)

    password = p.new_password(ledger, "anna", "root", AT)

    assert logins.person(begun.secret, AT) is None
    assert logins.log_in("anna", password, HERE, AT).person.must_change


def test_wishes_are_kept_and_odd_ones_refused(ledger, logins):
    p.change_wishes(ledger, "anna", AT, language="ko", theme="dark", zone="Asia/Seoul", shortcuts=False)

    person = logins.log_in("anna", GOOD, HERE, AT).person
    assert (person.language, person.theme, person.zone, person.shortcuts) == ("ko", "dark", "Asia/Seoul", False)
    with pytest.raises(PeopleError, match="there is no theme"):
        p.change_wishes(ledger, "anna", AT, theme="pink")
    with pytest.raises(ConfigError, match="Mars/Base"):
        p.change_wishes(ledger, "anna", AT, zone="Mars/Base")


# Tokens


def test_a_token_opens_what_its_scopes_and_its_owner_allow(ledger):
    made = make_token(ledger, "anna", "nightly", ["read", "decide"], AT)

    person = person_of_token(ledger, made.text, AT)
    assert (person.name, person.rights, person.token, person.csrf) == ("anna", {"read", "decide"}, made.token.id, "")
    p.change_role(ledger, "anna", "viewer", "root", AT)
    assert person_of_token(ledger, made.text, AT).rights == {"read"}
    assert made.text.split("_", 2)[2] not in str(ledger.find(Token)) + str(ledger.find(AuditLine))


def test_a_token_never_has_more_than_its_owner(ledger):
    with pytest.raises(PeopleError, match="its owner has no right 'administer'"):
        make_token(ledger, "anna", "more", ["administer"], AT)
    with pytest.raises(PeopleError, match="has no scope"):
        make_token(ledger, "anna", "none", [], AT)
    with pytest.raises(PeopleError, match="needs 1 to 64"):
        make_token(ledger, "anna", " ", ["read"], AT)
    with pytest.raises(PeopleError, match="0 days"):
        make_token(ledger, "anna", "over", ["read"], AT, days=0)


def test_a_token_that_is_over_or_revoked_opens_nothing(ledger):
    one = make_token(ledger, "anna", "a week", ["read"], AT, days=7)
    other = make_token(ledger, "anna", "for ever", ["read"], AT)

    assert person_of_token(ledger, one.text, AT + 7 * DAY - SECOND)
    assert person_of_token(ledger, one.text, AT + 7 * DAY) is None
    revoke_token(ledger, other.token.id, p.Person("anna", "moderator", frozenset()), AT)
    assert person_of_token(ledger, other.text, AT) is None
    assert [one.works for one in tokens_of(ledger, "anna", AT + 8 * DAY)] == [False, False]


def test_only_its_owner_and_who_administers_revoke_a_token(ledger):
    made = make_token(ledger, "root", "nightly", ["read"], AT)
    stranger = p.Person("anna", "moderator", p.ROLES["moderator"])

    with pytest.raises(PeopleError, match="there is no token"):
        revoke_token(ledger, made.token.id, stranger, AT)
    revoke_token(ledger, made.token.id, replace(stranger, rights=p.ROLES["admin"]), AT)
    assert person_of_token(ledger, made.text, AT) is None


@pytest.mark.parametrize(
    "text", ["", "gw", "gw_", "gw__", "gw_{id}_", "gw_{id}_wrong", "xx_{id}_{secret}", "gw_{id}\0", "é_é_é"]
)
def test_what_is_no_token_opens_nothing(ledger, text):
    _, number, secret = make_token(ledger, "anna", "nightly", ["read"], AT).text.split("_", 2)

    assert person_of_token(ledger, text.format(id=number, secret=secret), AT) is None


def test_a_password_that_changes_between_look_and_log_in_is_noticed(ledger):
    from gamewarden.desk.logins import _still

    [old] = ledger.find(User, name="anna")
    p.new_password(ledger, "anna", "root", AT)

    with pytest.raises(LoginError), ledger.writing("test", AT) as work:
        _still(work, old)
    with pytest.raises(LedgerError), ledger.writing("test", AT) as work:
        work.change(old, replace(old, theme="dark"))

"""When somebody was online, by logins and logouts: plain code, compiled where it runs for everybody."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NO_SESSION, LOGIN, LOGOUT, OTHER_SESSION = 0, 1, 2, 3  # what a kind says about being online


def session_kind(name: str) -> int:
    """What a kind says about being online."""
    named = {"session.login": LOGIN, "session.logout": LOGOUT}
    return named.get(name, OTHER_SESSION if name.startswith("session.") else NO_SESSION)


# Each of the two is compiled by itself, and so calls nothing of ours.
def session_spans(at: Ints, seq: Ints, key: Ints, since: int, ended: int) -> tuple[Ints, Ints]:
    """The intervals between logins and logouts; a key is `session << 2 | LOGIN or LOGOUT`.

    A login opens, the next logout of its session closes. A logout with no login of its session before it opens at
    `since`; a login with no logout after it closes at `ended`. Where nothing tells a login from a logout of its
    session, the logout is first if the session is open then, and the login is first if not.
    """
    order = np.argsort(key, kind="mergesort")  # in a session, logins before logouts
    order = order[np.argsort(seq[order], kind="mergesort")]
    order = order[np.argsort(at[order], kind="mergesort")]
    order = order[np.argsort(key[order] >> 2, kind="mergesort")]
    starts, ends = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
    spans = 0
    opened, is_open, had_login = np.int64(0), False, False
    begin = 0
    while begin < len(order):
        row = order[begin]
        end = begin + 1
        while (
            end < len(order)
            and key[row] >> 2 == key[order[end]] >> 2
            and at[row] == at[order[end]]
            and seq[row] == seq[order[end]]
        ):
            end += 1
        login, logout = key[row] & 3 == LOGIN, key[order[end - 1]] & 3 == LOGOUT
        if logout and (is_open or login or not had_login):
            starts[spans] = opened if is_open else at[row] if login else since
            ends[spans] = at[row]
            spans += 1
        if not is_open:
            opened, is_open = at[row], login and not logout
        elif logout:
            opened, is_open = at[row], login
        had_login = had_login or login
        begin = end
        if begin == len(order) or key[order[begin]] >> 2 != key[row] >> 2:
            if is_open:
                starts[spans], ends[spans] = opened, ended
                spans += 1
            is_open, had_login = False, False
    return starts[:spans], ends[:spans]


def union(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Intervals that are apart and in order."""
    order = np.argsort(starts, kind="mergesort")
    merged_starts, merged_ends = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
    spans = 0
    for row in order:
        if spans > 0 and starts[row] <= merged_ends[spans - 1]:
            merged_ends[spans - 1] = max(merged_ends[spans - 1], ends[row])
        else:
            merged_starts[spans], merged_ends[spans] = starts[row], ends[row]
            spans += 1
    return merged_starts[:spans], merged_ends[:spans]

"""Every route of the desk, and what it needs, written down by hand: a route that is not here fails a test.

`open`: nobody need be logged in; `people`: somebody is logged in, and no token; else the right that it needs.
"""

OPEN, PEOPLE = "open", "people"

ROUTES = {
    ("GET", "/openapi.json"): OPEN,
    ("GET", "/api"): "read",
    ("POST", "/events"): "push",
    ("POST", "/packets"): "push",
    ("GET", "/health"): OPEN,
    ("GET", "/metrics"): "metrics",
    ("GET", "/run"): "read",
    ("POST", "/run"): "operate",
    ("GET", "/login"): OPEN,
    ("POST", "/login"): OPEN,
    ("GET", "/oidc/start"): OPEN,
    ("GET", "/oidc/back"): OPEN,
    ("POST", "/logout"): PEOPLE,
    ("POST", "/logout/everywhere"): PEOPLE,
    ("GET", "/password"): PEOPLE,
    ("POST", "/password"): PEOPLE,
    ("GET", "/me"): PEOPLE,
    ("POST", "/me"): PEOPLE,
    ("GET", "/tokens"): PEOPLE,
    ("POST", "/tokens"): PEOPLE,
    ("POST", "/tokens/{number}/revoke"): PEOPLE,
    ("GET", "/users"): "administer",
    ("POST", "/users"): "administer",
    ("POST", "/users/{name}/role"): "administer",
    ("POST", "/users/{name}/disable"): "administer",
    ("POST", "/users/{name}/enable"): "administer",
    ("POST", "/users/{name}/password"): "administer",
    ("GET", "/accounts/{actor}/reasons"): "read",
    ("GET", "/accounts/{actor}/series"): "read",
    ("GET", "/accounts/{actor}/hours"): "read",
    ("GET", "/accounts/{actor}/mix"): "read",
    ("GET", "/accounts/{actor}/traffic"): "read",
    ("GET", "/accounts/{actor}/sessions"): "read",
    ("GET", "/accounts/{actor}/trade"): "read",
    ("GET", "/accounts/{actor}/movement"): "read",
    ("GET", "/accounts/{actor}/events"): "read",
    ("GET", "/accounts/{actor}/timeline"): "read",
    ("POST", "/accounts/{actor}/notes"): "vote",
    ("GET", "/accounts/{actor:path}"): "read",
}

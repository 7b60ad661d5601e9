"""The routes: one file a page."""

from fastapi import APIRouter

from gamewarden.web.routes import (
    about,
    account,
    accounts,
    acts,
    audit,
    groups,
    models,
    overview,
    policy,
    push,
    review,
    session,
    users,
)

ROUTERS: tuple[APIRouter, ...] = (
    about.router,
    overview.router,
    accounts.router,
    push.router,
    push.watched,
    session.router,
    users.router,
    review.router,
    acts.router,
    groups.router,
    models.router,
    policy.router,
    audit.router,
    account.router,  # the last: a name of an account may look like any path below /accounts/
)

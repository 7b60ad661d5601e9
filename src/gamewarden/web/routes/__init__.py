"""The routes: one file a page."""

from fastapi import APIRouter

from gamewarden.web.routes import about, account, push, session, users

ROUTERS: tuple[APIRouter, ...] = (
    about.router,
    push.router,
    push.watched,
    session.router,
    users.router,
    account.router,  # the last: a name of an account may look like any path below /accounts/
)

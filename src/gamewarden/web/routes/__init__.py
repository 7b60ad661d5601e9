"""The routes: one file a page."""

from fastapi import APIRouter

from gamewarden.web.routes import about, push, session, users

ROUTERS: tuple[APIRouter, ...] = (about.router, push.router, push.watched, session.router, users.router)

"""The routes: one file a page."""

from fastapi import APIRouter

from gamewarden.web.routes import about, session, users

ROUTERS: tuple[APIRouter, ...] = (about.router, session.router, users.router)

"""The routes: one file a page."""

from fastapi import APIRouter

from gamewarden.web.routes import about

ROUTERS: tuple[APIRouter, ...] = (about.router,)

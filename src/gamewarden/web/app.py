"""The desk as a web application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gamewarden import __version__
from gamewarden.desk.desk import Desk
from gamewarden.web.assets import Assets, digest_of_assets
from gamewarden.web.failing import answer_errors
from gamewarden.web.guarding import Guarded
from gamewarden.web.metrics import Metrics
from gamewarden.web.routes import ROUTERS
from gamewarden.web.security import know_people

_ABOUT = (
    "Every page's data as JSON under the same path: ask with `Accept: application/json` or `?format=json`. "
    "Programs use a token (`Authorization: Bearer gw_…`) whose scopes are rights."
)


def create_app(desk: Desk) -> FastAPI:
    """The application that shows a desk."""
    app = FastAPI(
        title="gamewarden",
        version=__version__,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=_until_closed,
    )
    app.state.desk = desk
    app.state.metrics = Metrics(desk)
    know_people(app, desk)
    for router in ROUTERS:
        app.include_router(router)
    # Pages are not compressed: they hold a secret beside what others chose, whose lengths would tell of it.
    app.mount(f"/static/{digest_of_assets()}", GZipMiddleware(Assets(), minimum_size=1_000), "static")
    answer_errors(app)
    app.add_middleware(Timed)
    app.add_middleware(Guarded, desk.workspace.config.desk)
    return app


@asynccontextmanager
async def _until_closed(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.desk.close()


class Timed:
    """Says in a header how long the server took until it began to answer, and counts it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = perf_counter()

        async def timed(message: Message) -> None:
            if message["type"] == "http.response.start":
                took = perf_counter() - begun
                MutableHeaders(scope=message).append("Server-Timing", f"app;dur={took * 1_000:.2f}")
                route = getattr(scope.get("route"), "path", "other")
                scope["app"].state.metrics.answered(route, scope["method"], message["status"], took)
            await send(message)

        await self.app(scope, receive, timed)

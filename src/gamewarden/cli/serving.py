"""`gamewarden serve`: the desk in a browser."""

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from gamewarden.cli import options
from gamewarden.cli.home import here
from gamewarden.cli.show import say, tell
from gamewarden.core.extras import need

if TYPE_CHECKING:
    from gamewarden.workspace.place import Workspace

HOST, PORT = "127.0.0.1", 8787
NEEDED = ("fastapi", "uvicorn", "multipart", "argon2", "babel", "prometheus_client")


@click.command
@click.option(
    "--host", default=HOST, show_default=True, metavar="ADDRESS", help="Listen here; by default nobody else can."
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--run-every", type=options.Span(), metavar="SPAN", help="Let `run` go on behind it, this often.")
@click.option("--open", "opened", is_flag=True, help="Open it in this machine's browser.")
@click.option("--reset-admin", is_flag=True, help="Give `admin` a new password for one use, and end.")
def serve(*, host: str, port: int, run_every: int | None, opened: bool, reset_admin: bool) -> None:
    """Open the desk in a browser.

    Overview, accounts, evidence, review, groups, decisions, appeals, models, policy, sources and audit.

    It shows what rests in the workspace and measures nothing by itself; `run` may go on behind it or elsewhere. The
    first start makes an administrator and says a password for one use, once. Ctrl-C stops it.
    """
    need("serve", *NEEDED)
    workspace = here()
    if reset_admin:
        _say_password(workspace, again=True)
        return
    open_desk(workspace, host=host, port=port, run_every=run_every, opened=opened)


def open_desk(
    workspace: "Workspace",
    *,
    host: str = HOST,
    port: int | None = PORT,
    run_every: int | None = None,
    opened: bool = False,
) -> None:
    """Serve the desk of a workspace until somebody stops it; without a port at the usual one, or else at a free one."""
    from gamewarden.core.listening import address_of, bound, is_local
    from gamewarden.desk.desk import Desk
    from gamewarden.web.serving import serve

    listening = bound(host, PORT, 0) if port is None else bound(host, port)
    desk = Desk(workspace)
    _say_password(workspace)
    address = address_of(listening)
    tell(f"The desk is open at {address}", "Ctrl-C stops it.")
    if not is_local(host):
        say("others can reach it, and whoever is between reads along (no TLS): docs/how-to/desk-people.md has a proxy")
    if opened:
        click.launch(address)
    desk.background.every = None if run_every is None else timedelta(microseconds=run_every)
    desk.background.start()
    serve(desk, listening, proxied=workspace.config.desk.trust_proxy)
    say("stopped")


def _say_password(workspace: "Workspace", *, again: bool = False) -> None:
    """The password of the first administrator: it is said once."""
    from gamewarden.desk.people import first_admin, reset_admin
    from gamewarden.notices import now

    password = reset_admin(workspace.ledger, now()) if again else first_admin(workspace.ledger, now())
    if password is not None:
        tell(f"Log in as admin with the password {password}", "It is said only now, and is to be changed at once.")

"""The command line: one command a room; an argument, a call and a presentation."""

import sys

import click

from gamewarden import __version__
from gamewarden.cli import (
    appeals,
    audit,
    brokers,
    challenges,
    completion,
    evaluating,
    evidence,
    groups,
    lake,
    logs,
    maintenance,
    mappings,
    models,
    packets,
    policies,
    ragnarok,
    responding,
    reviewing,
    servers,
    serving,
    settings,
    shelf,
    trends,
    verdicts,
    warming,
    workspaces,
    worlds,
)
from gamewarden.cli.asides import asides_as_remarks
from gamewarden.cli.show import complain, fall_silent, say_usage
from gamewarden.cli.volume import with_volume
from gamewarden.core.outside import cut
from gamewarden.errors import GamewardenError

SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Start here": (worlds.demo, worlds.world),
    "A workspace": (workspaces.init, workspaces.run, workspaces.status, serving.serve, workspaces.forget),
    "Game logs": (servers.doctor, mappings.map_, logs.lint, logs.read, lake.compact, lake.delta, logs.measure),
    "Packets": (packets.watch, brokers.publish, ragnarok.packets),
    "Finding bots": (
        models.fit,
        models.score,
        models.rank,
        models.explain,
        groups.groups,
        trends.trend,
        reviewing.review,
    ),
    "Judging": (verdicts.judge, evidence.verdict, evidence.verify, verdicts.budget),
    "Respond": (
        responding.decide,
        responding.decisions,
        policies.policy,
        challenges.challenge,
        appeals.appeal,
        appeals.protect,
        appeals.label,
        audit.audit,
    ),
    "Models": (shelf.model,),
    "How good is it": (evaluating.evaluate, worlds.reproduce),
    "Is it still true": (maintenance.maintain, maintenance.backtest),
    "Settings": (settings.config, warming.warm, completion.completion),
}


_INTERRUPTED = 130  # as shells say that a signal 2 ended it


class Contents(click.Group):
    """A group whose help reads like a table of contents."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One section a group of commands, in the order of the work."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                room = formatter.width - 6 - max(len(command.name or "") for command in commands)
                formatter.write_dl([(command.name or "", command.get_short_help_str(room)) for command in commands])
        del ctx


@click.group(
    cls=Contents,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 our error as one line on standard error, 2 wrong usage, 3 doctor: more can be seen, "
    "130 stopped by Ctrl-C.",
)
@click.version_option(__version__, prog_name="gamewarden")
@click.option(
    "--config", "config_path", type=click.Path(dir_okay=False), help="Settings; ./warden.toml where there is one."
)
@click.option(
    "--workspace",
    "workspace_path",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Work in this workspace; else in $GAMEWARDEN_WORKSPACE, else in the one here or above.",
)
@click.pass_context
def root(ctx: click.Context, config_path: str | None, workspace_path: str | None) -> None:
    """Find game bots in online role-playing games, with reasons, and leave the judgement to people."""
    del workspace_path  # `cli.home` looks it up
    ctx.obj = config_path


for _commands in SECTIONS.values():
    for _command in _commands:
        root.add_command(_command)
with_volume(root)


def main() -> None:
    """Run the command that was typed: 0 done, 1 our error as one line, 2 usage."""
    try:
        with asides_as_remarks():
            sys.exit(root.main(prog_name="gamewarden", standalone_mode=False))
    except click.ClickException as error:
        say_usage(error)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        complain("gamewarden: stopped")
        sys.exit(_INTERRUPTED)
    except GamewardenError as error:
        _fail(" ".join(str(error).split()))
    except BrokenPipeError:
        fall_silent()
        sys.exit(1)
    except UnicodeEncodeError as error:
        _fail(f"the name {cut(ascii(error.object), 200)} is not text (a byte of it is not UTF-8); rename what has it")
    except OSError as error:
        _fail(f"{error.filename or 'the system'}: {error.strerror or error}")
    except MemoryError:
        _fail("memory ran out; read a shorter time, or measure fewer actors at once")


def _fail(line: str) -> None:
    complain(f"gamewarden: {line}")
    sys.exit(1)

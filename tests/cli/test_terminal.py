"""What a person sees at a terminal of 80 columns, and how much is said."""

import polars as pl
import pytest

from commands import done, run
from gamewarden.presentation.widths import cells
from hostile_game import play
from terminal import at_terminal, run_at_terminal

pytestmark = pytest.mark.integration

LAY_OUT = "import polars as pl; from gamewarden.cli.show import lay_out; lay_out(pl.DataFrame({table}), {title!r})"


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    return play(tmp_path_factory.mktemp("terminal"))


def rank(game):
    return ("rank", game / "log.parquet", "--models", game / "models", "--probability", 0, "--prevalence", 0.5)


def test_a_ranking_fits_80_columns_with_its_reasons_under_each_row(game):
    shown = at_terminal(*rank(game), "--top", 8)

    assert shown.returncode == 0, shown.text
    assert [line for line in shown.lines if cells(line) > 80 and "`" not in line] == []
    head = next(at for at, line in enumerate(shown.lines) if line.startswith("actor"))
    assert shown.lines[head].split()[:4] == ["actor", "probability", "fpr", "point"]
    assert shown.lines[head + 2].startswith("    ")
    assert "Not shown: no room at 80 columns for" in shown.text


def test_hostile_names_are_shown_as_written_at_a_terminal_and_in_a_pipe(game):
    shown, piped = at_terminal(*rank(game), "--top", 0), done(*rank(game), "--top", 0)

    for text in (shown.text, piped.stdout):
        assert r"\x1b[2J\x1b]0;owned\x07" in text
        assert r"봇사냥꾼\u202eegnahc" in text
        assert "[bold]:cat:[/bold]" in text
        assert not set("\x1b\x07\u202e") & set(text)


def test_a_piped_ranking_is_one_line_per_account_and_holds_all_columns(game):
    piped = done(*rank(game), "--top", 0).stdout.splitlines()

    listed = pl.read_json(done(*rank(game), "--top", 0, "--json").stdout.encode())
    assert len(piped) == 1 + listed.height
    assert piped[0].split()[-1] == "reasons"
    assert not set("│┃━") & set("".join(piped))


def test_a_story_is_wrapped_at_a_terminal_and_not_in_a_pipe(game):
    actor = pl.read_json(done(*rank(game), "--top", 9, "--json").stdout.encode())["actor"].sort()[-1]
    words = ("explain", actor, *rank(game)[1:4], "--prevalence", 0.5)

    shown, piped = at_terminal(*words), done(*words).stdout

    assert all(cells(line) <= 80 or "`" in line for line in shown.lines)
    assert max(map(len, piped.splitlines())) > 80


@pytest.mark.parametrize("words", [("--help",), ("rank", "--help"), ("judge", "--help"), ("-q", "model", "--help")])
def test_help_reads_well_at_80_columns(words):
    shown = at_terminal(*words)

    assert shown.returncode == 0
    assert all(cells(line) <= 80 for line in shown.lines)
    assert "..." not in shown.text.replace("[ARGS]...", "")


def test_letters_are_bold_at_a_terminal_only_where_nobody_asked_for_none():
    code = LAY_OUT.format(table={"actor": ["a"]}, title="A title")

    bold = run_at_terminal("-c", code, TERM="xterm-256color", NO_COLOR="")
    asked = run_at_terminal("-c", code, TERM="xterm-256color", NO_COLOR="1")
    dumb = run_at_terminal("-c", code, TERM="dumb", NO_COLOR="")

    assert "\x1b[1mA title" in bold.text
    assert "\x1b" not in asked.text + dumb.text
    assert asked.lines == dumb.lines == ["A title", "actor", "a"]


def test_a_dumb_terminal_gets_no_progress_bar_and_another_one_does(game):
    words = ("measure", "activity", game / "log.parquet")

    dumb, other = at_terminal(*words, TERM="dumb"), at_terminal(*words, TERM="xterm", NO_COLOR="1")

    assert "\x1b" not in dumb.text
    assert "measuring activity" in other.text
    assert "\x1b[3" not in other.text  # no colour


@pytest.mark.parametrize("place", ["before", "after"])
def test_quiet_leaves_out_every_remark_and_no_answer(game, place):
    words = rank(game)
    loud, quiet = run(*words), run("-q", *words) if place == "before" else run(*words, "--quiet")

    assert loud.stderr
    assert quiet.stderr == ""
    assert quiet.stdout == loud.stdout


def test_quiet_still_says_what_went_wrong():
    ended = run("-q", "lint", "nowhere.csv")

    assert ended.returncode == 1
    assert ended.stderr.startswith("gamewarden: nowhere.csv")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("place", ["before", "after"])
def test_verbose_names_files_models_settings_and_times_one_line_each(game, place):
    words = rank(game)
    ended = run("--verbose", *words) if place == "before" else run(*words, "-v")

    lines = ended.stderr.splitlines()
    assert "settings: the defaults, there is no warden.toml here" in lines
    assert f"source: {game / 'log.parquet'}" in lines
    assert f"models: {game / 'models'}" in lines
    assert sum(line.startswith(f"model: {game / 'models'}") for line in lines) == 1
    assert any(line.startswith("ranking: ") and line.endswith(" s") for line in lines)
    assert any(line.startswith("done: ") for line in lines)
    assert ended.stdout == run(*words).stdout


def test_quiet_and_verbose_together_are_wrong_usage():
    ended = run("-q", "config", "-v")

    assert ended.returncode == 2
    assert "give one of them" in ended.stderr


@pytest.mark.parametrize("words", [("fit", "traffic"), ("measure", "activity"), ("model", "list"), ("watch",)])
def test_every_command_takes_both_options(words):
    text = done(*words, "--help").stdout

    assert "-q, --quiet" in text
    assert "-v, --verbose" in text


def test_settings_to_be_copied_are_never_wrapped():
    shown, piped = at_terminal("config"), done("config").stdout

    assert shown.lines == piped.splitlines()

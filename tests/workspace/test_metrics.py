"""What runs of a workspace tell Prometheus."""

import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

import workspaces_made_up as made_up
from commands import run
from gamewarden.core.listening import Listener
from gamewarden.core.metrics_page import metrics_page
from gamewarden.workspace.metrics import LAST_RUN, RUN, RunMeters
from metrics_made_up import families, free_port, value, wait_for
from several_made_up import LOG


@pytest.fixture(scope="module")
def never_run(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    return made_up.make_workspace(place / "ws", made_up.make_models(place / "models-from"))


@contextmanager
def running(workspace, tmp_path):
    """`run` again and again, with metrics; the port."""
    port = free_port()
    words = ["--workspace", str(workspace.root), "run", "--every", "1s", "--metrics", str(port)]
    with (tmp_path / "said").open("wb") as said:
        live = subprocess.Popen([sys.executable, "-m", "gamewarden", *words], stdout=said, stderr=said)
    try:
        yield port
    finally:
        live.send_signal(signal.SIGTERM)
        assert live.wait(120) == 0, (tmp_path / "said").read_text()


@pytest.mark.integration
def test_runs_tell_their_steps_rows_and_verdicts_and_go_on_counting(never_run, tmp_path):
    with running(never_run, tmp_path) as port:
        first = wait_for(port, "gamewarden_run_runs", 1, outcome="done")
        second = wait_for(port, "gamewarden_run_runs", 2, outcome="done")
        (never_run.root / "logs" / "broken.parquet").write_bytes(b"PAR1 and then nothing")
        failed = wait_for(port, "gamewarden_run_runs", 1, outcome="failed")

    assert value(first, "gamewarden_run_rows") >= LOG.events().height
    assert value(first, "gamewarden_run_verdicts") > 0
    assert value(second, "gamewarden_run_rows") == value(first, "gamewarden_run_rows")  # nothing was new
    assert value(second, "gamewarden_run_steps", step="judge", outcome="done") >= 2
    assert value(first, "gamewarden_run_step_seconds", step="measure") > 0
    assert value(first, "gamewarden_last_run_failures") == 0
    assert value(failed, "gamewarden_run_steps", step="take in", outcome="failed") >= 1
    assert value(failed, "gamewarden_last_run_failures") >= 1
    assert value(failed, "gamewarden_run_last_success") < value(failed, "gamewarden_last_run") <= time.time()
    assert value(second, "gamewarden_lag_seconds", source="game") > 0


def test_every_metric_of_a_run_has_a_type_and_a_sentence(never_run):
    port = free_port()
    with metrics_page(RunMeters(never_run).meters, Listener("127.0.0.1", port)):
        found = families(port)

    assert set(found) == {meter.name for meter in RUN}
    for meter in RUN:
        assert (found[meter.name].type, found[meter.name].documentation) == (meter.kind, meter.says)
    assert value(found, "gamewarden_running") == 0
    assert value(found, "gamewarden_last_run") is None


def test_the_desk_says_of_its_runs_what_a_run_says_of_itself():
    from gamewarden.web import metrics

    told = {meter.name: meter.says for meter in RUN}
    for name, says in LAST_RUN.items():
        assert metrics._STANDS[name] == told[f"gamewarden_{name}"] == says


def test_a_run_that_cannot_begin_is_a_failure(never_run):
    meters = RunMeters(never_run)
    with pytest.raises(ZeroDivisionError), meters.run():
        raise ZeroDivisionError
    told = {meter.name: values for meter, values in meters.meters.read()}

    assert told["gamewarden_run_runs"] == {("failed",): 1}
    assert told["gamewarden_last_run_failures"] == {(): 1}
    assert told["gamewarden_run_last_success"] == {}


def test_a_port_in_use_stops_a_run_before_it_begins(never_run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run("--workspace", never_run.root, "run", "--metrics", port)

    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1), ended.stderr
    assert "cannot be listened on" in ended.stderr

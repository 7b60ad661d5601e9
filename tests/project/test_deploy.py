"""The files that let a machine run gamewarden by itself: checked as text, and by linters where they are there."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from gamewarden.cli import root
from gamewarden.online.metrics import WATCH
from gamewarden.workspace.metrics import RUN
from paths import ROOT

pytestmark = pytest.mark.integration

ANALYZE, HADOLINT = shutil.which("systemd-analyze"), shutil.which("hadolint")
DEPLOY = ROOT / "deploy"
CONTAINER = DEPLOY / "Containerfile"
SERVICE, TIMER = DEPLOY / "gamewarden.service", DEPLOY / "gamewarden.timer"
UNSAFE = re.compile(r"(curl|wget)\b|\|\s*(ba)?sh\b|--privileged|chmod\s+(-R\s+)?0?777|sudo\b")


def steps():
    """Instructions of the container file as (word, rest), continued lines joined, comments left out."""
    text = re.sub(r"^\s*#.*$", "", CONTAINER.read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def of(word):
    return [rest for step, rest in steps() if step == word]


def settings(path):
    """Every `name=value` of a unit, in order; a name may come again."""
    lines = (line.partition("=") for line in path.read_text().splitlines() if re.match(r"[A-Za-z]+=", line))
    found = {}
    for name, _, value in lines:
        found.setdefault(name, []).append(value)
    return found


def test_the_image_runs_as_nobody_special():
    users = of("USER")

    assert users
    assert re.fullmatch(r"[1-9][0-9]{3,}:[1-9][0-9]{3,}", users[-1]), (
        "a number, so that a cluster can see it is not root"
    )
    assert [word for word, _ in steps()].index("USER") > max(
        at for at, (word, _) in enumerate(steps()) if word == "RUN"
    )


def test_every_base_is_slim_and_pinned():
    for base in of("FROM"):
        image = base.split()[0]
        assert re.search(r":\d+\.\d+\.\d+-slim-\w+(@sha256:[0-9a-f]{64})?$", image), image
        assert "latest" not in image
    assert len(of("FROM")) == 2


def test_what_builds_stays_in_its_stage():
    last = steps()[max(at for at, (word, _) in enumerate(steps()) if word == "FROM") :]

    assert not any("pip " in rest for word, rest in last if word == "RUN")
    assert any(rest.startswith("--from=build ") for word, rest in last if word == "COPY")


def test_nothing_is_fetched_and_run():
    assert not of("ADD")
    for run in of("RUN"):
        assert not UNSAFE.search(run), run
        assert "apt-get install" not in run or ("--no-install-recommends" in run and "rm -rf /var/lib/apt/lists" in run)
        assert "pip install" not in run or ("--no-cache-dir" in run and "--constraint" in run)


def test_the_root_can_be_read_only_since_all_that_is_written_is_in_the_volume():
    variables = dict(one.split("=", 1) for rest in of("ENV") for one in rest.split())

    assert of("VOLUME") == ["/workspace"]
    assert variables["GAMEWARDEN_WORKSPACE"] == "/workspace"
    for name in ("HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR"):
        assert variables[name].startswith("/workspace"), name
    order = [rest if word == "RUN" else word for word, rest in steps()]
    assert "gamewarden warm" in order, "kernels are compiled while it can still be written beside them"


def test_no_secret_is_in_the_image():
    assert not re.search(r"(?i)(password|secret|token|api_?key)\s*=", CONTAINER.read_text())
    assert "ARG" not in dict(steps())


def test_only_what_is_named_is_copied_and_sent_to_the_builder():
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text().splitlines()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    copied = {name for rest in of("COPY") if "--from" not in rest for name in rest.split()[:-1]}

    assert ignored[0] == "*"
    assert copied == sent
    assert all((DEPLOY.parent / name).exists() for name in copied)


def test_the_service_is_not_root_and_writes_only_where_it_keeps_things():
    service = settings(SERVICE)

    assert service["User"] == ["gamewarden"]
    for name in ("NoNewPrivileges", "PrivateTmp", "ProtectHome", "PrivateDevices", "RestrictSUIDSGID"):
        assert service[name] == ["yes"], name
    assert service["ProtectSystem"] == ["strict"]
    assert service["ReadWritePaths"] == ["/var/lib/gamewarden /var/cache/gamewarden"]
    assert service["CapabilityBoundingSet"] == [""]
    assert service["UMask"] == ["0077"]
    assert service["ExecStart"] == ["/opt/gamewarden/bin/gamewarden run --once"]
    assert "MemoryDenyWriteExecute" not in service, "kernels are compiled in memory"


def test_the_timer_starts_the_service_of_its_name_and_makes_up_for_what_it_missed():
    timer = settings(TIMER)

    assert TIMER.stem == SERVICE.stem
    assert timer["Persistent"] == ["true"]
    assert timer["OnCalendar"] == ["*:0/10"]
    assert timer["WantedBy"] == ["timers.target"]


def test_every_file_is_in_the_page_about_them():
    page = (DEPLOY / "README.md").read_text()

    for path in DEPLOY.iterdir():
        assert f"`{path.name}`" in page or path.name in {"README.md", "Containerfile.dockerignore"}, path.name


def test_the_commands_that_are_started_are_there():
    started = [settings(SERVICE)["ExecStart"][0].split()[1:], json.loads(of("CMD")[0])]

    for command, *words in started:
        known = {flag for param in root.commands[command].params for flag in param.opts}
        assert {word for word in words if word.startswith("--")} <= known
    assert {"init", "status", "warm"} <= set(root.commands)


def _analyzed(*words, cwd):
    ended = subprocess.run([ANALYZE, *words], capture_output=True, text=True, check=False, cwd=cwd)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not here")
def test_systemd_takes_the_units(tmp_path):
    for unit in (SERVICE, TIMER):
        # The command must be there for systemd to like it; whatever runs now stands for it.
        text = unit.read_text().replace("/opt/gamewarden/bin/gamewarden", sys.executable)
        (tmp_path / unit.name).write_text(text)

    code, said = _analyzed(
        "verify", "--recursive-errors=no", "./gamewarden.service", "./gamewarden.timer", cwd=tmp_path
    )
    mine = [line for line in said.splitlines() if "gamewarden" in line]

    assert (code, mine) == (0, []), said


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not here")
def test_systemd_finds_the_service_little_exposed():
    code, said = _analyzed("security", "--offline=true", "--threshold=30", SERVICE, cwd=DEPLOY)
    if "nknown" in said or "nrecognized option" in said:
        pytest.skip("this systemd cannot look at a file")

    assert code == 0, said.splitlines()[-1]


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not here")
def test_the_linter_of_container_files_finds_nothing():
    ended = subprocess.run([HADOLINT, CONTAINER], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (0, "")


WORKER, DASHBOARD, SCRAPED = (
    DEPLOY / name for name in ("gamewarden-watch@.service", "grafana-dashboard.json", "prometheus.yml")
)


def exported():
    """Every name that Prometheus can get from a watch or a run; of counters with what its format puts behind."""
    meters = (*WATCH, *RUN)
    return {f"{meter.name}_total" if meter.kind == "counter" else meter.name: meter for meter in meters}


def expressions():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_the_dashboard_shows_only_metrics_that_there_are():
    shown = {name for text in expressions() for name in re.findall(r"\bgamewarden_\w+", text)}

    assert shown <= set(exported()), shown - set(exported())
    assert len(shown) > 15


def test_the_dashboard_asks_of_a_metric_only_labels_that_it_has():
    for text in expressions():
        (name, asked), *more = re.findall(r"\b(gamewarden_\w+)\{([^}]*)\}", text)
        labels = set(re.findall(r"(\w+)=~?\"", asked))
        assert not more
        assert labels <= {"job", *exported()[name].labels}, text
    panels = json.loads(DASHBOARD.read_text())["panels"]
    for target in (target for panel in panels for target in panel["targets"]):
        name = re.search(r"\bgamewarden_\w+", target["expr"])[0]
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= {"instance", *exported()[name].labels}


def test_rates_are_asked_of_counters_and_nothing_else():
    for text in expressions():
        rated = re.search(r"\b(?:rate|increase)\((gamewarden_\w+)", text)
        name = re.search(r"\bgamewarden_\w+", text)[0]
        assert (rated is not None) == (exported()[name].kind == "counter"), text


def test_no_two_panels_of_the_dashboard_lie_on_each_other():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]

    assert len(places) == len(set(places))
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(x < 24 for x, _ in places)


def test_prometheus_asks_where_the_workers_tell():
    yaml = pytest.importorskip("yaml")
    text = SCRAPED.read_text()
    jobs = [one["job_name"] for one in yaml.safe_load(text)["scrape_configs"]]
    command = settings(WORKER)["ExecStart"][0]
    told = re.search(r"--metrics (\S+?)%i", command)[1]

    assert set(re.findall(r'"([\d.]+):\d+"', text)) == {"127.0.0.1"}
    for number in range(1, 5):
        assert f'"{told}{number}"' in text
    assert '"127.0.0.1:8787"' in text  # the desk's port
    assert jobs == ["gamewarden-watch", "gamewarden-run", "gamewarden-desk"]


def test_a_worker_is_as_confined_as_the_rest_and_names_options_that_there_are():
    worker, other = settings(WORKER), settings(DEPLOY / "gamewarden-desk.service")
    command, *words = worker["ExecStart"][0].split()[1:]
    known = {flag for param in root.commands[command].params for flag in param.opts}

    assert {word for word in words if word.startswith("--")} <= known
    for name, value in other.items():
        if name.startswith(("Protect", "Private", "Restrict", "System", "Capability", "Ambient", "NoNew", "ReadWrite")):
            assert worker[name] == value, name
    assert worker["User"] == ["gamewarden"]
    assert worker["Restart"] == ["always"]


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not here")
def test_systemd_takes_the_unit_of_a_worker(tmp_path):
    text = WORKER.read_text().replace("/opt/gamewarden/bin/gamewarden", sys.executable)
    (tmp_path / WORKER.name.replace("@", "@1")).write_text(text)

    code, said = _analyzed("verify", "--recursive-errors=no", "./gamewarden-watch@1.service", cwd=tmp_path)
    mine = [line for line in said.splitlines() if "gamewarden" in line]

    assert (code, mine) == (0, []), said

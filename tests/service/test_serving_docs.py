"""What docs/serving.md shows runs, and what it says of options, limits and formats is so."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from shunter.cli.serve import DoorArguments, LimitArguments
from shunter.execution.slurm.text_reading import JOB_CELLS, NODE_CELLS
from shunter.service.app import ROUTERS
from shunter.service.limits import Limits
from shunter.service.metrics import Metrics
from shunter.service.readers import READERS
from shunter.service.refusals import WORDS
from tests.service.talking import Talk, serving

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
ETA = (ROOT / "docs" / "eta.md").read_text(encoding="utf-8")
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("curl --unix-socket shunter.sock ")]


def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (tmp_path / "state.json").write_text(ETA.split("```json\n")[1].split("```")[0])
    assert len(COMMANDS) >= 7
    with serving(socket_path=tmp_path / "shunter.sock"):
        for command in COMMANDS:
            words = [*shlex.split(command), "--fail-with-body", "--silent", "--show-error"]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            if not command.endswith("/metrics"):
                assert json.loads(done.stdout)


def test_every_address_format_status_and_metric_is_on_the_page() -> None:
    for router in ROUTERS:
        for route in router.routes:
            path = getattr(route, "path", "").replace("{name}", "NAME")
            assert path == "/" or path in PAGE, path
    assert all(f"`{name}`" in PAGE for name in READERS)
    assert all(str(status) in PAGE for status in WORDS if status != 500)
    for metric in Metrics().registry.collect():
        if metric.name.startswith("shunter_serve_"):
            assert metric.name.removeprefix("shunter_serve_") in PAGE, metric.name


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    usual = Limits()
    for text in (
        f"head ({usual.head_s:g} s)", f"body ({usual.body_s:g} s)", f"connections ({usual.connections})",
        f"wait for a thread ({usual.in_line})", f"within {usual.answer_s:g} s",
    ):  # fmt: skip
        assert text in PAGE, text
    given = LimitArguments().limits()
    assert given == usual, "the defaults of the options are those of the limits"
    assert DoorArguments().host == "127.0.0.1"


def test_the_formats_of_text_on_the_page_are_those_that_are_read() -> None:
    shown = re.findall(r"printf '([^']+)'", PAGE)
    wanted = [r"\037".join(f"%{cell}" for cell in cells.values()) for cells in (JOB_CELLS, NODE_CELLS)]
    assert shown == wanted


def test_the_page_of_addresses_loads_nothing_from_elsewhere(talk: Talk) -> None:
    reply = talk.ask("GET", "/docs")
    text = reply.body.decode()
    assert reply.headers["content-security-policy"].startswith("default-src 'none'")
    assert not re.search(r"<script|<link|<img|<iframe|https?://|@import|url\(", text)
    content = talk.ask("GET", "/openapi.json").content
    assert set(content["paths"]) >= {"/v1/decide", "/v1/eta", "/v1/explain", "/v1/policies", "/healthz", "/metrics"}
    assert all(path in text for path in content["paths"])
    asked = content["paths"]["/v1/eta"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert {"policy", "snapshot", "log", "futures", "new"} <= set(asked["properties"])
    assert all(talk.ask("GET", path).status == 404 for path in ("/redoc", "/docs/oauth2-redirect"))

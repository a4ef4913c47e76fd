"""Cut short after any stage and started again, an advice is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from shunter.advice.kept import STAGES, Kept
from tests.advice.small import TRAINED, advised

LATE = ("comparison", "tuning", "training", "choice", "later")


class KilledError(BaseException):
    """Stands in for a kill: nothing that comes behind is done."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Returns the page of an advice that nothing cut short."""
    folder = tmp_path_factory.mktemp("whole")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            from shunter.comparison import combinations
            from tests.advice.small import FEW

            patch.setattr(combinations, "CLASSICS", FEW)
            page = advised().page
            assert page is not None
            return page.read_bytes()
    finally:
        os.chdir(before)


@pytest.mark.every(10)
@pytest.mark.parametrize("is_done", [True, False], ids=["behind", "within"])
@pytest.mark.parametrize("last", STAGES)
def test_cut_short_at_every_stage_and_again(
    last: str, is_done: bool, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Kept.stage

    def stage(self: Kept, name: str, inputs: Any, make: Any, **more: Any) -> Any:  # noqa: ANN401 - as it is
        if name != last:
            return plain(self, name, inputs, make, **more)

        def cut() -> Any:  # noqa: ANN401 - as it is
            make()
            raise KilledError

        plain(self, name, inputs, make if is_done else cut, **more)
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(Kept, "stage", stage)
        with pytest.raises(KilledError):
            advised()
    assert not Path("advice/report.html").exists()
    again = advised()
    assert again.page is not None
    assert again.page.read_bytes() == whole
    before = STAGES[: STAGES.index(last) + is_done]
    assert set(again.reused) == set(before)


SCRIPT = """
from shunter.comparison import combinations
from tests.advice.small import FEW, TRAINED, advised
combinations.CLASSICS = FEW
print(advised(effort=TRAINED).headline)
"""


@pytest.mark.slow
def test_killed_while_a_network_is_trained(tmp_path: Path) -> None:
    project = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(project)}
    )
    begun = tmp_path / "advice" / "learned" / "last"
    deadline = time.monotonic() + 60
    while not begun.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = advised(effort=TRAINED)
    untouched = advised(effort=TRAINED, out=Path("untouched"))
    assert killed.page is not None
    assert untouched.page is not None
    assert killed.page.read_text() == untouched.page.read_text().replace("untouched", "advice")

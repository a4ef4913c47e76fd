"""What the pages say of settings, names and verbs is what the code has; what they show runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import shunter
from shunter.checks import Declaration, declarations
from shunter.cli.commands import VERBS
from shunter.model.settings import Settings, option_of

ROOT = Path(__file__).parents[1]
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]}


def setting_row(name: str, said: Declaration) -> str:
    """Returns the line of a setting in the table of the command line."""
    value = getattr(Settings(), name)
    option = " ".join(filter(None, (option_of(name).split()[0], said.metavar.replace("|", r"\|"))))
    default = said.shown_default or ("off" if value is False else f"{value:g}" if isinstance(value, float) else value)
    return f"| `{option}` | `{name}` | {said.help} | {default} |"


def test_the_table_of_settings_has_every_setting_with_its_option_meaning_and_default() -> None:
    table = COMMAND_LINE.split("### Settings")[1].split("\n### ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `--")]
    assert rows == [setting_row(name, said) for name, said in declarations(Settings).items()]


def test_every_verb_is_on_the_page_of_the_command_line() -> None:
    for verb in VERBS:
        assert f"shunter {verb}" in COMMAND_LINE, verb


def test_every_public_name_is_documented() -> None:
    for name in set(shunter.__all__) - {"__version__"}:
        assert getattr(shunter, name).__doc__, name
        assert any(re.search(rf"\b{name}\b", page) for page in PAGES.values()), name


def anchors(text: str) -> set[str]:
    """Returns the anchors of a page: its own, and those that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
    return set(re.findall(r'<a id="([^"]+)">', text)) | {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_pages_and_headings(page: str) -> None:
    folder = ROOT if (ROOT / page).exists() else ROOT / "docs"
    for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", PAGES[page]):
        if target.startswith("http"):
            continue
        path = folder / (target or page)
        assert path.exists(), target
        assert not heading or heading in anchors(path.read_text(encoding="utf-8")), f"{target}#{heading}"


def texts_of_the_code() -> str:
    """Returns all constant texts of the source, those of f-strings between their values, and the Makefile."""
    found = [(ROOT / "Makefile").read_text(encoding="utf-8").replace("$(PYTHON)", "python3")]
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return "\n".join(found)


@pytest.mark.slow
def test_the_messages_that_the_page_on_trouble_quotes_are_those_of_the_code() -> None:
    texts = texts_of_the_code()
    rows = re.findall(r"^\| (.+?) \|", PAGES["troubleshooting.md"], flags=re.M)
    quoted = [message for row in rows for message in re.findall(r"`((?:error|sign of collapse): [^`]+)`", row)]
    assert len(quoted) > 30
    for message in quoted:
        # What is between the values of a message is long enough to tell it from others, at least once.
        parts = [part.strip(" :;") for part in message.partition(": ")[2].split("…") if len(part) > 9]
        assert parts, message
        for part in parts:
            assert part in texts, f"{part!r} in {message!r}"


def test_the_python_of_the_page_on_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGES["python.md"], flags=re.S)
    # The numbers of jobs are those of a reader who has time.
    exec(block.replace("jobs=5000", "jobs=500").replace("length=1024", "length=100"), {})
    assert "mean_wait_s" in block
    assert capsys.readouterr().out

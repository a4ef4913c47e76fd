"""Words of a command line: options, arguments, switches, verbs, and what is said of those that mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from click import UsageError

from shunter.cli.parsing import Argument, BadParameter, Command, Context, Exit, Group, Option, error_text

SEEN: list[dict[str, Any]] = []


def even(text: str) -> int:
    if int(text) % 2:
        raise BadParameter(f"{text} is odd")
    return int(text)


def verb(
    context: Context,
    first: Annotated[str, Argument(metavar="FIRST")],
    more: Annotated[list[str] | None, Argument(metavar="MORE...")] = None,
    count: Annotated[int, Option("--count", "-n", metavar="N", help="How many.")] = 3,
    each: Annotated[list[str] | None, Option("--each", "-e", metavar="TEXT")] = None,
    loud: Annotated[bool, Option("--loud", "-l", help="Say it louder.")] = False,
    big: Annotated[bool, Option("--big", "-b")] = False,
    color: Annotated[bool | None, Option("--color/--no-color")] = None,
    place: Annotated[Path | None, Option(metavar="DIR")] = None,
    size: Annotated[int, Option(parser=even, show_default="two", help="An even number.")] = 2,
) -> None:
    """Do something. It is not told what.

    For instance:

        verb x --count 2
    """
    SEEN.append({name: value for name, value in vars().items() if name != "context"} | {"given": context.given})


def run(*words: str) -> dict[str, Any]:
    Command("verb", verb).run(words, "shunter verb")
    return SEEN.pop()


def test_what_is_not_given_has_its_default() -> None:
    told = {
        "first": "x",
        "more": None,
        "place": None,
        "count": 3,
        "each": None,
        "loud": False,
        "big": False,
        "color": None,
        "size": 2,
    }
    assert run("x") == {**told, "given": {"first"}}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--count", "5", "x"], {"count": 5}),
        (["x", "--count=5"], {"count": 5}),
        (["x", "-n5"], {"count": 5}),
        (["x", "-n", "-5"], {"count": -5}),
        (["x", "-n", "1", "-n", "2"], {"count": 2}),
        (["x", "-lbn7"], {"loud": True, "big": True, "count": 7}),
        (["x", "-e", "a", "--each=", "-eb=c"], {"each": ["a", "", "b=c"]}),
        (["x", "--color"], {"color": True}),
        (["x", "--no-color"], {"color": False}),
        (["x", "y", "-l", "z"], {"more": ["y", "z"], "loud": True}),
        (["--", "-n", "-l"], {"first": "-n", "more": ["-l"], "loud": False}),
        (["x", "--place", "a/b"], {"place": Path("a/b")}),
        (["-", "--size", "4"], {"first": "-", "size": 4}),
    ],
)
def test_words_are_understood(words: list[str], expected: dict[str, Any]) -> None:
    told = run(*words)
    assert {name: told[name] for name in expected} == expected
    assert set(expected) <= told["given"] | {"loud"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "Missing argument 'FIRST'"),
        (["x", "--cuont", "1"], "No such option: --cuont (Possible options: --count)"),
        (["x", "-z"], "No such option: -z"),
        (["x", "-lz"], "No such option: -z"),
        (["x", "--count"], "Option '--count' requires an argument"),
        (["x", "--loud=1"], "Option '--loud' does not take a value"),
        (["x", "--count", "many"], "Invalid value for '--count' / '-n': 'many' is not a whole number"),
        (["x", "--size", "3"], "Invalid value for '--size': 3 is odd"),
    ],
)
def test_words_that_mean_nothing(words: list[str], expected: str) -> None:
    with pytest.raises(UsageError) as told:
        run(*words)
    assert error_text(told.value) == f"{expected}; see 'shunter verb --help'"


def test_a_word_too_many() -> None:
    def alone(one: Annotated[str, Argument()]) -> None: ...

    with pytest.raises(UsageError, match=r"Got unexpected extra arguments \(b c\)"):
        Command("alone", alone).run(["a", "b", "c"], "alone")


def test_the_help(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(Exit) as end:
        # Whatever else is wrong, whoever asks for help gets it.
        run("--count", "many", "--help")
    assert end.value.exit_code == 0
    assert capsys.readouterr().out == (
        "Usage: shunter verb [OPTIONS] FIRST [MORE]...\n\n"
        "  Do something. It is not told what.\n\n"
        "  For instance:\n\n"
        "      verb x --count 2\n\n"
        "Arguments:\n  FIRST    [required]\n  MORE...\n\n"
        "Options:\n"
        "  -n, --count N         How many.  [default: 3]\n"
        "  -e, --each TEXT       [default: none]\n"
        "  -l, --loud            Say it louder.  [default: off]\n"
        "  -b, --big             [default: off]\n"
        "  --color / --no-color  [default: off]\n"
        "  --place DIR           [default: none]\n"
        "  --size SIZE           An even number.  [default: (two)]\n"
        "  -h, --help            Show this message and exit.\n"
    )


def test_a_group_finds_its_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    def root() -> None:
        """Hold verbs."""

    group = Group("group", root, {"verb": f"{__name__}:verb"})
    # What stands behind the verb is the verb's.
    group.run(["verb", "x", "--loud"], "group")
    assert SEEN.pop()["loud"]
    group.run([], "group")
    assert capsys.readouterr().out.endswith("Commands:\n  verb  Do something.\n")
    with pytest.raises(UsageError, match=r"No such option.*--loud"):
        group.run(["--loud", "verb", "x"], "group")

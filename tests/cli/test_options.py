"""The options that verbs share: what a command sees of them, and what reaches the verb."""

from __future__ import annotations

from dataclasses import fields
from inspect import Parameter, signature
from typing import Annotated

import pytest

from shunter.cli.options import LOAD, POLICY, SETTINGS, SITE, STOPS, WINDOW, JsonOption, takes
from shunter.cli.parsing import Command, Option
from shunter.cli.running import RunArguments
from shunter.errors import InputError
from shunter.model.settings import SETTING_NAMES

CountOption = Annotated[int, Option(metavar="N")]
SEEN: list[tuple[RunArguments, int, bool]] = []


@takes(SITE | LOAD)
def verb(*, json: JsonOption = False, shared: RunArguments, count: CountOption) -> None:
    """Remember what reached it."""
    SEEN.append((shared, count, json))


def run(*arguments: str) -> tuple[RunArguments, int, bool]:
    Command("verb", verb).run(arguments, "verb")
    return SEEN.pop()


def test_every_argument_and_every_setting_has_one_option() -> None:
    groups = [SITE, LOAD, POLICY, WINDOW, STOPS, SETTINGS]
    own = [field.name for field in fields(RunArguments) if field.name not in ("given", "asked")]
    # What is trusted acts at once, and is no argument.
    assert sorted(name for group in groups for name in group) == sorted([*own, *SETTING_NAMES, "trust"])


def test_options_stand_where_the_arguments_stood_behind_what_is_required_and_the_cluster() -> None:
    shown = signature(verb).parameters
    assert list(shown) == ["workload", "count", "cluster", "json", "load"]
    assert shown["workload"].default is Parameter.empty
    assert (shown["cluster"].default, shown["load"].default) == (None, None)


def test_the_unit_is_in_the_name_of_the_field_only() -> None:
    @takes(SITE | SETTINGS)
    def other(arguments: RunArguments) -> None:
        """Do nothing."""

    assert "max_wait" in signature(other).parameters
    assert "max_wait_s" not in signature(other).parameters


def test_values_reach_the_verb_as_they_were_given() -> None:
    # What is not taken or not given keeps its default: nothing stands in for the dispatch rule yet.
    expected = RunArguments("log.swf", cluster="8", load=0.5, asked=frozenset())
    given = ("--workload", "log.swf", "--cluster", "8", "--load", "0.5", "--count", "3", "--json")
    assert run(*given) == (expected, 3, True)


def test_what_is_wrong_is_told_when_the_scheduler_is_asked_for() -> None:
    shared, _, _ = run("--workload", "log.swf", "--load", "-1", "--count", "3")
    with pytest.raises(InputError, match=r"--load \(load\) is -1"):
        shared.scheduler()

"""Files: what copies of them are called."""

from __future__ import annotations

from pathlib import Path

from shunter.files import names_of_copies


def test_copies_keep_the_names_of_files() -> None:
    paths = [Path("runs/kth-1.1.toml"), Path("x.toml"), Path("runs/kth-1.1.toml")]
    assert list(names_of_copies(paths).items()) == [(paths[0], "kth-1.1.toml"), (paths[1], "x.toml")]


def test_what_no_folder_or_text_should_have_is_left_out() -> None:
    given = (
        "my best (2).toml",
        ".hidden.toml",
        "-x.toml",
        "??.toml",
        "größe\n.toml",
        "a?b=1&c.toml",
        "z" * 300 + ".toml",
    )
    found = list(names_of_copies(Path(name) for name in given).values())
    assert found[:6] == ["my-best-2.toml", "hidden.toml", "x.toml", "file.toml", "gr-e.toml", "a-b-1-c.toml"]
    assert len(found[6]) <= 110


def test_no_two_copies_have_one_name() -> None:
    paths = [Path(name) for name in ("a/x.toml", "b/x.toml", "c/X.toml", "x-2.toml")]
    assert list(names_of_copies(paths).values()) == ["x.toml", "x-2.toml", "X-3.toml", "x-2-2.toml"]

"""What tests of the plugin share: it is built once."""

from __future__ import annotations

import pytest

from tests.plugins.lsf_host import Built, build


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The plugin and its host program."""
    return build(tmp_path_factory.mktemp("lsf"))

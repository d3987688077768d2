"""A folder with the two tiny models, for every test of signs that reads a clip."""

from pathlib import Path

import pytest

from tests.core.signs.tiny import save_tiny


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    save_tiny(folder)
    return folder

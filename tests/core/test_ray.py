"""Several workers of a Ray cluster on this machine: the numbers of one process, and what a killed worker costs (`make ray`)."""

import json
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from core.cli import main
from core.parallel import RETRIES, each
from tests.core.market.helpers import frame_from_rows, real_rows, save_tiny

pytestmark = [
    pytest.mark.skipif(
        find_spec("ray") is None or "RAY_TESTS" not in os.environ, reason="clusters are started by `make ray`, which installs Ray"
    ),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """The first `--ray` of a process starts its cluster; here it has two workers on any machine."""
    os.environ["RAY_OVERRIDE_RESOURCES"] = '{"CPU": 2}'
    yield
    import ray

    ray.shutdown()
    del os.environ["RAY_OVERRIDE_RESOURCES"]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Data of three recordings, one of which is damaged, and a checkpoint."""
    (tmp_path / "data").mkdir()
    for number in (0, 4):
        frame_from_rows(real_rows(number)).to_parquet(tmp_path / "data" / f"market_{number}.parquet")
    (tmp_path / "data" / "damaged.parquet").write_bytes(b"no parquet")
    save_tiny(tmp_path / "card", real_rows(4))
    return ["--data", str(tmp_path / "data"), "--checkpoint", "tiny", "--folder", str(tmp_path / "card"), "--json"]


def test_evaluation_gives_the_same_numbers(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for more in ([], ["--ray"]):
        assert main(["evaluate", "tlob", *words, *more]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1] and "damaged" in answers[1]["skipped"]


def noted(place: Path) -> int:
    """Notes that it ran; the first run of "b" waits until the others are through, and is killed; so is each of "d"."""
    times = len(list(place.parent.glob(f"{place.name}.*")))
    place.with_name(f"{place.name}.{times}").touch()
    if place.name == "d" or (place.name == "b" and not times):
        while len(list(place.parent.glob("[ac].*"))) < 2:
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return len(place.name)


def test_a_killed_worker_costs_its_task_only(tmp_path: Path) -> None:
    assert dict(each(noted, [tmp_path / name for name in "abc"], ray="local")) == {0: 1, 1: 1, 2: 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.0", "b.0", "b.1", "c.0"]


def test_a_task_that_kills_each_worker_ends_with_a_sentence_and_the_others_are_answered(tmp_path: Path) -> None:
    answers = dict(each(noted, [tmp_path / name for name in "acd"], ray="local"))
    assert {0: 1, 1: 1}.items() <= answers.items() and str(answers[2]) == f"its worker ended {RETRIES + 1} times"
    assert len(list(tmp_path.glob("d.*"))) == RETRIES + 1

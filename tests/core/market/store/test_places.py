"""Recordings in a store that speaks S3, served by moto on the loopback; and every address, answered with files or a sentence."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

from core.cli import main
from core.market.book import BookError, read_rows
from core.market.store import changes, index, places
from core.market.store.index import list_recordings
from core.market.store.places import RecordingPlace, copied, is_store, library_folder
from core.market.store.writer import write_rows
from tests.core.market.helpers import save_tiny

SAMPLE = index.FOLDER / "binance_spot_btcusdt_2024-08-08.parquet"
ADDRESS = "s3://bucket/library"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ThreadedMotoServer]:
    """An empty bucket, and a cache of its own."""
    server = ThreadedMotoServer("127.0.0.1", free_port(), verbose=False)
    server.start()
    endpoint = f"http://127.0.0.1:{server._port}"
    for name, value in (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_ENDPOINT_URL", endpoint)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OBSERVATORY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OBSERVATORY_RECORDING_HOSTS", "s3://bucket")
    fs.S3FileSystem(endpoint_override=endpoint, region="us-east-1", allow_bucket_creation=True).create_dir("bucket")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hours as the library writes them, trades beside, a file of another program, and a half-written one."""
    folder, rows = tmp_path_factory.mktemp("hours"), read_rows(SAMPLE)
    for hour, part in (("22", rows[:400]), ("23", rows[400:800])):
        path = folder / "x-BTC-USDT" / "2024-08-08" / hour / f"rows_{part.timestamps[0]}.parquet"
        path.parent.mkdir(parents=True)
        write_rows(path, [(part.timestamps, part.levels)], levels=10, market="BTC/USDT")
        path.with_name(path.name.replace("rows", "trades")).write_bytes(b"x" * 100)
    shutil.copy(SAMPLE, folder / "foreign.parquet")
    (folder / "x-BTC-USDT" / "2024-08-08" / "23" / ".rows_9.parquet.part").write_bytes(b"half")
    return folder


def put(folder: Path) -> None:
    """What lies in a folder, hidden files aside, into the store, as another program copies it there."""
    system = RecordingPlace(ADDRESS, trusted=True).system
    for path in folder.rglob("[!.]*.parquet"):
        system.pipe_file(f"bucket/library/{path.relative_to(folder).as_posix()}", path.read_bytes())


def test_a_store_is_listed_as_a_folder_and_copied(server: ThreadedMotoServer, hours: Path, tmp_path: Path) -> None:
    put(hours)
    here, there = list_recordings(hours), list_recordings(ADDRESS)  # "foreign" by its columns, the others by their footers
    assert [(one.name, one.rows, one.gaps, one.start_ms, one.mids, one.market) for one in here] == [
        (one.name, one.rows, one.gaps, one.start_ms, one.mids, one.market) for one in there
    ]
    assert not any(one.problem for one in there) and len(there) == 2

    back = copied(ADDRESS)
    wanted = sorted(path.relative_to(hours) for path in hours.rglob("[!.]*.parquet"))
    assert sorted(path.relative_to(back) for path in back.rglob("*.parquet")) == wanted
    assert all((back / name).read_bytes() == (hours / name).read_bytes() for name in wanted)
    stamp = (back / "foreign.parquet").stat().st_mtime_ns
    RecordingPlace(ADDRESS, trusted=True).system.rm(f"bucket/library/{wanted[-1].as_posix()}")
    copied(ADDRESS)
    assert (back / "foreign.parquet").stat().st_mtime_ns == stamp  # not fetched again
    assert not (back / wanted[-1]).exists()

    changes.fetch(RecordingPlace(ADDRESS), there[0], tmp_path / "library")
    assert (tmp_path / "library" / "foreign.parquet").read_bytes() == SAMPLE.read_bytes()


def test_a_command_reads_a_store_as_it_reads_a_folder(
    server: ThreadedMotoServer, hours: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_tiny(tmp_path / "card", read_rows(SAMPLE)[:300])
    put(hours)
    answers = []
    for place in (str(hours / "x-BTC-USDT"), f"{ADDRESS}/x-BTC-USDT"):
        words = ["evaluate", "tlob", "--data", place, "--checkpoint", "tiny", "--folder", str(tmp_path / "card"), "--json"]
        assert main(words) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["samples"] > 500
    assert answers[0] == answers[1]


def test_other_stores_of_fsspec_and_what_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_store("s3://a/b") and is_store("memory://a") and not is_store("http://a/b") and not is_store("a/b")
    store = RecordingPlace("memory://library", trusted=True)
    store.system.pipe_file("/library/a/rows_1.parquet", b"12")
    assert [(file.relative, file.size) for file in store.files()] == [("a/rows_1.parquet", 2)]
    with pytest.raises(BookError, match="^nowhere://a cannot be used: "):
        RecordingPlace("nowhere://a", trusted=True)
    with pytest.raises(BookError, match=r"^s3://a may not be asked: name the hosts of recordings in OBSERVATORY_"):
        RecordingPlace("s3://a/b")
    monkeypatch.setenv("OBSERVATORY_RECORDING_HOSTS", "s3://a")
    assert RecordingPlace("s3://a/b/c").remote
    with pytest.raises(BookError):
        RecordingPlace("s3://a/b/../../c")
    monkeypatch.setenv("OBSERVATORY_RECORDINGS", "s3://a/b")
    with pytest.raises(BookError, match="^OBSERVATORY_RECORDINGS is s3://a/b, and the library is a folder of this machine$"):
        library_folder()
    with pytest.raises(BookError, match=r"^--folder is s3://a/b, and the library"):
        library_folder("s3://a/b")


def test_a_link_to_nowhere_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"x")
    (tmp_path / "b.parquet").symlink_to(tmp_path / "gone.parquet")
    (tmp_path / "c.parquet").symlink_to(tmp_path / "a.parquet")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "d.parquet").write_bytes(b"x")
    assert sorted(file.relative for file in RecordingPlace(str(tmp_path)).files()) == ["a.parquet", "c.parquet"]


def test_two_who_fetch_a_file_at_once_both_have_it(hours: Path, tmp_path: Path) -> None:
    """A second press of the button, while the first is under way."""
    place = RecordingPlace(str(hours))
    file, get = place.files()[0], place.system.get_file

    def get_while_another_does(address: str, part: str) -> None:
        get(address, part)
        RecordingPlace(str(hours)).fetch(file, tmp_path)

    place.system = SimpleNamespace(get_file=get_while_another_does)
    place.fetch(file, tmp_path)
    assert [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()] == [Path(file.address).read_bytes()]


def test_too_large_a_folder_is_not_listed_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def walk(root: str, **options: object) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        nonlocal looked
        while True:
            looked += 1
            yield root, {}, {"a": where.system.info(__file__)}

    where = RecordingPlace(str(Path(__file__).parent))
    monkeypatch.setattr(places, "MAX_FILES", 3)
    monkeypatch.setattr(where.system, "walk", walk)
    with pytest.raises(BookError, match="more than 3 files"):
        where.files()
    assert looked <= 5


@pytest.mark.parametrize(
    "address", ["http://[", "https://[::1/x", "http://", "http://[x]/", "s3://[", "a://\x00", "\x00", "x" * 9_000]
)
def test_a_hostile_address_ends_in_a_sentence(address: str) -> None:
    with pytest.raises(BookError, match=r"may not be asked|is no folder"):
        RecordingPlace(address).files()

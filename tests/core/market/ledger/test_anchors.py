"""Heads put down at a real time-stamp server (OpenSSL's) and a calendar that speaks OpenTimestamps, and checked offline."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from core.cli import main
from core.market.ledger import anchors, verification
from core.market.ledger.anchors import Anchorer, destinations, put_down, read_anchors, upgrade
from core.market.ledger.chain import HEADER, ROW, ChainHead, Entries, LedgerError, newest_head
from core.market.ledger.verification import known_predictors, market_folders, unpack, verify
from core.service.ledger import zipped
from tests.core.market.ledger.ledgers import NAME, forged, predictions

pytest.importorskip("rfc3161_client")
pytest.importorskip("opentimestamps")
HEAD = ChainHead(index=12, predictions=3, written_ms=1_700_000_000_000, hash="ab" * 32)
SETTINGS = """
[tsa]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ess_cert_id_alg = sha256
"""


class Notary:
    """A root certificate, a time-stamp server signed by it, a calendar and a web hook, on one port."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.called, self.mined = folder, list[dict[str, Any]](), False
        self.root = folder / "root.pem"
        (folder / "tsa.conf").write_text(SETTINGS)
        (folder / "serial").write_text("01")
        (folder / "use.conf").write_text("extendedKeyUsage=critical,timeStamping\nbasicConstraints=CA:FALSE\n")
        self.run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "root.key", "-out", "root.pem", "-subj", "/CN=Root")
        self.run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", "/CN=Clock")
        sign = ("x509", "-req", "-in", "tsa.csr", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-days", "2")
        self.run(*sign, "-extfile", "use.conf", "-out", "tsa.pem")
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def run(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def stamp(self, query: bytes) -> bytes:
        (self.folder / "query").write_bytes(query)
        words = ("-config", "tsa.conf", "-section", "tsa", "-queryfile", "query", "-inkey", "tsa.key", "-signer", "tsa.pem")
        self.run("ts", "-reply", *words, "-out", "reply")
        return (self.folder / "reply").read_bytes()

    def commit(self, digest: bytes) -> bytes:
        from opentimestamps.core.notary import PendingAttestation
        from opentimestamps.core.op import OpAppend, OpSHA256
        from opentimestamps.core.timestamp import Timestamp

        stamp = Timestamp(digest)
        stamp.ops.add(OpAppend(b"nonce")).ops.add(OpSHA256()).attestations.add(PendingAttestation(self.url))
        return anchors._serialised(stamp)

    def look_up(self, commitment: bytes) -> bytes:
        from opentimestamps.core.notary import BitcoinBlockHeaderAttestation
        from opentimestamps.core.timestamp import Timestamp

        stamp = Timestamp(commitment)
        stamp.attestations.add(BitcoinBlockHeaderAttestation(800_000))
        return anchors._serialised(stamp)

    def handler(notary) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/hook":
                    notary.called.append(json.loads(body))
                self.reply({"/tsr": notary.stamp, "/digest": notary.commit}.get(self.path, lambda _body: b"ok")(body))

            def do_GET(self) -> None:
                if notary.mined:
                    self.reply(notary.look_up(bytes.fromhex(self.path.rsplit("/", 1)[1])))
                else:
                    self.send_error(404)

            def reply(self, content: bytes) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


@pytest.fixture(scope="module")
def notary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notary]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = Notary(tmp_path_factory.mktemp("notary"))
    yield made
    made.server.shutdown()


def test_a_time_stamp_is_kept_and_checked_by_the_roots_given(notary: Notary, tmp_path: Path) -> None:
    before = int(time.time())
    assert put_down(tmp_path, "m", HEAD, destinations(f"rfc3161+{notary.url}/tsr")) == []
    (plain,) = read_anchors(tmp_path)
    assert (plain.head, plain.checked, plain.holds) == (HEAD.hash, False, True)
    assert plain.no_later_ms is not None
    assert before <= plain.no_later_ms / 1e3 <= time.time() + 1
    assert "root certificate" in plain.remark
    (checked,) = read_anchors(tmp_path, certificates=[notary.root])
    assert (checked.checked, checked.holds, checked.remark) == (True, True, "")
    other = Notary(tmp_path_other(tmp_path))
    (foreign,) = read_anchors(tmp_path, certificates=[other.root])
    assert (foreign.checked, foreign.holds) == (False, False)
    (file,) = (tmp_path / "anchors").iterdir()
    file.rename(file.with_name(file.name.replace("ab", "cd", 1)))  # said to be of another head
    (moved,) = read_anchors(tmp_path, certificates=[notary.root])
    assert not moved.holds
    assert "something else" in moved.remark


def tmp_path_other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    return folder


def test_a_commitment_is_pending_and_then_in_a_block(notary: Notary, tmp_path: Path) -> None:
    assert put_down(tmp_path, "m", HEAD, destinations(f"ots+{notary.url}")) == []
    (pending,) = read_anchors(tmp_path)
    assert pending.holds
    assert "not put it into a block" in pending.remark
    assert upgrade(tmp_path) == 0
    notary.mined = True
    assert upgrade(tmp_path) == 1
    (mined,) = read_anchors(tmp_path)
    assert "block 800000" in mined.remark
    assert mined.holds


def test_a_hook_is_called_and_a_file_grows_by_a_line(notary: Notary, tmp_path: Path) -> None:
    places = destinations(f"webhook+{notary.url}/hook file:{tmp_path / 'heads.txt'}")
    assert put_down(tmp_path, "live/x", HEAD, places) == put_down(tmp_path, "live/x", HEAD, places) == []
    assert notary.called[-1] == {"market": "live/x", **vars(HEAD)}
    assert (tmp_path / "heads.txt").read_text().splitlines() == [f"2023-11-14T22:13:20Z {HEAD.hash} 12 live/x"] * 2


def test_a_server_that_fails_is_a_sentence_and_a_file_of_anything_is_no_anchor(tmp_path: Path) -> None:
    (problem,) = put_down(tmp_path, "m", HEAD, destinations("rfc3161+http://127.0.0.1:9/"))
    assert "did not take the head" in problem
    with pytest.raises(LedgerError, match="no place for heads"):
        destinations("ftp+http://x/")
    (tmp_path / "anchors").mkdir(exist_ok=True)
    for ending in ("tsr", "ots"):
        (tmp_path / "anchors" / f"{HEAD.hash}_x.{ending}").write_bytes(b"anything")
    assert [one.holds for one in read_anchors(tmp_path)] == [False, False]


def test_the_hours_first_head_goes_out(notary: Notary, tmp_path: Path) -> None:
    one = Anchorer(destinations(f"webhook+{notary.url}/hook"), every_s=3_600)
    begun = len(notary.called)
    for last in (False, False, True):
        one.note(tmp_path, "m", HEAD, last=last)
    deadline = time.monotonic() + 20
    while len(notary.called) < begun + 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(notary.called) == begun + 2


def test_a_ledger_is_verified_by_its_anchor_alone(
    notary: Notary, ledger: Path, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An honest ledger whose newest head was stamped needs no head typed; without the root nothing vouches for its end."""
    (market,) = [path.parent for path in ledger.glob("*/ledger.json")]
    assert main(["anchor", str(ledger), "--to", f"rfc3161+{notary.url}/tsr"]) == 0
    assert newest_head(market).hash in capsys.readouterr().out
    result = verify(ledger, known_predictors(shelf), certificates=[notary.root])
    assert result.state == "verified"
    (anchor,) = result.to_dict()["markets"][market.name]["anchors"]
    assert (anchor["checked"], anchor["entry"]) == (True, newest_head(market).index)
    assert verify(ledger, known_predictors(shelf)).state == "incomplete"
    words = ["verify", "ledger", str(ledger), "--checkpoints", str(shelf), "--tsa-certificate", str(notary.root)]
    assert main(words) == 0
    assert "signature checked" in capsys.readouterr().out
    (file,) = (market / "anchors").iterdir()
    stolen = file.with_name(file.name.replace(file.name[:64], "ab" * 32))  # a stamp of another head proves nothing here
    file.rename(stolen)
    assert verify(ledger, known_predictors(shelf), certificates=[notary.root]).state == "incomplete"


def _cut(entries: Entries) -> Entries:
    return entries[: len(entries) // 2]


def _backdated(entries: Entries) -> None:
    entries["written_ms"] -= 60_000


def _hindsight(entries: Entries) -> None:
    entries["probabilities"][predictions(entries)[50:]] = (0.1, 0.1, 0.8)


def _another_model(entries: Entries) -> None:
    entries["weights"][predictions(entries)[50:]] = 7


def _one_row(entries: Entries) -> None:
    entries["levels"][70, 1] += 1.0


def _left_out(entries: Entries) -> None:
    entries["kind"][predictions(entries)[::3]] = ROW


def _altered(market: Path) -> None:
    file = sorted(market.rglob("rows_*.parquet"))[1]
    table = pq.read_table(file)
    pq.write_table(table.set_column(1, table.schema.names[1], pc.add(table[1], 1.0)), file)


def _deleted(market: Path) -> None:
    sorted(market.rglob("rows_*.parquet"))[1].unlink()


def _tail(market: Path) -> None:
    shutil.rmtree(max(market.glob("*/*/*.parquet")).parent)


def _other_header(market: Path) -> None:
    (market / HEADER).write_text((market / HEADER).read_text().replace("ABC/USDT", "XYZ/USDT"))


@pytest.mark.parametrize(
    ("tamper", "state", "reason"),
    [
        (_cut, "incomplete", "stamped is not in the chain"),
        (_backdated, "broken", "before the time of its row"),
        (_hindsight, "broken", "a probability differs by"),
        (_another_model, "broken", "not those that the ledger's header names"),
        (_one_row, "broken", "a probability differs by"),
        (_left_out, "incomplete", "end a whole window and have no prediction"),
        (_altered, "broken", "altered"),
        (_deleted, "incomplete", "entries missing"),
        (_tail, "incomplete", "stamped is not in the chain"),
        (_other_header, "broken", "does not follow the entry before it"),
    ],
    ids=lambda given: given.__name__.strip("_") if callable(given) else None,
)
def test_ten_tampered_ledgers_with_anchors_are_each_named(
    notary: Notary, ledger: Path, shelf: Path, tamper: Callable[[Any], Any], state: str, reason: str
) -> None:
    """Stamped while it was honest; then changed and, where its maker may choose, numbered and hashed again."""
    market = ledger / NAME
    stamped = newest_head(market)
    put_down(market, "m", stamped, destinations(f"rfc3161+{notary.url}/tsr"))
    stamps = [(path.name, path.read_bytes()) for path in (market / "anchors").iterdir()]
    if "entries" in tamper.__annotations__:
        forged(ledger, tamper)
        (market / "anchors").mkdir()
        for name, content in stamps:
            (market / "anchors" / name).write_bytes(content)
    else:
        tamper(market)
    result = verify(market, known_predictors(shelf), certificates=[notary.root])
    told = [str(why) for _, why in result.reasons()] + ([result.difference.why] if result.difference else [])
    assert result.state == state and any(reason in one for one in told), told
    assert "stamped" not in reason or any(f"the head {stamped.hash[:12]}... that" in one for one in told)


def test_an_archive_is_unpacked_within_bounds(ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", ledger.parent, ledger.name))
    with packed.open("rb") as file:
        root = unpack(file, made(tmp_path / "one"))
    assert [path.name for path in market_folders(root)] == [path.name for path in market_folders(ledger)]
    files = []
    for path in (path for path in ledger.rglob("*") if path.is_file()):
        files.append(io.BytesIO(path.read_bytes()))
        files[-1].name = path.relative_to(ledger.parent).as_posix()
    assert [path.name for path in market_folders(unpack(zipped(files), made(tmp_path / "folder")))] == [NAME]
    for name, content, reason in (("../x", b"", "outside"), ("/x", b"", "outside"), ("x", b"", "no ledger")):
        bad = io.BytesIO()
        with zipfile.ZipFile(bad, "w") as file_:
            file_.writestr(name, content)
        with pytest.raises(LedgerError, match=reason):
            unpack(bad, made(tmp_path / f"bad{len(reason)}{len(name)}"))
    with pytest.raises(LedgerError, match="no ZIP"):
        unpack(io.BytesIO(b"PK anything"), made(tmp_path / "none"))
    assert verification.MAX_UNPACKED == 512 * 2**20
    monkeypatch.setattr(verification, "MAX_UNPACKED", 2**20)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file_:
        for number in range(5):
            file_.writestr(f"{number}", bytes(2**18))
    with pytest.raises(LedgerError, match="more than"):
        unpack(bomb, made(tmp_path / "bomb"))


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder

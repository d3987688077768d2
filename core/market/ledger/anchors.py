"""Heads put down outside of the machine: time-stamp servers (RFC 3161), OpenTimestamps calendars, web hooks, a file fit for git.

The answers lie beside the segments, in a market's folder `anchors/`: `<head>_<server>.tsr` and `.ots`, named by their head,
so that they can be checked without asking anyone again. `python -m core verify ledger` does (docs/ledger.md).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from core.files import write_bytes
from core.market.ledger.chain import ChainHead, LedgerError
from core.messages import Message, compose, first_line
from core.once import once

ANCHORS_VARIABLE: Final = "OBSERVATORY_ANCHORS"
"""Environment variable: where heads go, separated by blanks: rfc3161+URL, ots+URL, webhook+URL or file:PATH."""
FOLDER: Final = "anchors"
EVERY_S: Final = 3_600.0
TIMEOUT_S: Final = 20.0
MAX_ANSWER: Final = 65_536
"""Bytes of an answer: a time stamp with its certificates has 2 to 6 KiB."""
MAX_FILES: Final = 20_000
AGENT: Final = "attention-observatory"
KINDS: Final = ("rfc3161", "ots", "webhook", "file")

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """Answer about a head, kept beside its ledger.

    Attributes:
        head: hexadecimal. kind: "rfc3161" or "ots". by: who answered.
        no_later_ms: by the server's clock, the time by which the head was there; None where the answer does not say.
        checked: whether the server's signature was verified here, by a certificate that was given.
        remark: what is left to check, or why it does not hold; "" for nothing. holds: False where it is of something else.
    """

    head: str
    kind: str
    by: str
    no_later_ms: int | None = None
    checked: bool = False
    remark: Message | str = ""
    holds: bool = True


def destinations(spelling: str | None = None) -> list[tuple[str, str]]:
    """Kind and address of each place that heads go to, by the environment where None.

    Raises:
        LedgerError: for a place of no known kind.
    """
    places = []
    for word in (os.environ.get(ANCHORS_VARIABLE, "") if spelling is None else spelling).split():
        kind, _, address = word.partition(":" if word.startswith("file:") else "+")
        if kind not in KINDS or not address or (kind != "file" and urlsplit(address).scheme not in ("http", "https")):
            raise LedgerError(
                compose("{place} is no place for heads: rfc3161+URL, ots+URL, webhook+URL or file:PATH are right", place=word)
            )
        places.append((kind, address))
    return places


def put_down(folder: Path, market: str, head: ChainHead, places: Iterable[tuple[str, str]]) -> list[str]:
    """Send a head to each place and keep the answers in the market's folder; returns what went wrong, a sentence a place."""
    problems: list[str] = []
    for kind, address in places:
        try:
            _SEND[kind](folder / FOLDER, market, head, address)
        except Exception as error:  # whatever a server, a package or the network does
            why = first_line(error)
            problems.append(compose("{place} did not take the head: {reason}", place=address, reason=why[:200]))
    return problems


def _stamp(folder: Path, _market: str, head: ChainHead, address: str) -> None:
    """RFC 3161: the imprint is SHA-256 of the head's 32 bytes."""
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder, decode_timestamp_response

    message = bytes.fromhex(head.hash)
    request = TimestampRequestBuilder().data(message).hash_algorithm(HashAlgorithm.SHA256).build()
    answer = _post(address, request.as_bytes(), "application/timestamp-query")
    stamp = decode_timestamp_response(answer)
    if stamp.status != 0 or stamp.tst_info.message_imprint.message != hashlib.sha256(message).digest():
        raise ValueError("the answer is no time stamp of this head")
    _keep(folder, head.hash, address, "tsr", answer)


def _commit(folder: Path, _market: str, head: ChainHead, address: str) -> None:
    """OpenTimestamps: the head is the digest that is committed to."""
    from opentimestamps.core.op import OpSHA256
    from opentimestamps.core.timestamp import DetachedTimestampFile

    stamp = _calendar(address).submit(bytes.fromhex(head.hash), timeout=TIMEOUT_S)
    _keep(folder, head.hash, address, "ots", _serialised(DetachedTimestampFile(OpSHA256(), stamp)))


def _call(_folder: Path, market: str, head: ChainHead, address: str) -> None:
    _post(address, json.dumps({"market": market, **vars(head)}).encode(), "application/json")


def _note(_folder: Path, market: str, head: ChainHead, path: str) -> None:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(head.written_ms / 1e3))
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{when} {head.hash} {head.index} {market}\n")


_SEND: Final = {"rfc3161": _stamp, "ots": _commit, "webhook": _call, "file": _note}


def _calendar(address: str) -> Any:
    from opentimestamps.calendar import RemoteCalendar

    return RemoteCalendar(f"{address.rstrip('/')}/", user_agent=AGENT)


def _post(address: str, body: bytes, kind: str) -> bytes:
    request = urllib.request.Request(address, data=body, headers={"Content-Type": kind, "User-Agent": AGENT})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        answer: bytes = response.read(MAX_ANSWER + 1)
    if len(answer) > MAX_ANSWER:
        raise ValueError("the answer is too long")
    return answer


def _keep(folder: Path, head: str, address: str, ending: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    host = re.sub(r"[^\w.]+", "-", urlsplit(address).netloc)
    write_bytes(folder / f"{head}_{host}.{ending}", content)


def _serialised(stamp: Any) -> bytes:
    from opentimestamps.core.serialize import BytesSerializationContext

    stamp.serialize(out := BytesSerializationContext())
    return bytes(out.getbytes())


def upgrade(folder: Path) -> int:
    """Ask calendars for what was pending, of a market's folder; returns how many now name a block of Bitcoin."""
    from opentimestamps.calendar import CommitmentNotFoundError
    from opentimestamps.core.notary import BitcoinBlockHeaderAttestation, PendingAttestation

    upgraded = 0
    for path in sorted((folder / FOLDER).glob("*.ots")):
        stamp = _read_ots(path)
        if any(isinstance(one, BitcoinBlockHeaderAttestation) for _, one in stamp.timestamp.all_attestations()):
            continue
        for part in list(_parts(stamp.timestamp)):
            for pending in [one for one in part.attestations if isinstance(one, PendingAttestation)]:
                with contextlib.suppress(CommitmentNotFoundError, urllib.error.URLError):  # not yet, or not there
                    part.merge(_calendar(pending.uri).get_timestamp(part.msg, timeout=TIMEOUT_S))
        if any(isinstance(one, BitcoinBlockHeaderAttestation) for _, one in stamp.timestamp.all_attestations()):
            upgraded += 1
            write_bytes(path, _serialised(stamp))
    return upgraded


def _parts(stamp: Any) -> Iterator[Any]:
    yield stamp
    for part in stamp.ops.values():
        yield from _parts(part)


def _read_ots(path: Path) -> Any:
    from opentimestamps.core.serialize import BytesDeserializationContext
    from opentimestamps.core.timestamp import DetachedTimestampFile

    return DetachedTimestampFile.deserialize(BytesDeserializationContext(_content(path)))


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_ANSWER)


# -- checking, without asking anyone -------------------------------------------------------------------------------------------


def read_anchors(folder: Path, *, certificates: Sequence[Path] = ()) -> list[Anchor]:
    """The answers in a market's folder, checked offline.

    Args:
        certificates: PEM files of the roots by which time-stamp servers are known.

    Raises:
        LedgerError: where a certificate cannot be read.
    """
    roots = [root for path in certificates for root in _roots(path)]
    anchors = []
    for path in sorted((folder / FOLDER).glob("*"))[:MAX_FILES]:
        named = re.fullmatch(r"([0-9a-f]{64})_([\w.-]+)\.(tsr|ots)", path.name)
        if named is None or not path.is_file():
            continue
        head, server, ending = named.groups()
        kind = "rfc3161" if ending == "tsr" else "ots"
        try:
            anchors.append((_time_stamp if ending == "tsr" else _commitment)(path, head, server, roots))
        except ImportError as error:
            why = compose("the package {package} is needed to read it", package=error.name)
            anchors.append(Anchor(head=head, kind=kind, by=server, remark=why))
        except Exception as error:  # a file may hold anything
            why = compose("it cannot be read: {reason}", reason=first_line(error)[:200])
            anchors.append(Anchor(head=head, kind=kind, by=server, remark=why, holds=False))
    return anchors


def _roots(path: Path) -> list[Any]:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        raise LedgerError(compose("{file} holds no certificate in PEM", file=path.name)) from error


def _time_stamp(path: Path, head: str, server: str, roots: Sequence[Any]) -> Anchor:
    from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response

    stamp, message = decode_timestamp_response(_content(path)), bytes.fromhex(head)
    when = int(stamp.tst_info.gen_time.timestamp() * 1e3)
    about = Anchor(head=head, kind="rfc3161", by=server, no_later_ms=when)
    if stamp.tst_info.message_imprint.message != hashlib.sha256(message).digest():
        return replace(about, remark=compose("it is a time stamp of something else"), holds=False)
    if not roots:
        return replace(about, remark=compose("its signature was not checked: give the server's root certificate"))
    try:
        VerifierBuilder(roots=list(roots)).build().verify_message(stamp, message)
    except (VerificationError, ValueError) as error:
        why = (str(error).splitlines() or [""])[0][:200]
        return replace(about, remark=compose("no certificate given vouches for it: {reason}", reason=why), holds=False)
    return replace(about, checked=True)


def _commitment(path: Path, head: str, server: str, _roots: Sequence[Any]) -> Anchor:
    from opentimestamps.core.notary import BitcoinBlockHeaderAttestation

    stamp = _read_ots(path)
    about = Anchor(head=head, kind="ots", by=server)
    if stamp.file_digest.hex() != head:
        return replace(about, remark=compose("it is a time stamp of something else"), holds=False)
    proofs = stamp.timestamp.all_attestations()
    blocks = [(one.height, part) for part, one in proofs if isinstance(one, BitcoinBlockHeaderAttestation)]
    if not blocks:
        return replace(about, remark=compose("its calendar has not put it into a block of Bitcoin yet"))
    height, root = min(blocks)
    what = compose(
        "no later than Bitcoin's block {height}, if the Merkle root of that block is {root}", height=height, root=root[::-1].hex()
    )
    return replace(about, remark=what)


# -- every hour, beside the sessions ------------------------------------------------------------------------------------------


class Anchorer:
    """A thread that puts each market's newest head down, once an hour and when its writing ends. It never delays a session."""

    def __init__(self, places: Sequence[tuple[str, str]], *, every_s: float = EVERY_S) -> None:
        self._places, self._every_s = places, every_s
        self._due: dict[Path, float] = {}
        self._heads: queue.SimpleQueue[tuple[Path, str, ChainHead]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="anchors", daemon=True).start()

    def note(self, folder: Path, market: str, head: ChainHead, *, last: bool = False) -> None:
        """A market's newest head; the first of a run, that of each hour and the last go out."""
        now = time.monotonic()
        if last or now >= self._due.get(folder, 0.0):
            self._due[folder] = now + self._every_s
            self._heads.put((folder, market, head))

    def _work(self) -> None:
        while True:
            folder, market, head = self._heads.get()
            for problem in put_down(folder, market, head, self._places):
                log.warning("%s: %s", market, problem)


@once
def _anchorer(spelling: str) -> Anchorer | None:
    return Anchorer(places) if (places := destinations(spelling)) else None


def anchorer() -> Anchorer | None:
    """The process's one, by the environment; None where heads go nowhere.

    Raises:
        LedgerError: where the environment names no place that is known.
    """
    return _anchorer(os.environ.get(ANCHORS_VARIABLE, ""))

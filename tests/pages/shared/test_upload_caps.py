"""Uploads are looked at before they are read: those that would be too much are refused with a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from starlette.types import Message, Receive, Scope, Send

from core.service.limits import Limit
from core.service.uploads import UploadCaps
from pages.shared import upload_caps
from pages.shared.upload_caps import UploadCheck

PATH = "/_stcore/upload_file/visitor-1/file-1"


def answer(check: UploadCheck, path: str = PATH, method: str = "PUT", length: str | None = "10") -> tuple[int, str]:
    """Status and text of the answer to a request."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [] if length is None else [(b"content-length", length.encode())]
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": headers}
    asyncio.run(check(scope, receive, send))
    return int(sent[0]["status"]), b"".join(m.get("body", b"") for m in sent[1:]).decode()


async def passed_on(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b"passed on"})


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Iterator[UploadCheck]:
    monkeypatch.setattr(upload_caps, "held_uploads", lambda: {("visitor-1", "10.0.0.7"): 95})
    yield UploadCheck(passed_on, UploadCaps(bytes_of=Limit(total=1_000, visitor=100)))
    upload_caps._refusals.clear()


def test_an_upload_that_is_too_much_is_refused_with_a_sentence(check: UploadCheck) -> None:
    assert answer(check, length="5") == (204, "passed on")
    status, text = answer(check, length="6")
    assert status == 413 and text.startswith("Your uploads would take 1 MiB")
    assert upload_caps._refusals["visitor-1"] == text.strip()
    assert answer(check, path=PATH.replace("visitor-1", "visitor-2"), length="100")[0] == 204
    assert answer(check, length=None)[0] == 411 and answer(check, length="-5")[0] == 411


def test_everything_else_passes(check: UploadCheck) -> None:
    assert answer(check, method="DELETE", length="1000")[0] == 204
    assert answer(check, path="/healthz", length=None)[0] == 204

"""Uploads are looked at before they are read: those that would be too much are refused with a sentence."""

from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send
from streamlit.testing.v1 import AppTest

from core.service.limits import Limit, UploadCaps
from pages.shared import streamlit_private, upload_caps
from pages.shared.upload_caps import UploadCheck
from tests.pages.shared.test_service_routes import ask
from tests.test_docs import ROOT

PATH = "/_stcore/upload_file/visitor-1/file-1"


def answer(check: UploadCheck, path: str = PATH, method: str = "PUT", length: str | None = "10") -> tuple[int, str]:
    """Status and text of the answer to a request."""
    start, *rest = ask(path, app=check, method=method, **({} if length is None else {"content_length": length}))
    return int(start["status"]), b"".join(m.get("body", b"") for m in rest).decode()


async def passed_on(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b"passed on"})


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Iterator[UploadCheck]:
    monkeypatch.setattr(upload_caps, "held_uploads", lambda: {("visitor-1", "10.0.0.7"): 95})
    monkeypatch.setattr(upload_caps, "_asked", {f"visitor-{one}": ("page", 1) for one in (1, 2)})
    yield UploadCheck(passed_on, UploadCaps(bytes_of=Limit(total=1_000, visitor=100)))
    upload_caps._refusals.clear()


def test_an_upload_that_is_too_much_is_refused_with_a_sentence(check: UploadCheck) -> None:
    assert answer(check, length="5") == (204, "passed on")
    status, text = answer(check, length="6")
    assert status == 413 and text.startswith("Your uploads would take 1 MiB")
    assert upload_caps._refusals["visitor-1"] == text.strip()
    assert answer(check, path=PATH.replace("visitor-1", "visitor-2"), length="100")[0] == 204
    assert answer(check, length=None)[0] == 411 and answer(check, length="-5")[0] == 411


def test_a_file_above_the_limit_of_the_pages_widgets_is_refused(check: UploadCheck, monkeypatch: pytest.MonkeyPatch) -> None:
    check.caps = UploadCaps(bytes_of=Limit(total=2**30))
    assert answer(check, length=str(2**20 + 1_000)) == (204, "passed on")  # a multipart body is a little larger than its file
    assert answer(check, length=str(2**21)) == (413, "This page takes files of up to 1 MiB.\n")
    assert answer(check, path=PATH.replace("visitor-1", "nobody"), length=str(2**20))[0] == 413


def test_a_widgets_limit_is_the_servers_while_its_page_is_open() -> None:
    app = AppTest.from_function(two_pages).run()
    assert [most for _page, most in upload_caps._asked.values()][-1] == 30
    app.session_state["there"] = True
    app.run()
    assert [most for _page, most in upload_caps._asked.values()][-1] == 2  # the largest of the page that is open
    app.file_uploader[0].set_value([("large.bin", b"x" * (2**20 + 1), ""), ("small.bin", b"x" * 2**20, "")]).run()
    assert app.text[0].value == "small.bin"


def test_every_widget_for_files_has_a_limit_that_the_server_knows() -> None:
    pages = {path.name for path in (ROOT / "pages").rglob("*.py") if "st.file_uploader(" in path.read_text(encoding="utf-8")}
    assert pages == {"upload_caps.py"}


def two_pages() -> None:
    import streamlit as st

    from pages.shared import upload_caps

    def here() -> None:
        upload_caps.file_uploader("A picture", max_upload_size=30)

    def there() -> None:
        several = upload_caps.file_uploader("Pictures", max_upload_size=1, accept_multiple_files=True)
        upload_caps.file_uploader("A film", max_upload_size=2)
        st.text(" ".join(one.name for one in several))

    st.navigation([st.Page(there if "there" in st.session_state else here)]).run()


def test_everything_else_passes(check: UploadCheck) -> None:
    assert answer(check, method="DELETE", length="1000")[0] == 204
    assert answer(check, path="/healthz", length=None)[0] == 204


def test_a_button_that_takes_another_file_gives_the_one_before_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file has a widget of its own, so Streamlit would hold and count every file until the tab is closed."""
    forgotten: list[str] = []
    monkeypatch.setattr(streamlit_private, "forget_upload", forgotten.append)

    def page() -> None:
        import streamlit as st

        from pages.shared import upload_caps

        file = upload_caps.upload_button("A film", key="film", max_upload_size=1)
        st.text(file and f"{file.file_id} {file.getvalue().decode()}")

    app = AppTest.from_function(page).run()
    ids = []
    for data in (b"one", b"two", b"three"):
        app.file_uploader[0].set_value(("film.mp4", data, "video/mp4")).run()
        assert not app.exception
        name, held = app.text[0].value.split()
        assert held == data.decode()
        ids.append(name)
    assert len(set(ids)) == 3 and forgotten == ids[:2]

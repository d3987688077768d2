"""A class's phone: its page, its socket, and what the teacher's page sends to it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any, cast

import pytest
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.websockets import WebSocket

from core.lecture.classroom import CLASSES, Asked
from core.messages import compose
from core.vision.own_classes import OwnClassesError
from pages.learn import class_route
from pages.shared.language import translate_to
from tests.pages.learn.test_said_of_figures import LEARN
from tests.pages.open_page import open_page, ran, words

QUESTION = Asked(key="q", text="Which?", options=("a", "b"), answer=1, right=(), why="w")


class Phone:
    """A phone's end: what it sends once it has got the view, and what it gets."""

    def __init__(self, code: str, *sent: Any, who: str = "token", origin: str = "http://testserver", lang: str = "en") -> None:
        self.sent, self.got, self.closed = list(sent), list[dict[str, Any]](), 0
        self.path_params, self.query_params = {"code": code}, QueryParams({"lang": lang})
        self.headers, self.cookies = {"origin": origin, "host": "testserver"}, {class_route.TOKEN: who}
        self.scope = {"type": "websocket", "headers": [], "client": ("127.0.0.1", 1), "path": "/", "query_string": b""}
        self.first = asyncio.Event()

    async def accept(self) -> None:
        return

    async def close(self, code: int) -> None:
        self.closed = code

    async def receive(self) -> dict[str, Any]:
        await self.first.wait()
        if not self.sent:
            await asyncio.sleep(2.5 * class_route.SPREAD_S)
            return {"type": "websocket.disconnect"}
        one = self.sent.pop(0)
        sent = {"bytes": one} if isinstance(one, bytes) else {"text": one if isinstance(one, str) else json.dumps(one)}
        return {"type": "websocket.receive"} | sent

    async def send_text(self, text: str) -> None:
        self.got.append(json.loads(text))
        self.first.set()


def serve(phone: Phone) -> Phone:
    asyncio.run(class_route.class_socket(cast(WebSocket, phone)))
    return phone


@pytest.fixture
def code() -> Iterator[str]:
    opened, _key = CLASSES.open()
    CLASSES.show(opened, {"en": '{"body":"one"}', "es": '{"body":"uno"}'}, {"en": QUESTION, "es": QUESTION}, revealed=False)
    yield opened
    CLASSES.close(opened)


def fetched(path: str = "", query: str = "", **headers: str) -> tuple[str, Any]:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in {"host": "testserver", **headers}.items()]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/class",
        "query_string": query.encode(),
        "headers": pairs,
        "scheme": "http",
    }
    answer = asyncio.run(class_route.class_page(Request(scope | {"path_params": {"code": path}, "server": ("testserver", 80)})))
    return bytes(answer.body).decode(), answer


def test_a_phone_gets_the_view_in_its_language_and_answers_once(code: str) -> None:
    phone = serve(Phone(code, {"answer": ["q", 0]}, {"answer": ["q", 1]}, {"ask": "Why?"}, lang="es"))
    assert phone.got[0]["view"] == {"body": "uno"} and phone.got[0]["question"]["key"] == "q"
    assert CLASSES.tally(code, "q", 2) == [0, 1] and CLASSES.queue(code) == [(1, "Why?", 1)]
    assert CLASSES.here(code) == 0 and not class_route._open


@pytest.mark.parametrize(
    "sent",
    [
        [],
        7,
        {"answer": "q"},
        {"answer": ["q", True]},
        {"answer": ["q", 0.5]},
        {"answer": ["q", 7]},
        {"answer": ["another", 0]},
        {"reason": ["q", "too early"]},
        {"ask": ["x"]},
        {"vote": "1"},
        {"lead": 1},
    ],
)
def test_what_a_phone_may_not_send_gets_a_sentence_and_changes_nothing(code: str, sent: Any) -> None:
    phone = serve(Phone(code, sent, lang="es"))
    (error,) = [one["error"] for one in phone.got if "error" in one]
    assert error and CLASSES.tally(code, "q", 2) == [0, 0] and not CLASSES.queue(code)


@pytest.mark.parametrize("sent", ["{", "x" * (class_route.MAX_MESSAGE + 1), "[" * 1_900, bytes(class_route.MAX_PICTURE + 1)])
def test_what_no_page_of_ours_sends_ends_the_connection(code: str, sent: str) -> None:
    phone = serve(Phone(code, sent, {"ask": "never read"}))
    assert phone.sent and phone.closed == 1000


class Counting:
    """Learns the lengths of what it is sent; refuses what begins with "x"."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def take(self, who: str, data: bytes) -> dict[str, Any]:
        if data.startswith(b"x"):
            raise OwnClassesError(compose("there is no such class"))
        self.lengths.append(len(data))
        return {"by": who}

    def told(self) -> dict[str, Any]:
        return {"lengths": self.lengths}


def test_pictures_teach_the_class_and_all_see_what_it_learnt(code: str) -> None:
    refused = serve(Phone(code, b"abc")).got
    assert {"error": "this class takes no pictures now", "taken": None} in refused
    CLASSES.learn(code, Counting())
    got = serve(Phone(code, b"abc", b"x", b"defg", lang="es")).got
    assert [one["taken"] for one in got if "taken" in one] == [{"by": "token"}, None, {"by": "token"}]
    assert translate_to("es", "there is no such class") in [one.get("error") for one in got]
    assert got[-1]["lessons"] == {"lengths": [3, 4]}


def test_another_sites_page_an_unknown_code_and_a_class_that_ends_are_closed(code: str) -> None:
    assert serve(Phone(code, origin="https://evil.example")).closed == 4403
    assert serve(Phone("zzzzzz")).closed == class_route.OVER
    asyncio.run(_ended(phone := Phone(code, *[{"vote": 1}] * 3), code))
    assert phone.closed == class_route.OVER


async def _ended(phone: Phone, code: str) -> None:
    phone.receive = asyncio.Event().wait  # type: ignore[method-assign, assignment]
    serving = asyncio.create_task(class_route.class_socket(cast(WebSocket, phone)))
    await phone.first.wait()
    CLASSES.close(code)
    await asyncio.wait_for(serving, 10)


def test_the_page_speaks_the_phones_language_and_runs_our_scripts_alone(code: str) -> None:
    html, answer = fetched(code, accept_language="es-PE,es;q=0.9,en;q=0.5")
    assert 'lang="es"' in html and translate_to("es", "Say why, in one sentence") in html
    policy = answer.headers["content-security-policy"]
    assert (
        "script-src 'self'" in policy
        and "default-src 'none'" in policy
        and "unsafe-inline" not in policy.partition("style-src")[0]
    )
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert not re.search(r"<script>| on\w+=", html)
    asked, _answer = fetched("<b>x", "lang=en")
    assert "No class is open under this code" in asked and "<b>x" not in asked
    _html, sent_on = fetched("", f"code={code}")
    assert sent_on.headers["location"].startswith(f"/class/{code}")


def test_what_the_teacher_turns_is_on_the_phones_with_the_same_numbers() -> None:
    app = open_page(LEARN / "attention_steps.py", part="softmax", ask="true")
    app.toggle(key="predict:shared").set_value(True)
    ran(app)
    code = app.session_state["predict:key"][0]
    try:
        app.select_slider(key="t").set_value("0.5")
        ran(app)
        english, spanish = (
            {name: json.loads(text) for name, (_n, text) in CLASSES.slots(code, one, {}).items()} for one in ("en", "es")
        )
        numbers = [re.findall(r'data-v="([^"]+)"', one["view"]["body"]) for one in (english, spanish)]
        assert numbers[0] == numbers[1] and len(numbers[0]) == 36 and english["view"]["part"] != "" != spanish["view"]["title"]
        assert ["Temperature τ", "0.5"] in english["view"]["dials"] and ["Temperatura τ", "0,5"] in spanish["view"]["dials"]
        assert (
            english["question"]["key"] == spanish["question"]["key"]
            and english["question"]["text"] != spanish["question"]["text"]
        )
        assert "right" not in english["question"] and f"**{english['question']['text']}**" in [one.value for one in app.markdown]
        CLASSES.answer(code, english["question"]["key"], "a phone", 0)
        app.button(key="predict_reveal").click()
        ran(app)
        app.button(key="predict_walk").click()
        ran(app)
        after = {name: json.loads(text) for name, (_n, text) in CLASSES.slots(code, "es", {}).items()}
        assert after["question"]["text"] == spanish["question"]["text"] and after["question"]["revealed"]
        assert after["counts"]["tally"][0] == 1 and ["Temperatura τ", "0,1"] in after["view"]["dials"]
    finally:
        CLASSES.close(code)


def test_who_attends_does_not_lead_and_finds_the_way_back(code: str) -> None:
    app = open_page(LEARN / "norms.py", **{"class": code})
    assert "Back to the class" in words(app) and not [one for one in app.toggle if one.key == "predict:shared"]
    assert json.loads(CLASSES.slots(code, "en", {})["view"][1]) == {"body": "one"}

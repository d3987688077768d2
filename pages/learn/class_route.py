"""A class on phones: `/class/CODE`, one small page, and its websocket, over which the newest of each slot comes.

The page needs none of Streamlit's 6 MB. A phone sends an answer, a reason, a question or a vote, as JSON, or a picture that the
class teaches with, which is read and let go. All of it is bounded in bytes, rate and number (`core.lecture.classroom`), and
nothing of it names anybody: a cookie holds a token drawn at random.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from html import escape
from typing import Any, Final

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.websockets import WebSocket
from streamlit.web.server.starlette.starlette_websocket import _is_origin_allowed

from core.lecture.classroom import CLASSES, CODE_LENGTH, LETTERS, LIFE_S, MAX_TEXT, ClassError, Kept
from core.lecture.trial import PHASES
from core.messages import compose
from core.service import classes
from core.service.access import NotAllowed
from pages.shared import service_routes
from pages.shared.assets import PLOTLY, script, style
from pages.shared.language import LANGUAGES, SOURCE, _, speaking, translate_to

TOKEN: Final = "class_token"
"""Cookie: who answers, a random text for as long as a class may last."""
MAX_MESSAGE: Final = 2_000
"""Characters of a phone's message."""
MAX_PICTURE: Final = 120_000
"""Bytes of a phone's picture; pictures are read one at a time, so that phones never hold more than one core."""
MAX_ITEMS: Final = 10
"""Answers of a test."""
MAX_SOCKETS: Final = 1_000
SPREAD_S: Final = 0.25
"""Seconds between two messages to a phone: what changes meanwhile goes together, its newest state alone."""
OVER: Final = 4404
FULL: Final = 4429
_open: set[WebSocket] = set()
_reading = asyncio.Semaphore(1)


def _language(request: HTTPConnection) -> str:
    """The language of the link, else the browser's first that is offered."""
    asked = [request.query_params.get("lang", ""), *request.headers.get("accept-language", "").split(",")]
    codes = [one.strip().partition(";")[0].partition("-")[0].lower() for one in asked[:20]]
    return next((one for one in codes if one in LANGUAGES), SOURCE)


def _words() -> dict[str, str]:
    """Texts of the script, in the language of the moment."""
    return {
        "waiting": _("Connected. What the teacher shows appears here."),
        "away": _("Not connected: trying again …"),
        "over": _("This class is over."),
        "answered": _("{count} answered"),
        "chosen": _("Sent. It can be changed until the answer is out."),
        "right": _("Right."),
        "wrong": _("Your answer was another."),
        "why": _("Say why, in one sentence"),
        "keep": _("Send it, without a name"),
        "kept": _("Kept on this phone and sent without a name."),
        "reasons": _("Why, in the class's words"),
        "queue": _("Questions of the class"),
        "ask": _("Ask the teacher something"),
        "send": _("Ask"),
        "vote": _("Vote for this question"),
        "look": _("Look around in this lesson"),
        "watch": _("This time you watch: the answer comes when it is shown."),
        "test": _("A short test"),
        "tested": _("Handed in, without a name. Your phone keeps how many were right, for the test in some weeks."),
        "hand_in": _("Hand in"),
        "teach": _("Teach it together"),
        "hold": _("Press a class to take a picture of it; hold it for one a second. Only numbers computed from it are kept."),
        "what": _("What is this?"),
        "each": _("yours {mine}, all {all}"),
        "score": _("{share} right of {count} pictures by phones it had not learnt from ({low} to {high})"),
        "no_score": _("The score comes once two phones have taught each class, with five pictures of each."),
        "says": _("It says: {name}, {share}"),
        "unlike": _("Unlike anything you taught me"),
        "unlearnt": _("Taken. It answers once it has learnt from two phones."),
    }


async def class_page(request: Request) -> Response:
    """The phone's page; a form for the code where none, or no open class, is named."""
    code = str(request.path_params.get("code", "")).lower()[:CODE_LENGTH]
    given = request.query_params.get("code", "").strip().lower()
    root = request.scope.get("root_path", "")
    if not code and given and all(one in LETTERS for one in given) and len(given) == CODE_LENGTH:
        return RedirectResponse(f"{root}/class/{given}?lang={_language(request)}")
    language = _language(request)
    with speaking(language):
        html = _page(code, language, root) if CLASSES.known(code) else _form(code, language)
    host = request.headers.get("host", "")
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data: blob:; base-uri 'none'; "
        f"form-action 'self'; connect-src 'self' ws://{host} wss://{host}"
    )
    answer = HTMLResponse(html, headers={"Cache-Control": "no-store", "Content-Security-Policy": policy})
    if TOKEN not in request.cookies:
        secure = request.url.scheme == "https"
        answer.set_cookie(TOKEN, secrets.token_urlsafe(12), max_age=int(LIFE_S), httponly=True, samesite="lax", secure=secure)
    return answer


def _head(language: str, title: str) -> str:
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">'
        f"<style>{plain_styles()}</style></head>"
    )


def plain_styles() -> str:
    """Style sheets of a view as plain HTML."""
    return "".join(style(f"{name}.css") for name in ("plain_view", "recall", "matrix", "diagram"))


def _form(code: str, language: str) -> str:
    title, closed, name, join = _("Join a class"), _("No class is open under this code."), _("Code of the class"), _("Join")
    note = f'<p class="check off">{escape(closed)}</p>' if code else ""
    return (
        f'{_head(language, title)}<body class="plain"><main><h1>{escape(title)}</h1>{note}<form action="/class" method="get">'
        f'<label>{escape(name)} <input name="code" required maxlength="{CODE_LENGTH}" autocapitalize="none" '
        f'autocomplete="off"></label> <button>{escape(join)}</button></form></main></body></html>'
    )


def _page(code: str, language: str, root: str) -> str:
    title = _("Class {code}").format(code=code)
    others = "".join(
        f'<a href="{root}/class/{code}?lang={one}" lang="{one}">{escape(name)}</a>'
        for one, name in LANGUAGES.items()
        if one != language
    )
    setting = {"code": code, "language": language, "root": root, "plotly": PLOTLY, "words": _words(), "most": MAX_TEXT}
    data = json.dumps(setting, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'{_head(language, title)}<body class="plain">'
        f'<header><b>{escape(title)}</b><span id="state" role="status"></span>{others}</header>'
        f'<main><section id="test"></section><section id="question" aria-live="polite"></section><section id="view"></section>'
        f'<section id="lessons"></section><section id="reasons"></section><section id="queue"></section></main>'
        f'<script type="application/json" id="setting">{data}</script>'
        f'<script type="module" src="{root}{script("class.js")}"></script></body></html>'
    )


async def class_socket(websocket: WebSocket) -> None:
    """Serve one phone until it leaves or the class is over."""
    code = str(websocket.path_params.get("code", ""))[:CODE_LENGTH]
    if not _is_origin_allowed(websocket.headers.get("origin"), websocket.headers.get("host")):
        await websocket.close(code=4403)
        return
    await websocket.accept()
    if len(_open) >= MAX_SOCKETS:
        await websocket.close(code=FULL)
        return
    changed, loop = asyncio.Event(), asyncio.get_running_loop()
    changed.set()

    def wake() -> None:
        loop.call_soon_threadsafe(changed.set)

    try:
        classes.require_attend(service_routes.requester(websocket.scope), code)
        CLASSES.join(code, websocket, wake)
    except (ClassError, NotAllowed):
        await websocket.close(code=OVER if not CLASSES.known(code) else FULL)
        return
    _open.add(websocket)
    who = websocket.cookies.get(TOKEN, "")[:40] or secrets.token_urlsafe(12)
    tasks = [asyncio.create_task(one) for one in (_send(websocket, code, who, changed), _receive(websocket, code, who))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        _open.discard(websocket)
        CLASSES.leave(code, websocket)
        with contextlib.suppress(RuntimeError):  # it may be gone
            await websocket.close(code=OVER if not CLASSES.known(code) else 1000)


async def _send(websocket: WebSocket, code: str, who: str, changed: asyncio.Event) -> None:
    language, seen, mine = _language(websocket), dict[str, int](), "null"
    while True:
        await changed.wait()
        changed.clear()
        try:
            slots = CLASSES.slots(code, language, seen)
        except ClassError:
            return
        seen |= {name: at for name, (at, _text) in slots.items()}
        texts = {name: text for name, (_at, text) in slots.items()}
        if (own := CLASSES.mine(code, who)) != mine:
            mine = texts["mine"] = own
        if texts:
            await websocket.send_text("{" + ",".join(f'"{name}":{text}' for name, text in texts.items()) + "}")
        await asyncio.sleep(SPREAD_S)


async def _receive(websocket: WebSocket, code: str, who: str) -> None:
    """Take what the phone sends; return when it leaves, or sends what no page of ours does."""
    language = _language(websocket)
    while True:
        message = await websocket.receive()
        text, picture = message.get("text"), message.get("bytes")
        try:
            if message["type"] == "websocket.disconnect" or len(picture or b"") > MAX_PICTURE:
                return
            sent = None if picture else json.loads(_short(text or ""))
        except (ValueError, RecursionError):
            return
        try:
            if not CLASSES.allow(code, who):
                raise ClassError(compose("so many messages at once: wait a little"))
            if picture:
                async with _reading:
                    answer = await asyncio.to_thread(CLASSES.teach, code, who, picture)
                await websocket.send_text(json.dumps({"taken": answer}))
            else:
                take(code, who, sent)
        except ValueError as problem:
            refused = {"error": translate_to(language, str(problem))} | ({"taken": None} if picture else {})
            await websocket.send_text(json.dumps(refused, ensure_ascii=False))


def _short(text: str) -> str:
    if len(text) > MAX_MESSAGE:
        raise ValueError(f"a message has at most {MAX_MESSAGE} characters")
    return text


def take(code: str, who: str, message: Any) -> None:
    """Carry out a phone's message, checked field by field.

    Raises:
        ClassError: for what is not taken.
    """
    match message:
        case {"answer": [str(question), int(option)]} if not isinstance(option, bool):
            CLASSES.answer(code, question[:100], who, option)
        case {"reason": [str(question), str(text)]}:
            CLASSES.give_reason(code, question[:100], who, text)
        case {"ask": str(text)}:
            CLASSES.ask(code, who, text)
        case {"test": [*answers]} if len(answers) <= MAX_ITEMS and all(type(one) is int for one in answers):
            CLASSES.hand_in(code, who, answers, _kept(message.get("kept")))
        case {"vote": int(number)} if not isinstance(number, bool):
            CLASSES.vote(code, who, number)
        case _:
            raise ClassError(compose("this message is none that a class takes"))


def _kept(sent: Any) -> Kept | None:
    """Group and results that a phone has of another class; None for anything else."""
    match sent:
        case {"arm": str(arm), "right": dict(right)} if len(right) <= len(PHASES):
            return arm[:20], {str(phase): count for phase, count in right.items() if type(count) is int}
        case _:
            return None

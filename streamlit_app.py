"""The entry point: Streamlit runs this file for each visit and each click, and the server imports it once, for `app`."""

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute

from attention_light.scene import FOLDER
from core.garbage_collection import freeze_loaded, return_memory
from core.messages import Refusal
from pages.shared import (
    assets,
    attention_view,
    controls,
    language,
    load_ahead,
    log_output,
    navigation,
    permissions,
    search,
    service_routes,
    streamlit_private,
    upload_caps,
)
from pages.shared.assets import Assets, Compressed, Pages, page_html
from pages.shared.language import _

SWITCH_S = 0.0005
"""Seconds for which a thread that computes may keep others waiting. Each frame to each viewer ends in a system call, after which
the stream waits so long where a page's script computes: with Python's 5 ms, that adds up over 200 viewers."""
MAX_SHOWN = 80
"""Characters of an address that no page has, as the page says it."""
FIRST_MODULES = ("pages.markets.stream_route", "pages.markets.terminal", "pages.learn.lesson_page", "core.lecture.cost_count",
                 "pages.openings")  # fmt: skip
"""Modules that the first pages import, and by them torch, which takes seconds."""
MAX_SWEEP_S = 15.0
"""Seconds between two looks for closed tabs, at most."""
ICON = Path(__file__).parent / "assets" / "pictures" / "icon.svg"


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Set up the logs that the server has added, and stop the feeds with it; the hub exists only where a page has used it."""
    log_output.set_up()
    threading.Thread(target=load, name="loading", daemon=True).start()
    sweeping = asyncio.create_task(sweep())
    yield
    sweeping.cancel()
    hub = sys.modules.get("core.market.hub")
    if hub is not None:
        hub.shutdown()


async def sweep() -> None:
    """Drop the sessions of closed tabs whose time to come back is over, each with its loop, its descriptors and its memory.

    Streamlit keeps at most 128 closed tabs, each for `server.disconnectedSessionTTL`.
    """
    while True:
        await asyncio.sleep(min(st.get_option("server.disconnectedSessionTTL"), MAX_SWEEP_S))
        if streamlit_private.expire_closed_tabs():
            await asyncio.to_thread(return_memory)


def load() -> None:
    """Import what the first pages need, compute what they open with, then tell the address: who follows it waits for neither.

    A browser that comes before has the rest computed for the page that it asks for alone.
    """
    try:
        for name in FIRST_MODULES:
            import_module(name)
        import_module("core.service.recordings").record_again()
        for page in import_module("pages.openings").OPENINGS:
            if assets.visited():
                return
            load_ahead.load_in_turn(assets.opened, [page])
        # 92 MiB, read again in .1 s by whoever brings another picture: what /see opens with is kept without it
        import_module("core.vision.sight").sight_reader.cache_clear()
        freeze_loaded()
        return_memory()
    finally:
        log_output.tell_address()


def later(module: str, name: str) -> Callable[[Any], Awaitable[Any]]:
    """A route's function, imported with the first request: the server answers before torch is loaded."""

    async def serve(connection: Any) -> Any:
        return await getattr(import_module(module), name)(connection)

    return serve


def redirected(request: Request, to: str) -> RedirectResponse:
    """Redirect to another address, relative to the one that was asked, with the same parameters but those that it has itself."""
    address, _mark, chosen = to.partition("?")
    query = urlencode({**request.query_params, **dict(parse_qsl(chosen))}) if chosen else request.url.query
    return RedirectResponse(f"{address}?{query}".rstrip("?"))


def first_page(request: Request) -> Response:
    """The front page; the live page where the link is one of those that it had at this address."""
    return redirected(request, "live") if navigation.OF_THE_LIVE_PAGE & request.query_params.keys() else page_html(request.scope)


def no_page() -> None:
    """Sentence that stands in the frame at an address that no page has."""
    address = st.query_params.get("address", "").replace("`", "")[:MAX_SHOWN]
    st.title(_("No page here"))
    st.markdown(_("There is no page at `{address}`: the menu leads to all there are.").format(address=address or "…"))


def main() -> None:
    """One run: the frame around the page, then the page."""
    # before the navigation, which would have the page's icon fetched from a font service for the tab
    st.set_page_config(page_title="Attention Observatory", page_icon=str(ICON), layout="wide")
    sections = navigation.sections()
    sections[""].append(st.Page(no_page, title=_("No page here"), url_path=navigation.NO_PAGE, visibility="hidden"))
    page = st.navigation(sections, position="top")
    st.set_page_config(page_title=navigation.tab_title(page.title))
    body, frame = (
        st.container(),
        st.container(key="frame_controls", horizontal=True, vertical_alignment="center", width="content"),
    )
    with frame:  # after the page for who goes by Tab, and drawn before it, as a page may take its time
        controls.apply_frame()
        if not controls.presenting():
            search.button()
            language.switch()
            permissions.sign_in_button()
        controls.presentation_switch()
    with body:
        if (family := navigation.beside(page.url_path)) and not controls.presenting():
            with st.container(key="frame_family", horizontal=True, gap="small"):
                for entry in family:
                    st.page_link(entry.file, label=_(entry.title), icon=entry.icon)
        upload_caps.show_refusal()
        try:
            page.run()
        except Refusal as refusal:  # of what no page expects, such as a folder that the environment names wrongly
            logging.getLogger(__name__).exception("A page was refused something")
            controls.error_box(refusal)
    freeze_loaded()


if streamlit_private.this_run() is None:
    # Whole before any page runs: Plotly takes these from `sys.modules`, even while another visitor's page imports them.
    for name in ("pandas", "PIL.Image"):
        import_module(name)
    streamlit_private.take_pages_from_navigation()
    streamlit_private.share_locks()
    streamlit_private.keep_addresses()
    streamlit_private.ask_nobody()
    streamlit_private.look_for_no_emoji_in_letters()
    streamlit_private.look_for_no_prompt()
    log_output.set_up()  # before the server writes its first line
    sys.setswitchinterval(SWITCH_S)
    base = navigation.base_path()
    routes = [
        Mount(f"{base}/assets/scripts", Assets()),
        Mount(f"{base}/attention_light/scripts", Assets(FOLDER / "scripts")),
        Route(f"{base}/{attention_view.PARTS}/{{scene}}/{{number:int}}", attention_view.send_part),
        WebSocketRoute(f"{base}/{navigation.MARKET_STREAM}", later("pages.markets.stream_route", "market_stream")),
        WebSocketRoute(f"{base}/{navigation.HANDS_STREAM}", later("pages.signs.live_camera", "hands_stream")),
        WebSocketRoute(f"{base}/{navigation.SIGHT_STREAM}", later("pages.images.live_camera", "sight_stream")),
        Route(f"{base}/healthz", service_routes.healthz),
        Route(f"{base}/metrics", service_routes.metrics),
        Route(f"{base}/", first_page),
        Route(f"{base}/{navigation.ENTRIES[0].url}", partial(redirected, to="./")),
        *(
            Route(f"{base}/{url}", partial(redirected, to="../" * url.count("/") + near))
            for url, near in navigation.MOVED.items()
        ),
    ]
    if base:
        routes.append(Route(base, partial(redirected, to=f"{base.rpartition('/')[2]}/")))
    app = st.App(
        __file__,
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(one) for one in (service_routes.Gate, Compressed, upload_caps.UploadCheck, Pages)],
    )
else:
    main()

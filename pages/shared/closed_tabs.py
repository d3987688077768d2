"""Frees what a closed tab leaves on the server once its time to come back is over."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import streamlit as st
from streamlit import runtime

from core.garbage_collection import return_memory

MAX_EVERY_S: Final = 15.0


async def sweep() -> None:
    """Drop expired sessions while the server runs, each with its loop, its descriptors and its memory.

    Streamlit keeps at most 128 closed tabs, each for `server.disconnectedSessionTTL`; but it drops one that has expired only as
    the next tab closes, which may be never.
    """
    manager: Any = runtime.get_instance()._session_mgr
    while True:
        await asyncio.sleep(min(st.get_option("server.disconnectedSessionTTL"), MAX_EVERY_S))
        if manager._session_storage._cache.expire():
            await asyncio.to_thread(return_memory)

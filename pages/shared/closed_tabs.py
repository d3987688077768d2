"""Frees what a closed tab leaves on the server once its time to come back is over."""

import asyncio
from typing import Final

import streamlit as st

from core.garbage_collection import return_memory
from pages.shared import streamlit_private

MAX_EVERY_S: Final = 15.0


async def sweep() -> None:
    """Drop expired sessions while the server runs, each with its loop, its descriptors and its memory.

    Streamlit keeps at most 128 closed tabs, each for `server.disconnectedSessionTTL`.
    """
    while True:
        await asyncio.sleep(min(st.get_option("server.disconnectedSessionTTL"), MAX_EVERY_S))
        if streamlit_private.expire_closed_tabs():
            await asyncio.to_thread(return_memory)

"""Streamlit's and the server's logs, written as the app's own are (`core.service.logs`)."""

import logging

import streamlit as st
from streamlit import logger as streamlit_logger

import core
from core.service import logs


def set_up() -> None:
    """Count errors, and write JSON where the environment asks for it; after the server has set its loggers up."""
    if logs.wants_json():
        streamlit_logger.setup_formatter = _as_json
        streamlit_logger.update_formatter()
    logs.set_up()


def tell_address() -> None:
    """Say where the app is, as Streamlit would in plain text after it has asked the internet for this machine's own address."""
    listens = str(st.get_option("server.address") or "localhost")
    name = "localhost" if listens in ("0.0.0.0", "::") else listens
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    text = f"Attention Observatory: http://{name}:{st.get_option('server.port')}/{base}"
    if logs.wants_json():
        logging.getLogger(core.__name__).info(text)
    else:
        print(text, flush=True)


def _as_json(logger: logging.Logger) -> None:
    """In the place of Streamlit's own, which each of its loggers passes through."""
    known = getattr(logger, "streamlit_console_handler", None)
    if known is not None:
        logger.removeHandler(known)
    handler = logging.StreamHandler()
    handler.setFormatter(logs.LogFormatter())
    logger.streamlit_console_handler = handler  # type: ignore[attr-defined]  # where Streamlit keeps it
    logger.addHandler(handler)

"""Streamlit's and the server's logs, written as the app's own are (`core.service.logs`)."""

from __future__ import annotations

import logging

from streamlit import logger as streamlit_logger

from core.service import logs


def set_up() -> None:
    """Count errors, and write JSON where the environment asks for it; after the server has set its loggers up."""
    if logs.wants_json():
        streamlit_logger.setup_formatter = _as_json
        streamlit_logger.update_formatter()
    logs.set_up()


def _as_json(logger: logging.Logger) -> None:
    """In the place of Streamlit's own, which each of its loggers passes through."""
    known = getattr(logger, "streamlit_console_handler", None)
    if known is not None:
        logger.removeHandler(known)
    handler = logging.StreamHandler()
    logs.write_json(handler)
    logger.streamlit_console_handler = handler  # type: ignore[attr-defined]  # where Streamlit keeps it
    logger.addHandler(handler)

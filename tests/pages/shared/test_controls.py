"""Shared controls: presentation mode in the URL, tables that come out as they went in, states in one sentence."""

from io import BytesIO, StringIO

import pandas as pd

from pages.shared import controls
from tests.pages.open_page import open_page


def page() -> None:
    import pandas as pd
    import streamlit as st

    from pages.shared import controls

    controls.apply_frame()
    controls.presentation_switch()
    controls.page_header("Title", "What it is for.")
    controls.error_box("The file is empty.", remedy="Choose another one.")
    controls.notice("stale", "The book is old.")
    controls.notice("loading", "Loading.")
    controls.download_table("Calls", lambda: pd.DataFrame({"a": [1]}), key="calls", filename="calls")
    controls.download_bytes("Picture", lambda: b"png", key="picture", filename="a.png", mime="image/png")
    st.text(f"presenting {controls.presenting()}")


def test_presentation_mode_lives_in_the_url() -> None:
    app = open_page(page)
    assert app.text[0].value == "presenting False"
    app.toggle[0].set_value(True).run()
    assert app.text[0].value == "presenting True"
    assert open_page(page, present="true").text[0].value == "presenting True"


def test_sentences_are_shown_as_given() -> None:
    app = open_page(page)
    assert app.error[0].value == "The file is empty. Choose another one."
    assert app.warning[0].value == "The book is old." and app.info[0].value == "Loading."
    assert app.title[0].value == "Title" and app.markdown[0].value == "What it is for."


def test_a_button_for_each_format() -> None:
    labels = [button.label for button in open_page(page).get("download_button")]
    assert labels == ["Calls (CSV)", "Calls (Parquet)", "Picture"]


def test_tables_come_out_as_they_went_in() -> None:
    table = pd.DataFrame({"when": pd.to_datetime([0, 1], unit="s", utc=True), "p": [0.1, 0.2]})
    pd.testing.assert_frame_equal(pd.read_parquet(BytesIO(controls._parquet(table))), table)
    read = pd.read_csv(StringIO(controls._csv(table).decode()), parse_dates=["when"])
    pd.testing.assert_frame_equal(read, table, check_dtype=False)


def test_a_spreadsheet_runs_no_text_of_a_table() -> None:
    table = pd.DataFrame({"=A1": ["=1+1", "@x", "plain"], "b": [-1.5, 2.0, 3.0]})
    assert controls._csv(table).decode().splitlines() == ["'=A1,b", "'=1+1,-1.5", "'@x,2.0", "plain,3.0"]


def failing() -> None:
    from pathlib import Path

    from pages.shared import controls

    try:
        Path("/", "n" * 300).write_bytes(b"")
    except OSError as error:
        controls.error_box(error, remedy="Choose a shorter name.")


def test_an_error_of_the_system_shows_no_path() -> None:
    assert open_page(failing).error[0].value == "File name too long. Choose a shorter name."

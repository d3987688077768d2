"""Picks the window to look at: a second of a recording, or one frozen from a running feed."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from core.market.book import STEP_MS, BookError
from core.market.hub import hub
from core.market.predictor import DEFAULT
from core.market.store.index import find_recording
from core.market.store.rows import read_market
from core.market.windows import STORE, FrozenWindow, RecordedWindows, WindowError
from pages.markets import cached_results, recorded_choice
from pages.shared import controls, permissions, streamlit_private, url_state
from pages.shared.kept_results import kept
from pages.shared.language import _

SECOND: Final = "second"
"""Key of the place in the recording."""
STRIDE_S: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class WindowSource:
    """Sources of windows.

    Attributes:
        kind: "recording" or "frozen". name: of the recording, or the frozen window's id.
        model: name of the checkpoint.
    """

    kind: str
    name: str
    model: str


def pick_source() -> WindowSource | None:
    """The pickers of source and model. None, after a notice on the page, where there is no window.

    Raises:
        CheckpointError: where the model cannot be loaded.
    """
    _freeze_if_asked()
    if "frozen" in st.query_params and "window" not in st.query_params:
        st.query_params["window"] = "frozen"  # a link that names no more than the window
    kinds = {"recording": _("Recording"), "frozen": _("Frozen")}
    with st.popover(_("Window and model"), icon=":material/tune:"):
        kind = url_state.choice(st.segmented_control, _("Window from"), kinds, key="window")
        if kind != "frozen":
            url_state.remember("frozen", None)
        picked = (recorded_choice.pick_one(), "") if kind == "recording" else _pick_frozen()
        model = _pick_model(picked[1] if picked else "")
    cached_results.predictor_of(model)
    return WindowSource(kind=kind, name=picked[0], model=model) if picked else None


def _freeze_if_asked() -> None:
    """Keep the newest window of the feed that the live page's link names (`?freeze=`)."""
    key = st.query_params.get("freeze")
    if key is None:
        return
    del st.query_params["freeze"]
    session = hub().join(f"{streamlit_private.tab()}:attention", key)
    window = session.freeze() if session else None
    if window is None:
        controls.notice("loading", _("There is no whole window without a gap yet: wait until the warm-up is over."))
        return
    kept = STORE.keep(window, permissions.visitor().holder)
    st.query_params.from_dict({**st.query_params.to_dict(), "window": "frozen", "frozen": kept})


def _pick_model(frozen_with: str) -> str:
    """A picker of the checkpoint; by default the one that the window was frozen with."""
    names = cached_results.model_names()
    if frozen_with and frozen_with not in names:
        st.caption(_("This window was frozen with the model {name}, which is not here.").format(name=frozen_with))
    if len(names) < 2:
        return names[0] if names else DEFAULT
    return url_state.choice(st.selectbox, _("Model"), {name: name for name in names}, key="model", default=frozen_with or DEFAULT)


def _pick_frozen() -> tuple[str, str] | None:
    """The window that the link names; without one the last that this visitor froze or looked at."""
    mine = STORE.values(permissions.visitor().holder)
    name = st.query_params.get("frozen") or (mine[0].id if mine else None)
    url_state.remember("frozen", name)
    window = STORE.find(name) if name else None
    if name and window is not None:
        return name, window.predictor
    if name:
        controls.notice("stale", _("What this link held is gone: it lasts while the app runs, of each visitor the newest few."))
    else:
        controls.notice("empty", _("Nothing is frozen yet: freeze a window on the live page."))
    return None


def utc(window: FrozenWindow) -> str:
    """The time at which the window ends, to a hundredth of a second."""
    when = datetime.fromtimestamp(int(window.timestamps[-1]) / 1e3, UTC)
    return f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 10_000:02d} UTC"


def current(source: WindowSource) -> FrozenWindow | None:
    """The current window, with the controls that move through a recording."""
    if source.kind == "recording":
        return _recorded(source)
    window = STORE.find(source.name)
    return replace(window, predictor=source.model) if window else None


# -- a recording ----------------------------------------------------------------------------------------------------------


@kept(6)
def recorded(name: str, steps: int) -> RecordedWindows:
    """All windows of a recording.

    Raises:
        BookError, WindowError: where it cannot be read, is not there, or is too short.
    """
    one = find_recording(name)
    return RecordedWindows(read_market(one.paths), steps, market=f"recording/{one.name} {one.venue} {one.market}")


def _recorded(source: WindowSource) -> FrozenWindow | None:
    try:
        windows = recorded(source.name, cached_results.predictor_of(source.model).window)
    except (BookError, WindowError) as error:
        controls.error_box(error)
        return None
    second = _place(windows)
    return windows.window(second, predictor=source.model)


def _place(windows: RecordedWindows) -> float:
    """Step buttons and slider; returns the second to show."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        args = (windows, -STRIDE_S), (windows, STRIDE_S)
        st.button(_("Step back"), icon=":material/skip_previous:", key="attention:back", on_click=_move, args=args[0])
        st.button(_("Next step"), icon=":material/skip_next:", key="attention:forward", on_click=_move, args=args[1])
        chosen = url_state.slider(
            _("Second of the recording at which the window ends"),
            windows.first,
            windows.last,
            key=SECOND,
            default=windows.first,
            step=STEP_MS / 1e3,
            format="%.2f s",
            width="stretch",
        )
    second = windows.nearest(chosen)
    if second != chosen:
        st.caption(_("A gap lies there: this is the last whole window before it."))
    return second


def _move(windows: RecordedWindows, by: float) -> None:
    """Move by some seconds; past the end, start again."""
    there = st.session_state.get(SECOND, windows.first) + by
    st.session_state[SECOND] = windows.first if there > windows.last else max(there, windows.first)

"""A page's choices live in the URL, so that a link reopens the page as it was.

Two ways, by whether the value reads the same in every language:

1. It does (a number, a switch, free text, a symbol): Streamlit's own binding. Give the widget a `key`, which names the
   parameter, and `bind="query-params"`; a value equal to the widget's default stays out of the URL.

       st.slider(_("Levels"), 1, 10, 10, key="levels", bind="query-params")

   In 1.67 these take it: checkbox, toggle, slider, select_slider, number_input, text_input, text_area, color_picker,
   feedback, pagination, date, time and datetime input, and, with the shown text as value, selectbox, radio, multiselect,
   pills, segmented_control.

2. It does not (options with translated labels: a bound widget would put the translation into the URL, and a link from a
   Spanish reader would not open for an English one): `choice`, which keeps codes in the URL.

       source = url_state.choice(st.selectbox, _("Source"), {"replay": _("Recording"), "live": _("Live")}, key="source")

`remember` does the same for a value without a widget (a seek position, a frozen window). Keys are short, lower-case English
words, unique across pages that mean different things by them.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import streamlit as st

Number = TypeVar("Number", int, float)
Default = TypeVar("Default")

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_REAL = re.compile(r"-?[0-9]{1,18}(\.[0-9]{0,18})?(e[-+]?[0-9]{1,2})?")


def whole_number(text: str | None, low: int, high: int, default: Default) -> int | Default:
    """The whole number from `low` to `high` that a URL's text is; `default` for any other text, and for none.

    Takes ASCII digits with an optional minus sign, 18 at most, so that no text raises or costs time: Python's own `int` refuses
    4,300 digits and more, and takes "٣", "1_000" and " 3 ".
    """
    if text is None or not _WHOLE.fullmatch(text):
        return default
    value = int(text)
    return value if low <= value <= high else default


def real_number(text: str | None, default: Default) -> float | Default:
    """The finite number that a URL's text is ("3", "-0.25", "1e-3"); `default` for any other text, such as "inf" or "nan"."""
    return float(text) if text is not None and _REAL.fullmatch(text) else default


def choice(
    widget: Callable[..., Any],
    label: str,
    options: Mapping[str, str],
    *,
    key: str,
    default: str | None = None,
    sticky: bool = False,
    **arguments: Any,
) -> str:
    """A single-choice widget over codes, shown by their labels, kept in the URL and across pages.

    Args:
        widget: st.selectbox, st.radio, st.segmented_control or st.pills; of the last two one stays chosen.
        options: label by code; codes are what the URL holds.
        key: of the widget and of the URL parameter.
        default: code chosen where the URL names none; the first one where None. The URL leaves it out.
        sticky: an address without the parameter leaves the choice as it is: for what belongs to the reader and not to a view.
        arguments: for the widget.

    Raises:
        ValueError: where there are no options.
    """
    if not options:
        raise ValueError(f"the choice {key!r} has no options: give it one or more")
    first = default if default in options else next(iter(options))
    # Set on every run: a widget of the same key on another page is another widget, whose value this one would not take over.
    st.session_state[key] = _wanted(
        key, lambda text: text if text in options else None, lambda one: one in options, first, sticky=sticky
    )
    if widget in (st.segmented_control, st.pills):
        # in columns the default is a row that scrolls, which hides options on a phone
        arguments = {"wrap": True, "required": True, **arguments}
    chosen = widget(label, list(options), key=key, format_func=lambda code: options.get(code, str(code)), **arguments)
    code = str(chosen or first)
    _keep(key, code, None if code == first else code)
    return code


def _wanted(key: str, read: Callable[[str], Any], fits: Callable[[Any], bool], default: Any, *, sticky: bool = False) -> Any:
    """The value that a widget is to have: that of a link or of the browser's back button, else the session's, else the one kept.

    Streamlit forgets the session's where a page in between did not show the widget. Where the widget was there a run ago and its
    parameter is gone from the URL, the reader went back to before it was chosen: that was the default.

    Args:
        read: the value of a link's text; None for what is none. fits: another page may mean something else by this name.
    """
    state, given = st.session_state, st.query_params.get(key)
    if given is not None and given != state.get(f"{key}:seen") and (linked := read(given)) is not None:
        return linked
    if given is None and not sticky and state.get(f"{key}:seen") is not None and key in state:
        return default
    return next((one for one in (state.get(key), state.get(f"{key}:kept")) if fits(one)), default)


def _keep(key: str, value: Any, text: str | None) -> None:
    """Keep a value for when the page is opened again, and in the URL its text, None where it is the default."""
    st.session_state[f"{key}:kept"] = value
    remember(key, text)
    st.session_state[f"{key}:seen"] = st.query_params.get(key)


def slider(
    label: str,
    low: Number,
    high: Number,
    *,
    key: str,
    default: Number,
    widget: Callable[..., Any] = st.slider,
    **arguments: Any,
) -> Number:
    """A slider that code can move (a click on a plot, a button), kept in the URL and across pages.

    Streamlit's own binding needs the default at the widget, and warns where the session's state has a value besides. To move
    it, set `st.session_state[key]` before it is drawn.

    Args:
        key: of the widget and of the URL parameter. default: stays out of the URL.
        arguments: for the widget.
    """
    value: Any = _wanted(key, lambda text: real_number(text, None), _is_number, default)
    st.session_state[key] = min(max(type(low)(value), low), high)
    chosen: Number = widget(label, low, high, key=key, **arguments)
    _keep(key, chosen, None if chosen == default else f"{chosen:.10g}")
    return chosen


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def number_input(label: str, low: Number, high: Number, *, key: str, default: Number, **arguments: Any) -> Number:
    """As `slider`, for a number that is typed. Streamlit's own binding raises for `?seed=inf`."""
    return slider(label, low, high, key=key, default=default, widget=st.number_input, **arguments)


def text(label: str, *, key: str, default: str = "", widget: Callable[..., Any] = st.text_input, **arguments: Any) -> str:
    """Text that code moves too (an example's button), kept in the URL and across pages; see `slider`.

    Of a link's text no more than the widget's `max_chars` is taken, as of what is typed; `cut_from` tells so.
    """
    wanted = str(_wanted(key, str, lambda one: one is not None, default))
    st.session_state[key] = wanted[: arguments.get("max_chars")]
    if wanted != st.session_state[key]:
        st.session_state[f"{key}:cut"] = st.session_state[key], len(wanted)
    written = str(widget(label, key=key, **arguments) or "")
    _keep(key, written, None if written == default else written)
    return written


def cut_from(key: str) -> int:
    """Characters of the link's text of which a `text` holds the first; 0 where it holds another text, or all of it."""
    kept, count = st.session_state.get(f"{key}:cut", ("", 0))
    return count if kept and kept == st.session_state.get(key) else 0


def numbers(key: str, count: int) -> list[int]:
    """Whole numbers from 0 to `count` without a widget, kept in the URL (`?key=3.17`) and across pages.

    Code moves them by setting `st.session_state[key]` to a list of their texts.
    """
    return _kept_numbers(key, sorted({*_wanted_numbers(key, count)}))


def sequence(key: str, count: int) -> list[int]:
    """As `numbers`, in the order in which they stand, each as often as it stands."""
    return _kept_numbers(key, _wanted_numbers(key, count))


def _wanted_numbers(key: str, count: int) -> list[int]:
    wanted: list[str] = _wanted(key, lambda text: text.split("."), lambda one: isinstance(one, list), [])
    return [number for code in wanted if (number := whole_number(code, 0, count - 1, -1)) >= 0]


def _kept_numbers(key: str, found: list[int]) -> list[int]:
    codes = st.session_state[key] = [str(one) for one in found]
    _keep(key, codes, ".".join(codes) or None)
    return found


def upcoming(key: str) -> Any:
    """The code that a widget drawn later in this run starts from; None: its default."""
    return _wanted(key, str, lambda one: isinstance(one, str), None)


def remember(key: str, value: str | None) -> None:
    """Put a value into the URL, or remove it where None. Does nothing where the URL already has it."""
    if value is None:
        if key in st.query_params:
            del st.query_params[key]
    elif st.query_params.get(key) != value:
        st.query_params[key] = value

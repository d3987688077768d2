"""The System page: where the app computes, what it uses, which feeds run, which checkpoints it has."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core import checkpoints, usage
from core.market.hub import hub
from core.messages import translate
from core.models.vit import ViTConfig
from core.runs.epoch_time import BATCH, STEPS, EpochTime, epoch_times
from pages.shared import controls, language, navigation, url_state
from pages.shared.language import _, duration, number, percent, size

TIMED = "system:timed"


def use_now() -> None:
    """Memory and processor of this process, and the running feeds."""
    use = usage.use()
    columns = st.columns(4)
    columns[0].metric(_("Memory"), size(use.memory), help=_("Of {total} in this machine.").format(total=size(use.machine_memory)))
    columns[1].metric(_("Processor"), percent(use.cpu, 0), help=_("Of one core; this process may use {n}.").format(n=use.cores))
    columns[2].metric(_("Threads"), number(use.threads))
    columns[3].metric(_("Running for"), duration(use.uptime_s))
    card = usage.card_use()
    if card is not None:
        columns = st.columns(4)
        everyone = _("In use by anyone, of {total}.").format(total=size(card.total))
        columns[0].metric(_("GPU memory"), size(card.memory), help=everyone)
        columns[1].metric(_("GPU busy"), _("unknown") if card.busy is None else percent(card.busy, 0))
        columns[2].metric(_("This app on the GPU"), size(card.own), help=_("What its tensors hold."))


def feeds() -> None:
    """The feeds somebody watches."""
    running = hub().watched()
    if not running:
        controls.notice("empty", _("No feed is running. One starts when somebody opens a market page."))
        return
    st.table(
        [
            {
                _("Feed"): feed.key,
                _("Viewers"): number(feed.viewers),
                _("Steps"): number(feed.steps),
                _("Running for"): duration(feed.seconds),
            }
            for feed in running
        ]
    )


@st.fragment(run_every=2)
def live_part() -> None:
    """What changes by itself."""
    use_now()
    st.subheader(_("Feeds"), anchor=False)
    feeds()


def device() -> None:
    """Where models compute."""
    where = usage.device()
    if where.kind == "cuda":
        st.markdown(_("Models compute on **{name}** with {memory}.").format(name=where.name, memory=size(where.memory)))
    else:
        st.markdown(
            _("Models compute on the **processor** ({name}), on {n} threads; a CUDA device is used where there is one.").format(
                name=where.name, n=where.threads
            )
        )


def epoch_time() -> None:
    """What training costs here: timed when asked for, on the processor and on a GPU where there is one."""
    st.markdown(_("How long would an epoch of the garments' Vision Transformer take here, 55,000 images?"))
    if st.button(_("Time it"), icon=":material/timer:", key="system_epoch"):
        config = ViTConfig(**checkpoints.read_card("vit")["config"])
        with st.spinner(_("Timing some steps of training…"), show_time=True):
            st.session_state[TIMED] = list(epoch_times(config))
    timed: list[EpochTime] | None = st.session_state.get(TIMED)
    if timed is None:
        return
    names = {"cpu": _("Processor"), "cuda": _("GPU")}
    a_step = _("A step of {count} images").format(count=number(BATCH))
    st.table(
        [
            {
                _("Device"): names[one.device],
                a_step: _("{value} ms").format(value=number(1e3 * one.step_s, 1)),
                _("An epoch"): duration(one.epoch_s),
                _("Times as fast"): number(timed[0].step_s / one.step_s, 1),
            }
            for one in timed
        ]
    )
    st.caption(
        _("Median of {steps} steps, every patch seen; threads of the processor: {n}, beside all else that runs.").format(
            steps=number(STEPS), n=number(timed[0].threads)
        )
        + ("" if len(timed) > 1 else " " + _("There is no CUDA device; where there is one, its time stands below."))
    )


def checkpoint_cards() -> None:
    """The checkpoints on disk; one of them in full."""
    cards, broken = [], []
    for name in (path.stem for path in sorted(checkpoints.FOLDER.glob("*.json"))):
        try:
            cards.append(checkpoints.read_card(name))
        except checkpoints.CheckpointError as error:
            broken.append(str(error))
    for sentence in broken:
        controls.error_box(_("A checkpoint cannot be read: {why}.").format(why=translate(sentence)))
    if not cards:
        controls.notice("empty", _("There are no checkpoints in assets/checkpoints."))
        return
    st.table([_row(card) for card in cards])
    names = {card["name"]: card["name"] for card in cards}
    chosen = url_state.choice(st.selectbox, _("Card in full"), names, key="card")
    card = next(card for card in cards if card["name"] == chosen)
    st.markdown(_("Trained with `{command}` on {date}.").format(command=card["command"], date=card["date"]))
    st.json(card, expanded=1)


def _row(card: dict[str, Any]) -> dict[str, str]:
    weights = checkpoints.FOLDER / f"{card['name']}.safetensors"
    return {
        _("Checkpoint"): card["name"],
        _("Model"): card["model"],
        _("Parameters"): number(card["parameters"]),
        _("Size"): size(weights.stat().st_size) if weights.exists() else _("missing"),
        _("Date"): card["date"],
    }


def about() -> None:
    """Versions, language, licences."""
    left, right = st.columns(2)
    with left:
        st.subheader(_("Versions"), anchor=False)
        found = checkpoints.versions(*usage.PACKAGES)
        st.table([{_("Package"): name, _("Version"): number_} for name, number_ in found.items()])
    with right:
        st.subheader(_("Language"), anchor=False)
        st.markdown(
            _("Shown in **{language}**. The browser asks for {locale} and is in the time zone {zone}.").format(
                language=language.LANGUAGES[language.current()],
                locale=st.context.locale or _("no language"),
                zone=st.context.timezone or "UTC",
            )
        )
        st.subheader(_("Licences"), anchor=False)
        with st.expander(_("This app (MIT)")):
            st.text((navigation.ROOT / "LICENSE").read_text(encoding="utf-8"))
        with st.expander(_("Bundled data and software of others")):
            notices = (navigation.ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8").split("\n", 1)[1]
            st.markdown(notices.replace("\n## ", "\n##### "))


controls.page_header(
    _("System"), _("What this app runs on, what it uses of the machine, and which trained models it has at hand.")
)
live_part()
st.subheader(_("Device"), anchor=False)
device()
try:
    epoch_time()
except checkpoints.CheckpointError as error:
    controls.error_box(str(error), remedy=_("Restore the files in assets/checkpoints, or train a model (see the README)."))
st.subheader(_("Checkpoints"), anchor=False)
checkpoint_cards()
about()

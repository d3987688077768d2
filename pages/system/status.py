"""The System page: usage of the machine, the device, checkpoints and versions."""

from typing import Any

import streamlit as st

from core import checkpoints, usage
from core.messages import translate
from pages.shared import controls, navigation, url_state
from pages.shared.language import _, duration, number, percent, size


@st.fragment(run_every=2)
def current_usage() -> None:
    """Memory, processor time and threads of this process, and what is in use of the GPU, anew every two seconds."""
    use = usage.process_usage()
    columns = st.columns(4)
    columns[0].metric(_("Memory"), size(use.memory), help=_("Of {total} in this machine.").format(total=size(use.machine_memory)))
    columns[1].metric(_("Processor"), percent(use.cpu, 0), help=_("Of one core; this process may use {n}.").format(n=use.cores))
    columns[2].metric(_("Threads"), number(use.threads))
    columns[3].metric(_("Running for"), duration(use.uptime_s))
    gpu = usage.gpu_usage()
    if gpu is not None:
        columns = st.columns(4)
        everyone = _("In use by all programs, of {total}.").format(total=size(gpu.total))
        columns[0].metric(_("GPU memory"), size(gpu.memory), help=everyone)
        columns[1].metric(_("GPU busy"), _("unknown") if gpu.busy is None else percent(gpu.busy, 0))
        columns[2].metric(_("This app on the GPU"), size(gpu.tensors))


def device() -> None:
    """The device that the models compute on, and what one of CUDA gains where a network is trained."""
    measured = _(
        "An epoch of {count} images of the garments' Vision Transformer took {gpu} s on an NVIDIA H200 and {cores} s on the 16 "
        "cores beside it (`{command}`, 26 November 2026)."
    )
    command = "git checkout 5e24c7a6; python -m core bench --cuda"
    st.caption(measured.format(count=number(55_000), command=command, gpu="14–17", cores="50–58"))
    where = usage.compute_device()
    if where.kind == "cuda":
        text = _("Every model computes on **{name}** with {memory}, and on the processor from the moment that it fails.")
        st.markdown(text.format(name=where.name, memory=size(where.memory)))
        return
    text = _("Every model computes on the **processor** ({name}; threads: {n}); a CUDA device would serve them all.")
    st.markdown(text.format(name=where.name, n=number(where.threads)))


def checkpoint_cards() -> None:
    """A table of the checkpoints, and one card in full."""
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
    """Versions of the packages, and licences."""
    left, right = st.columns(2)
    with left:
        st.header(_("Versions"), anchor=False)
        versions = checkpoints.versions(*usage.PACKAGES)
        st.table([{_("Package"): name, _("Version"): version} for name, version in versions.items()])
    with right:
        st.header(_("Licences"), anchor=False)
        with st.expander(_("This app (MIT)")):
            st.text((navigation.ROOT / "LICENSE").read_text(encoding="utf-8"))
        with st.expander(_("Bundled data and software of others")):
            notices = (navigation.ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8").split("\n", 1)[1]
            st.markdown(notices.replace("\n## ", "\n##### "))


controls.page_header(_("System"))
current_usage()
st.header(_("Device"), anchor=False)
device()
st.header(_("Checkpoints"), anchor=False)
checkpoint_cards()
about()
controls.link_to_view()

"""Patches to tokens: the forward pass of the ViT for one image, step by step, with this image's numbers."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.figures import pictures as figures
from core.vision.classifier import Classifier
from core.vision.pictures import Bytes
from pages.images import cached_results, picture_source, preparation
from pages.images import tokens_stages as stages
from pages.images.model_choice import pick_classifier, show_if_possible
from pages.images.tokens_stages import Place
from pages.shared import controls, url_state
from pages.shared.language import _, number, prose
from pages.shared.live_plot import Point, live_plot

controls.page_header(_("Patches to tokens"), prose("tokens_lead"))


def body() -> None:
    """The page where there is a model."""
    chosen = picture_source.pick_folded()
    if chosen is None:
        controls.notice("empty", _("No picture is chosen yet: give one above, or take a test image."))
        picture_source.link_to_view()
        return
    st.markdown(f"**{chosen.name}**")
    classifier = pick_classifier(chosen.picture)
    image = cached_results.prepare(classifier, chosen.picture, preparation.linked(classifier.manner)).image
    walk, names = cached_results.walk(classifier, image), _stages()
    titles = {code: title for code, (title, _show) in names.items()}
    stage = url_state.choice(st.segmented_control, _("Step"), titles, key="stage", required=True)
    left, right = st.columns([2, 5])
    with left:
        place = _place(classifier, image, with_head=stage in ("scores", "softmax", "layer"))
    with right:
        title, show = names[stage]
        st.header(title, anchor=False)
        show(Place(classifier=classifier, image=image, walk=walk, **place))
        _step_buttons(stage, list(names))
    picture_source.link_to_view()


def _stages() -> dict[str, tuple[str, Callable[[Place], None]]]:
    return {
        "patches": (_("1. Patches"), stages.patches),
        "embedding": (_("2. Embedding"), stages.embedding),
        "positions": (_("3. Class token and positions"), stages.positions),
        "scores": (_("4. Queries and keys"), stages.scores),
        "softmax": (_("5. Softmax"), stages.softmax),
        "layer": (_("6. Through the layer"), stages.layer),
        "classes": (_("7. Classes"), stages.classes),
    }


def _place(classifier: Classifier, image: Bytes, *, with_head: bool) -> dict[str, int]:
    """The chosen patch, layer and head."""
    grid, patch = classifier.config.grid, classifier.config.patch
    tokens = {str(i): _("Patch {number}").format(number=number(i)) for i in range(1, grid**2 + 1)}
    tokens["0"] = _("The class token")
    middle = str(grid * (grid // 2) + grid // 2 + 1)

    def clicked(point: Point) -> None:
        if isinstance(point.x, float | int) and isinstance(point.y, float | int):
            st.session_state["patch"] = str(1 + figures.patch_at(point.x, point.y, patch=patch, grid=grid))

    token = int(url_state.choice(st.selectbox, _("Token (or click a patch)"), tokens, key="patch", default=middle))
    live_plot(
        figures.overlay_figure(image, None, patch=patch, outlined=token - 1 if token else None, height=300),
        key="tokens_picture",
        height=300,
        on_click=clicked,
        filename="picture",
        alt=_("The picture cut into its patches; a click chooses one."),
    )
    layers = {str(i + 1): number(i + 1) for i in range(classifier.config.layers)}
    heads = {str(i + 1): number(i + 1) for i in range(classifier.config.heads)}
    layer = head = 0
    if with_head:
        layer = int(url_state.choice(st.selectbox, _("Layer"), layers, key="nlayer")) - 1
        head = int(url_state.choice(st.selectbox, _("Head"), heads, key="nhead")) - 1
    return {"token": token, "layer": layer, "head": head}


def _step_buttons(stage: str, codes: list[str]) -> None:
    def go(code: str) -> None:
        st.session_state["stage"] = code

    at = codes.index(stage)
    with st.container(horizontal=True):
        if at > 0:
            st.button(_("Step back"), icon=":material/arrow_back:", on_click=go, args=(codes[at - 1],), key="tokens:back")
        if at + 1 < len(codes):
            st.button(
                _("Next step"),
                icon=":material/arrow_forward:",
                on_click=go,
                args=(codes[at + 1],),
                key="tokens:next",
                type="primary",
            )


show_if_possible(body)

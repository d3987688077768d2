"""Attention of the ViT: five measures over the picture, all attention maps, patches to rub out, deletion curves."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.vision.analysis import PictureAnalysis
from core.vision.evidence import mask_of, to_npz
from pages.images import (
    attention_maps,
    cached_results,
    fool_it,
    patch_evidence,
    picture_source,
    preparation,
    ranking_panel,
)
from pages.images.model_choice import pick_classifier, show_if_possible
from pages.shared import controls, faithfulness_view, url_state
from pages.shared.language import _, prose

controls.page_header(_("What the ViT looks at"), prose("garment_attention_lead"))


def body() -> None:
    """The page where there is a model."""
    chosen = picture_source.pick_folded()
    if chosen is None:
        return
    classifier = pick_classifier(chosen.picture)
    prepared = cached_results.prepare(classifier, chosen.picture, preparation.linked(classifier.manner))
    analysis = cached_results.analyse(classifier, prepared.image, prepared.unturned)
    st.caption(chosen.name)
    ranking_panel.warnings(analysis, prepared)
    if prepared.empty:
        picture_source.link_to_view()
        return
    ranking_panel.headline(analysis, chosen)
    views(chosen.name, analysis)


@st.fragment
def views(title: str, analysis: PictureAnalysis) -> None:
    """The chosen view and its downloads: a fragment, so that a choice in it does not rerun the page."""
    options = {
        "picture": _("Over the picture"),
        "maps": _("All maps"),
        "hide": _("Fool it"),
        "truth": _("Is it telling the truth?"),
    }
    view = url_state.choice(st.segmented_control, _("View"), options, key="inside", required=True)
    hidden: frozenset[int] = frozenset()
    label, downloads = analysis.likeliest, _no_downloads
    if view == "picture":
        shown = patch_evidence.show(analysis)
        label, downloads = shown.label, lambda: patch_evidence.download_patches(shown)
    elif view == "maps":
        downloads = attention_maps.show(analysis)
    elif view == "hide":
        hidden, downloads = fool_it.show(analysis, title)
    else:
        card = analysis.classifier.card
        faithfulness_view.show(
            "vit",
            checkpoint=card,
            here=lambda told: cached_results.deletion_curves(analysis, analysis.likeliest, told=told),
            unit=_("patches"),
        )
    _downloads_and_links(analysis, label=label, hidden=hidden, downloads=downloads)


def _no_downloads() -> None:
    """For a view without any."""


def _downloads_and_links(analysis: PictureAnalysis, *, label: int, hidden: frozenset[int], downloads: Callable[[], None]) -> None:
    def arrays() -> bytes:
        importance = cached_results.evidence(analysis, label).importance
        if not hidden:
            return to_npz(analysis, importance, label)
        mask = mask_of(hidden, analysis.grid**2)
        return to_npz(analysis, importance, label, hidden=mask, answer=cached_results.hidden_answer(analysis, hidden))

    with st.container(horizontal=True, vertical_alignment="center"):
        controls.download_bytes(
            _("Picture and all arrays (.npz)"),
            arrays,
            key="vit_npz",
            filename="garment-attention.npz",
            mime="application/octet-stream",
        )
        downloads()
        st.page_link(
            "pages/images/classify.py",
            label=_("How this picture was prepared"),
            icon=":material/checkroom:",
            query_params=st.query_params.to_dict(),
        )
        picture_source.link_to_view()


show_if_possible(body)
st.markdown(prose("classify_weights"))
with st.expander(_("How to read this page"), icon=":material/menu_book:"):
    st.markdown(prose("garment_attention_reading"))

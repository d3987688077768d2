"""The view of deletion curves, the same for every model: means over the bundled sample, and what they say of each measure."""

from typing import Any

import pandas as pd
import streamlit as st

from core.explain import faithfulness
from core.explain.faithfulness import RANDOM, FaithfulnessVerdict, Finding, FindingError
from core.figures import faithfulness as figures
from pages.shared import controls
from pages.shared.language import _, number, percent, prose
from pages.shared.live_plot import live_plot


def method_names() -> dict[str, str]:
    """Translated name of each method, by its code."""
    return {
        "attention": _("Attention (last layer)"),
        "rollout": _("Rollout"),
        "relevance": _("Gradient relevance"),
        "gradients": _("Integrated gradients"),
        "occlusion": _("Occlusion"),
        "salience": _("What stands out"),
        "class": _("Class token, all layers"),
    }


def draw_faithfulness(model: str, *, card: dict[str, Any], unit: str) -> None:
    """The view.

    Args:
        model: "tlob", "vit", "iiga" or "sight"; chooses the text on what is deleted.
        card: the model's.
        unit: translated name of the parts: "patches", "moments", "frames".
    """
    st.markdown(prose("truth"))
    st.markdown(prose(f"truth_{model}"))
    finding = _finding(card)
    if finding is None:
        return
    left, right = st.columns(2)
    with left:
        st.markdown(_("**Mean of {count} bundled inputs**").format(count=number(finding.samples)))
        live_plot(
            figures.curves_figure(finding.curves, method_names() | {RANDOM: _("By chance")}, parts=unit, keep="truth_sample"),
            key="truth_sample",
            height=360,
            filename="truth-sample",
            alt=_("Mean deletion curves of the sample."),
        )
        st.caption(_("Measured by `{command}`.").format(command=finding.command))
    with right:
        _verdict(finding)


def _finding(card: dict[str, Any]) -> Finding | None:
    """The sample's curves for this checkpoint; shows a notice and returns None where there are none."""
    name = str(card["name"])
    try:
        finding = faithfulness.read(name, folder=faithfulness.FOLDER)
    except FindingError as error:
        controls.error_box(error)
        return None
    if finding is None or finding.weights_sha256 != card.get("weights_sha256"):
        command = f"python -m core faithful {name} --folder assets/explain --overwrite"
        sentence = _("The bundled sample has not been measured with these weights: run `{command}`.").format(command=command)
        controls.notice("stale" if finding else "empty", sentence)
    return finding


def _verdict(finding: Finding) -> None:
    names = method_names()
    st.header(_("What the curves say"), anchor=False)
    st.markdown(_about_attention(finding.verdicts))
    rows = [
        {
            _("Method"): names[method],
            _("Area under the curve"): number(one.area, 3),
            _("Below chance"): f"{number(one.gain, 3)} ± {number(one.error, 3)}",
            _("Better than chance"): percent(one.better),
        }
        for method, one in finding.verdicts.items()
        if method in names
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    chance = number(finding.chance, 3)
    st.caption(_("± is one standard error over the sample; by chance the area is {chance}.").format(chance=chance))


def _about_attention(verdicts: dict[str, FaithfulnessVerdict]) -> str:
    """A sentence on how faithful attention is over the sample."""
    names = method_names()
    ranked = sorted((one for one in verdicts if one in names), key=lambda method: verdicts[method].gain, reverse=True)
    attention, best = verdicts["attention"], ranked[0]
    if attention.gain > 2 * attention.error:
        knows = _("Deleting what attention looks at most hurts the answer more than deleting at random does.")
    else:
        knows = _("Deleting what attention looks at most does not measurably hurt the answer more than deleting at random.")
    place = _("It comes {place} of {count} methods; the best here is {best}.").format(
        place=number(1 + ranked.index("attention")), count=number(len(ranked)), best=names[best]
    )
    if best == "attention":
        lesson = _("Here attention is as good a guide as any; on another model or other inputs it need not be.")
    else:
        lesson = _("So a map of attention shows what the model mixes; the other methods say what its answer rests on.")
    return f"{knows} {place} {lesson}"

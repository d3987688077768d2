"""A clip as the stage of the attention view: its frames, what is read of each, and what counted for each gloss."""

from attention_light import AttentionScene, FilmStage, LayerMaps
from core.explain.faithfulness import FindingError
from core.signs.recogniser import Recogniser
from core.signs.recognition import Recognition
from core.signs.vocabulary import BLANK
from pages.shared import controls, faithfulness_view
from pages.shared.language import _, number, percent
from pages.signs import cached_results
from pages.signs.cached_results import Clip


def titles(recognition: Recognition) -> dict[str, str]:
    """Names of the four attentions for readers (D16)."""
    kinds = {"intra": _("Intra-gloss {number}"), "inter": _("Inter-gloss {number}")}
    return {name: kinds[name.split(" ")[0]].format(number=name.split(" ")[1]) for name in recognition.attention}


def scene_of(
    recogniser: Recogniser, clip: Clip, recognition: Recognition, hidden: tuple[int, ...], *, answer: str
) -> AttentionScene:
    """The film on the stage: at rest it is lit by what counted for the gloss that is being read, without the hidden frames."""
    try:
        counted = cached_results.counted(recogniser, clip, hidden)
    except FindingError as error:
        controls.error_box(error)
        counted = []
    methods, named = faithfulness_view.method_names(), titles(recognition)
    measures = {}
    for place, ((method, shares), (gloss, _first, _last)) in enumerate(zip(counted, recognition.spans, strict=False), start=1):
        measures[f"{method} {place}"] = shares
        named[f"{method} {place}"] = f"“{gloss}” · {methods[method]}"
    begun = [first for _gloss, first, _last in recognition.spans]
    stage = FilmStage(
        frames=cached_results.pictures(recogniser, clip),
        seconds=recognition.seconds.tolist(),
        captions=recognition.spans,
        notes=notes(recognition),
        rests=[max(0, sum(first <= at for first in begun) - 1) for at in range(len(recognition.seconds))] if measures else [],
        frame=_("frame {number} ({seconds} s)"),
        decimal=number(0.5, 1)[1],
    )
    layers = [
        LayerMaps(name=name, weights=weights, formula=f"iiga-{name.split(' ')[0]}")
        for name, weights in recognition.attention.items()
    ]
    # the surest frame of the first gloss
    start = recognition.glosses[0].peak if recognition.glosses else len(recognition.seconds) // 2
    return AttentionScene(stage=stage, layers=layers, start=start, measures=measures, titles=named, answer=answer)


def notes(recognition: Recognition) -> list[str]:
    """The likeliest label of each frame, and its probability."""
    sentence, nothing = _("This frame: {gloss}, {share}"), _("nothing new")
    likeliest = recognition.log_probabilities.argmax(axis=1).tolist()
    return [
        sentence.format(
            gloss=nothing if label == BLANK else recognition.names[label],
            share=percent(float(recognition.probabilities[at, label])),
        )
        for at, label in enumerate(likeliest)
    ]

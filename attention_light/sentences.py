"""Sentences of the view, in English; an app that has other languages passes translations."""

from __future__ import annotations

from typing import Final


def N_(text: str) -> str:  # noqa: N802 (gettext's own name for it)
    """Mark a constant for extraction."""
    return text


SENTENCES: Final = {
    "looks": N_("{layer}, {head}: {query} looks at {key} with {share}, {times} times as much as evenly over all {count}."),
    "seen": N_("{layer}, {head}: {key} is looked at most by {query}, with {share}."),
    "counts": N_("{measure}: {key} counts most for the answer, with {share} of the whole."),
    "against": N_("{measure}: {key} counts most, and against the answer, with {share} of the whole."),
    "idle": N_("{measure}: nothing counts for the answer."),
    "coming": N_("{layer}, {head}: its numbers are on their way."),
    "absent": N_("{layer}, {head}: its numbers are not here."),
    "like": N_("Like {query}: {count} of {whole} patches (a cosine of .5 or more), most of all {key} with {cosine}."),
    "parts": N_("Parts: three main directions of the tokens as red, green and blue, {share} of what tells the patches apart."),
    "stands": N_("{measure}: {count} of {whole} patches (above .5), most of all {key} with {value}."),
    "litByLooks": N_("Looks at"),
    "litByLike": N_("Like it"),
    "litByParts": N_("Parts"),
    "formula": N_("Formula, code and test"),
    "head": N_("head {number}"),
    "mean": N_("mean of heads"),
    "rollout": N_("Rollout"),
    "whole": N_("all layers together"),
    "reverse": N_("Who looks at it?"),
    "play": N_("Layer by layer"),
    "run": N_("Play"),
    "pause": N_("Pause"),
    "erase": N_("Erase"),
    "stop": N_("Stop"),
    "take": N_("Take it away"),
    "png": N_("PNG"),
    "html": N_("HTML"),
    "npz": N_("Numbers (.npz)"),
    "stage": N_("Stage: point at a token to light what it looks at; arrows walk, Enter keeps, Escape lets go."),
    "squares": N_("Layers and heads: point at a square to light the stage by it; arrows walk, Enter keeps."),
    "row": N_("Weights of the chosen token"),
    "help": N_("Point: what it looks at. Press: keep. Shift: who looks at it. Esc: let go."),
}

"""Clean-up of glosses before RWTH-PHOENIX-Weather 2014 counts errors (Koller et al. 2015, its shell scripts).

Two steps, both on references and hypotheses. Clean-up: markers are dropped, prefixes and endings of notation taken off, two
spellings mended, two signs named by their usual compound, and letters that are spelled one by one joined by "+". Merging: a gloss
that directly follows itself counts once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final

MARKER: Final = re.compile(r"__[A-Z]+__")
NOTATION: Final = re.compile(r"loc-|cl-|qu-|poss-|lh-|-PLUSPLUS|(?<=[A-Z]{2})RAUM")
"""Place, classifier, question, possessive, left hand; repetition; and the room in which a sign is made."""
SPELLINGS: Final = {"S0NNE": "SONNE", "HABEN2": "HABEN", "ZEIGEN": "ZEIGEN-BILDSCHIRM"}
LETTER: Final = re.compile(r"(?:[A-Z]|SCH|NN)(?:\+(?:[A-Z]|SCH|NN))*")
"""A letter, a group of letters with a hand shape of its own, or several joined already."""


def cleaned(sentence: Sequence[str]) -> list[str]:
    """One sentence after the clean-up.

    >>> cleaned(["loc-NORD", "__EMOTION__", "S0NNE", "A", "B", "WIE", "AUSSEHEN"])
    ['NORD', 'SONNE', 'A+B', 'WIE-AUSSEHEN']
    """
    bare = [NOTATION.sub("", MARKER.sub("", gloss)) for gloss in sentence]
    glosses: list[str] = []
    for gloss in (SPELLINGS.get(one, one) for one in bare if one):
        before = glosses[-1] if glosses else ""
        if (before, gloss) == ("WIE", "AUSSEHEN"):
            glosses[-1] = "WIE-AUSSEHEN"
        elif LETTER.fullmatch(before) and LETTER.fullmatch(gloss) and (before, gloss) != ("NN", "NN"):
            glosses[-1] = f"{before}+{gloss}"
        else:
            glosses.append(gloss)
    return glosses


def merged(sentence: Sequence[str]) -> list[str]:
    """One sentence in which a gloss that follows itself counts once."""
    return [gloss for gloss, _ in groupby(sentence)]

"""The numbers that a page shows for one image as a file of named arrays (.npz), which numpy opens without this app.

Its arrays: "image" uint8 (28, 28), or (side, side, 3) in colour; "probabilities" (10,) of "classes"; "layer 1" and so on,
(heads, n, n), with n = 1 + patches tokens, 0 being the class token; "rollout" (n, n); "importance attention" and so on,
(patches,), for the class "explained"; and where patches are hidden "hidden" (patches,) and "probabilities hidden" (10,).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import npz
from core.explain.rollout import rollout
from core.vision.analysis import PictureAnalysis


def to_npz(
    analysis: PictureAnalysis,
    importance: Mapping[str, NDArray[np.floating]],
    label: int,
    *,
    hidden: NDArray[np.bool_] | None = None,
    answer: NDArray[np.floating] | None = None,
) -> bytes:
    """The file's bytes.

    Args:
        importance: method -> (patches,). label: the class that the importance is about.
        hidden: (patches,) which patches are hidden. answer: (classes,) probabilities with these hidden.
    """
    arrays: dict[str, Any] = {
        "image": analysis.image,
        "probabilities": analysis.probabilities,
        "classes": np.array(analysis.classifier.class_names),
        "explained": np.array(analysis.classifier.class_names[label]),
        **analysis.maps,
        "rollout": rollout(list(analysis.maps.values())),
    }
    arrays |= {f"importance {method}": values for method, values in importance.items()}
    if hidden is not None and answer is not None:
        arrays |= {"hidden": hidden, "probabilities hidden": answer}
    return npz.to_bytes(arrays)

"""Claims of the lesson on CTC."""

from __future__ import annotations

from core.lecture.claims import Said
from core.messages import compose


def paths(now: int, then: int, needed: int) -> Said:
    """Valid paths of a target now, and with one frame more; it needs so many frames at least."""
    said: Said = {}
    if not then:
        said["none"] = compose(
            "The target needs {needed} frames: one more is still too few, and there is no path.", needed=needed
        )
    elif not now:
        said["first"] = compose(
            "With one frame more there are the {needed} that the target needs: just enough for {then}.",
            needed=needed,
            then=then,
        )
    elif now == then:
        said["same"] = compose("There is one state alone, and every frame waits in it: {now} → {then}.", now=now, then=then)
    else:
        said["more"] = compose(
            "A path can wait in each of its states, so there are more ways to fill the frames: {now} → {then}.",
            now=now,
            then=then,
        )
    return said

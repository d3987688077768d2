"""Classes as a visitor may have them: anyone opens and leads one of their own, anyone attends one whose code was given."""

from __future__ import annotations

from core.lecture.classroom import CLASSES, ClassError
from core.messages import compose
from core.service.access import Action, Visitor


def open_class(by: Visitor) -> tuple[str, str]:
    """A new class: its code, and the key that leads it.

    Raises:
        NotAllowed: where the visitor may not. ClassError: where too many are open.
    """
    by.require(Action.LEAD)
    return CLASSES.open()


def require_lead(by: Visitor, code: str, key: str) -> None:
    """Stop whoever does not lead this class.

    Raises:
        NotAllowed: where the key is another's. ClassError: where no such class is open.
    """
    if not CLASSES.known(code):
        raise ClassError(compose("no class is open under this code: ask for the new link"))
    by.require(Action.LEAD, own=CLASSES.leads(code, key))


def require_attend(by: Visitor, code: str) -> None:
    """Stop whoever may not attend.

    Raises:
        NotAllowed: where the visitor may not. ClassError: where no such class is open.
    """
    if not CLASSES.known(code):
        raise ClassError(compose("no class is open under this code: ask for the new link"))
    by.require(Action.ATTEND)

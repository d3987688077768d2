"""Claims: sentences about a part's figure, each said only where it is true of the part's numbers (D34).

A lesson's claims stand in the module of its name, a function a part: it takes the part's numbers and returns the sentences that
are true of them. `tests/core/lecture/claims` walks every part through the extremes of its dials and computes truth and numbers in
another way.
"""

from core.messages import Message

Said = dict[str, Message]
"""The true sentences, their numbers filled in, by the claims' names, which are a part's own."""


def sentences_of(claims: Said) -> list[Message]:
    """The sentences alone."""
    return list(claims.values())

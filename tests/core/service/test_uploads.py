"""How much visitors may keep uploaded, each and all together."""

from __future__ import annotations

from core.service.uploads import MIB, UploadCaps


def test_a_visitor_and_all_together_have_a_limit() -> None:
    caps = UploadCaps(max_of_visitor=3 * MIB, max_total=5 * MIB)
    held = {"me": 2 * MIB, "you": MIB}
    assert caps.begin("me", MIB, held) is None
    refusal = caps.begin("me", 1, held)  # the one before is still under way
    assert refusal == "Your uploads would take 4 MiB, and one visitor may keep 3: remove some, or close other tabs."
    assert caps.begin("you", MIB, held) is None
    assert caps.begin("she", 1, held) == "All visitors' uploads together take the 5 MiB that this server keeps: try again later."
    caps.end("me", MIB)
    assert caps.begin("she", MIB, held) is None


def test_what_failed_leaves_no_trace() -> None:
    caps = UploadCaps(max_of_visitor=MIB, max_total=MIB)
    for _ in range(3):
        assert caps.begin("me", MIB, {}) is None
        caps.end("me", MIB)

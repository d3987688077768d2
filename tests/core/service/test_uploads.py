"""How much visitors may keep uploaded, each, those of one address and all together."""

from core.service.limits import MIB, Limit
from core.service.uploads import UploadCaps

ME, MY_OTHER_TAB, YOU, SHE = ("me", "10.0.0.7"), ("again", "10.0.0.7"), ("you", "10.0.0.8"), ("she", "10.0.0.9")


def test_a_visitor_an_address_and_all_together_have_a_limit() -> None:
    caps = UploadCaps(bytes_of=Limit(total=6 * MIB, address=4 * MIB, visitor=3 * MIB))
    held = {ME: 2 * MIB, YOU: MIB}
    assert caps.begin(ME, MIB, held) is None
    refusal = caps.begin(ME, 1, held)  # the one before is still under way
    assert refusal == "Your uploads would take 4 MiB, and one visitor may keep 3: remove some, or close other tabs."
    refusal = caps.begin(MY_OTHER_TAB, MIB + 1, held)
    assert refusal == "Your address' uploads would take 5 MiB, and it may keep 4: remove some, or close other tabs."
    assert caps.begin(MY_OTHER_TAB, MIB, held) is None
    assert caps.begin(YOU, MIB, held) is None
    assert caps.begin(SHE, 1, held) == "All visitors' uploads together take the 6 MiB that this server keeps: try again later."
    caps.end(ME, MIB)
    assert caps.begin(SHE, MIB, held) is None


def test_what_failed_leaves_no_trace_and_few_are_under_way_at_once() -> None:
    caps = UploadCaps(bytes_of=Limit(total=MIB), under_way=Limit(total=2, address=1))
    for _ in range(3):
        assert caps.begin(ME, MIB, {}) is None
        caps.end(ME, MIB)
    assert caps.begin(ME, 1, {}) is None
    assert caps.begin(MY_OTHER_TAB, 1, {}) == "Too many uploads are under way: try again once some of them are over."
    assert caps.begin(YOU, 1, {}) is None
    assert caps.begin(SHE, 1, {}) is not None

"""Many items by one function, in one process (tests/core/test_ray.py: on two workers)."""

from core.parallel import each


def doubled(number: int) -> int:
    if number == 2:
        raise ValueError("two is refused")
    return 2 * number


def test_what_is_refused_costs_its_item_only() -> None:
    found = dict(each(doubled, [1, 2, 3]))
    assert (found[0], str(found[1]), found[2]) == (2, "two is refused", 6)

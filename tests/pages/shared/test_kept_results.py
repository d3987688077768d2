"""Results that are computed once while they are kept."""

from __future__ import annotations

import pytest

from pages.shared.kept_results import KeptResults


def test_the_latest_results_are_kept_and_one_that_was_stopped_is_not() -> None:
    kept: KeptResults[int] = KeptResults(2)
    computed: list[str] = []

    def ask(key: str) -> int:
        return kept.get(key, lambda: computed.append(key) or len(computed))  # type: ignore[func-returns-value]

    def stopped() -> int:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        kept.get("a", stopped)
    assert [ask("a"), ask("b"), ask("a"), ask("c"), ask("a"), ask("b")] == [1, 2, 1, 3, 1, 4]  # "b" went for "c"
    assert computed == ["a", "b", "c", "b"]

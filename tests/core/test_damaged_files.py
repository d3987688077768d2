"""Whatever is damaged in a file, reading it ends with the error that says so."""

from hypothesis import HealthCheck, given, seed, settings

from tests.core.damaged_files import DAMAGE, Edit, read_damaged, undamaged


def test_the_undamaged_ones_are_read() -> None:
    assert undamaged() == []


@seed(1)
@settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(DAMAGE)
def test_a_damaged_file_ends_in_a_sentence_or_is_read(damage: tuple[str, int, list[Edit]]) -> None:
    read_damaged(*damage)

"""What every test of core shares."""

import os
from collections.abc import Iterator

import pytest
import torch

from tests.core.lecture.executed_places import executed_places, named_places

# The tensors here are small: a second thread waits more than it works. `make numeric` asks for two all the same.
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test that an equation names executes, in each of its cases, every code place of the equation."""
    wanted = named_places().get(item.nodeid.partition("[")[0])
    if wanted is None:
        return (yield)
    with executed_places().followed(wanted) as executed:
        yield
    assert not wanted - executed, f"assets/equations.json names this test, which never runs {sorted(wanted - executed)}"
    return None

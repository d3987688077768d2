"""Host names a server answers to, and who may change the machine."""

from __future__ import annotations

import socket

import pytest

from core.service.access import HOSTS_VARIABLE, OPEN_VARIABLE, USERS_VARIABLE, host_allowed, is_loopback, is_open


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8501", "LOCALHOST.", "127.0.0.1:8501", "10.0.0.7", "[::1]:8501", "[fe80::1]", socket.gethostname()],
)
def test_its_own_names_and_plain_addresses_are_answered(host: str) -> None:
    assert host_allowed(host)


@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example:8501", "127.0.0.1.nip.io", "[evil]", "10.0.0"])
def test_names_of_strangers_are_refused(host: str) -> None:
    assert not host_allowed(host)


def test_further_names_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOSTS_VARIABLE, "Desk.example , class.example")
    assert host_allowed("desk.example:443") and host_allowed("class.example") and not host_allowed("evil.example")
    monkeypatch.setenv(HOSTS_VARIABLE, "*")
    assert host_allowed("evil.example")


@pytest.mark.parametrize(
    ("address", "alone"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("", False),
        (None, False),
        ("10.0.0.7", False),
    ],
)
def test_loopback_is_reached_by_its_own_machine_alone(address: str | None, alone: bool) -> None:
    assert is_loopback(address) is alone
    assert is_open(address=address, sign_in=False, email=None) is alone


def test_who_runs_the_server_may_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPEN_VARIABLE, "yes")
    assert is_open(address="0.0.0.0", sign_in=False, email=None)
    assert not is_open(address="0.0.0.0", sign_in=True, email=None)  # where there is a sign-in, it alone decides


def test_a_sign_in_with_and_without_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_open(address="localhost", sign_in=True, email=None)
    assert is_open(address="0.0.0.0", sign_in=True, email="ana@desk.example")
    monkeypatch.setenv(USERS_VARIABLE, "ana@desk.example")
    assert is_open(address="0.0.0.0", sign_in=True, email="Ana@desk.example")
    assert not is_open(address="0.0.0.0", sign_in=True, email="eve@desk.example")

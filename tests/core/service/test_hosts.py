"""Names that the server answers to, and whose pages' requests it takes."""

import socket

import pytest

from core.service.access import HOSTS_VARIABLE, PROXIES_VARIABLE, RequestAddress
from core.service.hosts import host_allowed, origin_allowed


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
    monkeypatch.setenv(HOSTS_VARIABLE, "*.hf.space, https://desk.example:8443")
    assert host_allowed("ana-attention.hf.space") and host_allowed("desk.example")
    assert not host_allowed("hf.space") and not host_allowed("evil-hf.space")
    monkeypatch.setenv(HOSTS_VARIABLE, "*")
    assert host_allowed("evil.example")


def test_names_that_the_server_is_bound_to_are_its_own() -> None:
    assert host_allowed("desk.lan:8501", "Desk.lan") and host_allowed("desk.lan", None, "desk.lan/app")
    assert not host_allowed("evil.example", "desk.lan", "0.0.0.0", "", None) and not host_allowed("", "", None)


HOME = "localhost:8501"


@pytest.mark.parametrize(
    ("origin", "host", "hosts", "allowed"),
    [
        (None, HOME, "", True),
        ("http://localhost:8501", HOME, "", True),
        ("http://LOCALHOST:8501", HOME, "", True),
        ("http://localhost:9999", HOME, "", False),
        ("http://localhost", HOME, "", False),
        ("http://localhost", "localhost", "", True),
        ("https://localhost", "localhost", "", False),
        ("https://localhost:8501", HOME, "", False),
        ("http://127.0.0.1:8501", HOME, "", False),
        ("http://127.0.0.1:9999", "127.0.0.1:8501", "", False),
        ("http://[::1]:8501", "[::1]:8501", "", True),
        ("http://evil.example", HOME, "", False),
        ("http://localhost:8501.evil.example", HOME, "", False),
        ("http://localhost:8501@evil.example", HOME, "", False),
        ("http://x@localhost:8501", HOME, "", False),
        ("null", HOME, "", False),
        ("file://", HOME, "", False),
        ("http://localhost:port", HOME, "", False),
        ("https://desk.example", "desk.example", "desk.example", True),  # TLS ends at a proxy that says nothing
        ("https://desk.example:444", "desk.example", "desk.example", False),
        ("https://desk.example", "app:8501", "desk.example", True),  # a proxy that asks by a name of its own
        ("https://desk.example:8443", "app:8501", "desk.example", False),
        ("https://desk.example:8443", "app:8501", "desk.example:8443", True),
        ("http://desk.example", "app:8501", "https://desk.example", False),
        ("https://a.hf.space", "a.hf.space", "*.hf.space", True),
        ("https://b.hf.space", "a.hf.space", "*.hf.space", False),
        ("https://evil.example", "a.hf.space", "*", False),
        ("https://a.hf.space", "a.hf.space", "*", True),
    ],
)
def test_a_page_of_another_scheme_name_or_port_is_anothers(
    origin: str | None, host: str, hosts: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOSTS_VARIABLE, hosts)
    headers = {"host": host} | ({} if origin is None else {"origin": origin})
    assert origin_allowed(RequestAddress(bind="localhost", peer="127.0.0.1", headers=headers), "http") is allowed


@pytest.mark.parametrize(("peer", "allowed"), [("172.18.0.5", True), ("8.8.8.8", False), ("172.18.0.6", False)])
def test_the_scheme_is_the_one_that_a_named_proxy_says(peer: str, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, "172.18.0.5")
    headers = {"host": "10.0.0.7", "origin": "https://10.0.0.7", "x-forwarded-proto": "http, https"}
    assert origin_allowed(RequestAddress(bind="0.0.0.0", peer=peer, headers=headers), "http") is allowed
    assert origin_allowed(RequestAddress(bind="0.0.0.0", peer=peer, headers=headers | {"x-forwarded-proto": ""}), "https")

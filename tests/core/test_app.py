"""What goes between the browser and an app."""

import pytest

from pytest_miniwob_agent.core.app import domain_of


@pytest.mark.parametrize(("hosts", "domain"), [
    (["app.localhost", "app-2.app.localhost"], "app.localhost"),
    (["www.shop.co.uk", "pay.shop.co.uk:8443", "login.example.com"], "shop.co.uk"),
    (["shop.example.com", "login.shop.example.com", "static.example.com"], "example.com"),
    (["shop.example", "myshop.example"], ""),
    (["shop.example"], ""),
    (["localhost", "localhost"], ""),
])  # fmt: skip
def test_origins_have_a_domain_in_common(hosts, domain):
    """As a browser takes one: not a part of a label, and no top-level domain."""
    assert domain_of([f"https://{host}" for host in hosts]) == domain

"""What goes between the browser and an app."""

import pytest

from pytest_miniwob_agent.core.app import AppTrial, PageRequest, file_name, shared_domain
from pytest_miniwob_agent.core.observations import Observation


@pytest.mark.parametrize(("hosts", "domain"), [
    (["app.localhost", "app-2.app.localhost"], "app.localhost"),
    (["www.shop.co.uk", "pay.shop.co.uk:8443", "login.example.com"], "shop.co.uk"),
    (["shop.example.com", "login.shop.example.com", "static.example.com"], "example.com"),
    (["shop.example", "myshop.example"], ""),
    (["shop.example"], ""),
    (["localhost", "localhost"], ""),
    (["127.0.0.1:80", "10.0.0.1:81"], ""),
])  # fmt: skip
def test_origins_have_a_domain_in_common(hosts, domain):
    """As a browser takes one: not a part of a label, and no top-level domain."""
    assert shared_domain([f"https://{host}" for host in hosts]) == domain


@pytest.mark.parametrize(("disposition", "name"), [
    ("attachment; filename*=utf-8''na%C3%AFve%20file.txt", "naïve file.txt"),
    ("attachment; filename*=UTF-8''a%22b.txt", 'a"b.txt'),
    ('attachment; filename="a; b.txt"; size=3', "a; b.txt"),
    ("attachment; filename=all.csv", "all.csv"),
    ("attachment", "every one.csv"),
    ("", "every one.csv"),
])  # fmt: skip
def test_a_download_is_named_as_the_app_says(disposition, name):
    assert file_name("http://app.localhost/export/every%20one.csv?x=1", disposition) == name


def test_a_form_whose_header_has_no_boundary_is_a_text():
    """As where a script sets the header by itself."""
    body = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n'
    request = PageRequest(
        "Fetch", "POST", "http://a/", {"Content-Type": "multipart/form-data"}, body
    )
    assert request.fields == body.decode()


def asked(path, fields=None, *, url="/search?q=milk&tag=a&tag=b", method="GET", **more):
    request = PageRequest("Document", method, f"http://app.localhost{url}", **more)
    trial = AppTrial(1, url, Observation("", ()), requests=[request])
    return trial.asked(method, path, fields)


@pytest.mark.parametrize(("given", "true"), [
    ({"path": "/search", "fields": {"q": "milk"}}, True),
    ({"path": "/search", "fields": {"tag": ["a", "b"]}}, True),
    ({"path": "/search", "fields": {"q": "tea"}}, False),
    ({"path": "/search?q=milk&tag=a&tag=b"}, True),
    ({"path": "/search?q=milk"}, False),
    ({"path": "/search"}, True),
])  # fmt: skip
def test_a_request_is_asked_for_by_its_query(given, true):
    assert asked(**given) is true


def test_fields_of_a_form_may_have_any_name():
    body = '--b\r\nContent-Disposition: form-data; name="größe"\r\n\r\nM\r\n--b--\r\n'.encode()
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    given = {"method": "POST", "url": "/", "headers": headers, "body": body}
    assert asked("/", {"größe": "M"}, **given)

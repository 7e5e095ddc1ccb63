"""Pictures in requests of all APIs: taken out by their digests, and put in again."""

import io

import pytest
from PIL.PngImagePlugin import PngInfo
from support.drawn_pictures import chat_body, opened, page_with_button, to_base64

from pytest_miniwob_agent.models.api import (
    digests_in,
    embed,
    extract,
    read_base64,
    without_pictures,
)
from pytest_miniwob_agent.models.apis import CHAT, find_api
from pytest_miniwob_agent.pictures import pixel_digest

PNG = page_with_button()
DIGEST = pixel_digest(opened(PNG))
DATA = to_base64(PNG)
URL = f"data:image/png;base64,{DATA}"


def user(part):
    return {"messages": [{"role": "user", "content": [part]}]}


BODIES = {
    CHAT: user({"type": "image_url", "image_url": {"url": URL, "detail": "high"}}),
    "/v1/responses": {
        "input": [{"role": "user", "content": [{"type": "input_image", "image_url": URL}]}]
    },
    "/v1/messages": user(
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
    ),
    "/v1beta/models/m:generateContent": {
        "contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": DATA}}]}]
    },
}


@pytest.mark.parametrize("path", BODIES)
def test_a_picture_is_taken_out_of_each_form_of_request_and_put_in_again(path):
    body, taken = extract(BODIES[path])
    assert list(taken) == [DIGEST] == digests_in(body)
    assert DATA not in str(body)
    assert embed(body, taken.__getitem__) == BODIES[path]
    assert extract(body) == (body, {})
    if path in list(BODIES)[:3]:
        [before], [after] = (find_api(path).messages(form) for form in (BODIES[path], body))
        assert before == after
        assert before.text == f"[picture pictures/{DIGEST}.png]"


def test_a_picture_becomes_a_png_of_the_same_pixels_with_nothing_else_in_it():
    webp, png, text = io.BytesIO(), io.BytesIO(), PngInfo()
    opened(PNG).save(webp, "WEBP", lossless=True, exif=b"Exif\0\0secret place")
    text.add_text("Author", "secret")
    opened(PNG).save(png, "PNG", pnginfo=text, compress_level=1)
    for data in (webp.getvalue(), png.getvalue(), PNG + b"secret"):
        digest, kept = read_base64(to_base64(data))
        assert digest == DIGEST
        assert b"secret" not in kept
        assert not any(chunk in kept for chunk in (b"tEXt", b"eXIf", b"iCCP", b"tIME", b"pHYs"))
    assert read_base64(DATA) == (DIGEST, PNG)
    url = f"data:image/webp;base64,{to_base64(webp.getvalue())}"
    assert digests_in(extract(user({"type": "image_url", "image_url": {"url": url}}))[0]) == [
        DIGEST
    ]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/cat.png",
        "data:image/svg+xml;base64,PHN2Zy8+",
        "data:image/png;base64,!!!",
        f"data:image/png;base64,{DATA[:400]}",
    ],
)
def test_what_is_not_a_picture_that_a_png_holds_stays_as_it_is(url):
    body = user({"type": "image_url", "image_url": {"url": url}})
    assert extract(body) == (body, {})
    assert extract(body)[0] is body


def test_a_text_that_looks_like_a_picture_or_a_reference_is_a_text():
    text = f"{URL} pictures/{DIGEST}.png"
    for content in (URL, f"pictures/{DIGEST}.png", text):
        body = {"messages": [{"role": "user", "content": content}]}
        assert extract(body)[0] is body
        assert embed(body, lambda digest: b"") is body
        assert digests_in(body) == []


def test_requests_that_differ_in_pictures_alone_are_alike_without_them():
    one, other = (extract(chat_body(png))[0] for png in (PNG, page_with_button(left=42)))
    assert one != other
    assert without_pictures(one) == without_pictures(other)


def test_pictures_that_stay_in_a_request_are_not_left_out_of_it():
    bodies = [
        user({"type": "image_url", "image_url": {"url": f"data:image/svg+xml;base64,{data}"}})
        for data in ("PHN2Zy8+", "PHN2Zz48L3N2Zz4=")
    ]
    one, other = (without_pictures(extract(body)[0]) for body in bodies)
    assert one != other

"""Texts that differ from run to run are masked, and no others."""

import pytest

from pytest_miniwob_agent import (
    ADDRESS,
    DATE,
    HEX,
    ID,
    PATH,
    TIME,
    TIMESTAMP,
    VERSION,
    masked,
)


@pytest.mark.parametrize(
    ("mask", "text", "expected"),
    [
        (DATE, "Today is 2026-11-23, at noon", "Today is <date>, at noon"),
        (DATE, "at 2026-11-23T08:15:00.5Z.", "at <date>."),
        (DATE, "2026-11-28 12:34, or 2026-11-28 12:34 UTC.", "<date>, or <date>."),
        (DATE, "on November 23, 2026", "on <date>"),
        (DATE, "Monday, November 23rd, 2026 at 9:05 PM!", "<date>!"),
        (
            DATE,
            "23 Nov 2026, 23-Nov-2026, 11/23/2026 or 23.11.2026",
            "<date>, <date>, <date> or <date>",
        ),
        (DATE, "Mon Nov 23 08:15:00 UTC 2026; Mon, 23 Nov 2026 08:15:00 GMT", "<date>; <date>"),
        (DATE, "Monitor 20261123T081500Z, 1/2, 3 May", "Monitor <date>, 1/2, 3 May"),
        (
            TIME,
            "at 9:05, 21:05:00.5 +0100 or 9:05 pm; 1.2.3:4567",
            "at <time>, <time> or <time>; 1.2.3:4567",
        ),
        (
            TIMESTAMP,
            "at 1795421234, 1795421234567 or 1795421234.5",
            "at <timestamp>, <timestamp> or <timestamp>",
        ),
        (
            TIMESTAMP,
            "order 179542, 17954212345 and a1795421234",
            "order 179542, 17954212345 and a1795421234",
        ),
        (ID, "call 0b9ecf1c-3f3d-4a4e-9c3f-6d2f8a1f0c11!", "call <id>!"),
        (HEX, f"user_{'0a' * 32}_x, {'b' * 31}", f"user_<hex>_x, {'b' * 31}"),
        (PATH, "in /tmp/a-1/b.txt and /etc", "in <path> and /etc"),
        (ADDRESS, "at http://127.0.0.1:4444/x", "at http://<address>/x"),
        (VERSION, "agent 1.2.3rc1, 3 tabs", "agent <version>, 3 tabs"),
        (
            DATE.after("Today: "),
            "Today: 2026-11-23; due 2020-01-02",
            "Today: <date>; due 2020-01-02",
        ),
    ],
)
def test_a_kind_of_text_is_masked(mask, text, expected):
    assert masked(text, mask) == expected


def test_a_request_is_masked_in_all_its_texts_and_pictures_stay():
    url = "data:image/png;base64,/tmp/abc/def"
    request = {"messages": [{"content": [{"text": "in /tmp/x"}, {"image_url": {"url": url}}]}]}
    expected = {"messages": [{"content": [{"text": "in <path>"}, {"image_url": {"url": url}}]}]}
    assert masked(request | {"n": 1}, PATH, DATE) == expected | {"n": 1}

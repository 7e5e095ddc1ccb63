"""Small pictures of pages, drawn for tests."""

import base64
import io

from PIL import Image

from pytest_miniwob_agent.pictures import encode_png

GREY, WHITE = (239, 239, 239), (255, 255, 255)


def page_with_button(left=40, size=(160, 210)):
    """A page with one grey button, as Chromium draws it, at some place."""
    image = Image.new("RGB", size, WHITE)
    image.paste((118, 118, 118), (left, 100, left + 60, 122))
    image.paste(GREY, (left + 1, 101, left + 59, 121))
    return encode_png(image)


def opened(png):
    return Image.open(io.BytesIO(png)).convert("RGB")


def to_base64(png):
    return base64.b64encode(png).decode()


def chat_body(*pngs, text="What is this?", model="m"):
    """A Chat Completions request with pictures and a text."""
    parts = [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{to_base64(png)}"}}
        for png in pngs
    ]
    content = [*parts, {"type": "text", "text": text}]
    return {"model": model, "messages": [{"role": "user", "content": content}]}

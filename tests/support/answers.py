"""Answers of model servers, valid and not, as bytes for a `RawServer`."""

import json
import struct
import zlib


def completion(text="click id=1", model="m", calls=(), **message):
    """A valid chat completion; each call of a tool is a pair of its name and arguments."""
    message = {"role": "assistant", "content": text, **message}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{name}", "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for name, arguments in calls
        ]  # fmt: skip
    end = "tool_calls" if calls else "stop"
    return {
        "id": "chatcmpl-1", "created": 1_700_000_000, "object": "chat.completion", "model": model,
        "choices": [{"index": 0, "finish_reason": end, "message": message}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }  # fmt: skip


def response(body, *headers, status="200 OK", length=None, kind="application/json"):
    """An HTTP response, the last of its connection; a body that is not bytes is sent as JSON."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close", *headers]
    if length is not False:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(body, size=7, end=b"0\r\n\r\n"):
    """A response in chunks."""
    head = response(b"", "Transfer-Encoding: chunked", length=False)
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    return [head, *(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks), end]


def lines(*parts):
    """Lines of JSON."""
    return "".join(json.dumps(part) + "\n" for part in parts).encode()


def events(*parts):
    """An event stream."""
    return "".join(f"data: {json.dumps(part)}\n\n" for part in parts).encode()


def amazon_events(*parts, kind="event"):
    """A stream of Amazon's, of pairs of a type and a payload.

    https://smithy.io/2.0/aws/amazon-eventstream.html
    """
    messages = b""
    for name, payload in parts:
        headers = b"\x04more\x03\x00\x01"  # a header that is no string
        for key, value in ((":message-type", kind), (f":{kind}-type", name)):
            headers += bytes([len(key)]) + key.encode() + b"\x07"
            headers += len(value).to_bytes(2) + value.encode()
        payload = json.dumps(payload).encode()
        head = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
        head += zlib.crc32(head).to_bytes(4)
        message = head + headers + payload
        messages += message + zlib.crc32(message).to_bytes(4)
    return messages


def completion_of(content):
    """A completion whose message has this content, valid or not."""
    body = completion()
    body["choices"][0]["message"]["content"] = content
    return body


def completion_with(field, value):
    """A completion with one field replaced."""
    body = completion()
    body[field] = value
    return body


WHOLE = json.dumps(completion()).encode()
"""The bytes of a valid chat completion."""

"""JSON data with one part that is wrong."""


def damaged(data, path=""):
    """Yield the path of each part, and all data with a part of another type in its place.

    Each object gets a part that is unknown, too.
    """
    yield path, 7 if isinstance(data, str) else "x"
    if isinstance(data, dict):
        for name, part in data.items():
            for inner, changed in damaged(part, f"{path}.{name}"):
                yield inner, data | {name: changed}
        yield f"{path}.unknown", data | {"unknown": []}
    elif isinstance(data, list):
        yield path, {"a": 1}
        for number, part in enumerate(data):
            for inner, changed in damaged(part, f"{path}[{number}]"):
                yield inner, [*data[:number], changed, *data[number + 1 :]]

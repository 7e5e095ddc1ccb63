"""A program that drives a page that is handed over to it, and an agent around it."""

import json

from websocket import create_connection


class Refused(Exception):
    """An error of the protocol."""


class Program:
    """A program on the page: the least that speaks CDP."""

    def __init__(self, url):
        self.socket = create_connection(url, timeout=300, suppress_origin=True)
        self.events = []
        self.number = 0
        self.session = None
        [page] = self.call("Target.getTargets")["targetInfos"]
        self.target = page["targetId"]
        params = {"targetId": self.target, "flatten": True}
        self.session = self.call("Target.attachToTarget", **params)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.socket.shutdown()

    def send(self, method, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        self.socket.send(
            json.dumps(command | ({"sessionId": self.session} if self.session else {}))
        )
        return self.number

    def answer(self, number):
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise Refused(message["error"]["message"])
                return message["result"]
            self.events.append(message.get("method"))

    def call(self, method, **params):
        return self.answer(self.send(method, **params))

    def run(self, script):
        params = {"expression": script, "awaitPromise": True, "returnByValue": True}
        return self.call("Runtime.evaluate", **params)["result"].get("value")

    def mouse(self, point, *kinds, button=None):
        for kind in kinds:
            pressed = button or ("none" if kind == "mouseMoved" else "left")
            self.call(
                "Input.dispatchMouseEvent", type=kind, x=point[0], y=point[1], button=pressed,
                clickCount=1,
            )  # fmt: skip

    def point(self, selector):
        return self.run(
            f"(() => {{ const {{left, top, width, height}} = document.querySelector('{selector}')"
            ".getBoundingClientRect(); return [left + width / 2, top + height / 2]; })()"
        )

    def click(self, selector):
        self.mouse(self.point(selector), "mouseMoved", "mousePressed", "mouseReleased")

    def type(self, text):
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def press(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)


class Driving:
    """An agent that is a program: `work` gets it, the page and the model."""

    name = "driving"

    def __init__(self, work):
        self.work = work

    def solve(self, env, llm, note):
        env.reset()
        with env.hand_over() as page, Program(page.cdp_url) as program:
            self.work(program, page, llm)

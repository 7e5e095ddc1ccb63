"""The API of the notes, and their built front under a strict policy."""

import os
import secrets
import time
from pathlib import Path

from flask import Flask, jsonify, make_response, request, send_from_directory

FRONT = Path(os.environ["APPS"]) / "notes"
"""Where the front is installed, and built in `dist`."""

POLICY = (
    "default-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; "
    "base-uri 'none'; object-src 'none'"
)


def make_api(notes):
    """Make the app, which changes a dict from ids to titles."""
    app = Flask(__name__, static_folder=None)

    @app.after_request
    def protect(response):
        response.headers["Content-Security-Policy"] = POLICY
        return response

    @app.get("/api/stats")
    def stats():
        time.sleep(secrets.randbelow(50) / 1000)
        return jsonify(count=len(notes))

    @app.get("/api/slow")
    def slow():
        time.sleep(0.2 + secrets.randbelow(100) / 1000)
        return jsonify(ok=True)

    @app.get("/api/quick")
    def quick():
        return jsonify(ok=True)

    @app.get("/api/notes")
    def found():
        query = request.args["q"].lower()
        response = jsonify([{"id": i, "title": t} for i, t in notes.items() if query in t.lower()])
        response.add_etag()
        return response.make_conditional(request)

    @app.get("/api/notes/<int:number>")
    def note(number):
        return jsonify(title=notes[number], written=time.ctime())

    @app.post("/api/notes")
    def add():
        if not request.json["title"]:
            return jsonify(error="A note needs a title."), 422
        number = max(notes, default=0) + 1
        notes[number] = request.json["title"]
        response = make_response(jsonify(id=number), 201)
        response.set_cookie("visit", secrets.token_hex(), httponly=True)
        return response

    @app.delete("/api/notes/<int:number>")
    def remove(number):
        del notes[number]
        return "", 204

    @app.get("/", defaults={"path": ""})
    @app.get("/<path:path>")
    def front(path):
        built = (FRONT / "dist" / path).is_file()
        return send_from_directory(FRONT / "dist", path if built else "index.html")

    return app

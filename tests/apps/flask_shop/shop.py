"""A shop with a login, a search that changes the address, a basket and orders."""

import secrets
import sqlite3
import time
from contextlib import closing

from flask import Flask, flash, g, jsonify, redirect, render_template, request, session, url_for

PRICES = {"bowl": 12, "cup": 5, "mug": 7, "plate": 9}


def make_shop(database):
    app = Flask(__name__)
    app.config.update(DATABASE=str(database), SECRET_KEY=secrets.token_bytes())
    with closing(sqlite3.connect(database)) as made:
        made.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, who, address, products)")

    @app.before_request
    def guard():
        g.database = sqlite3.connect(database, isolation_level=None)
        known = "who" in session or request.endpoint == "login"
        return None if known else redirect(url_for("login", next=request.full_path))

    @app.teardown_request
    def close(error):
        g.database.close()

    @app.route("/login", methods=["GET", "POST"])
    def login():
        if request.method == "POST":
            if request.form["password"] == "tea":
                session["who"] = request.form["name"]
                return redirect(request.args["next"])
            flash("That is not the password.")
        return render_template("login.html")

    @app.get("/")
    def products():
        return render_template("products.html")

    @app.get("/api/products")
    def found():
        return jsonify([[n, p] for n, p in PRICES.items() if request.args["q"] in n])

    @app.post("/api/basket")
    def add():
        time.sleep(0.3)  # a click meanwhile would be sent with the basket of before
        session["basket"] = [*session.get("basket", []), request.json["product"]]
        return jsonify(count=len(session["basket"])), 201

    @app.route("/order", methods=["GET", "POST"])
    def order():
        basket = session.get("basket", [])
        if request.method == "GET":
            token = session["token"] = secrets.token_hex()
            return render_template("order.html", basket=basket, token=token)
        if request.form["token"] != session.pop("token", None):
            return "This form was sent twice, or is too old.", 419
        values = session["who"], request.form["address"], " ".join(session.pop("basket"))
        made = g.database.execute("INSERT INTO orders VALUES (NULL, ?, ?, ?)", values)
        flash("Thank you!")
        return redirect(f"/orders/{made.lastrowid}", 303)

    @app.get("/orders/<int:number>")
    def made(number):
        query = "SELECT id, who, address, products FROM orders WHERE id = ?"
        return render_template("made.html", order=g.database.execute(query, [number]).fetchone())

    return app

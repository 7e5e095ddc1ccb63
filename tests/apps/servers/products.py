"""Flask-Admin on a table of products, at the database and the port that are given."""

import secrets
import sys

from flask import Flask
from flask_admin import Admin
from flask_admin.contrib.sqla import ModelView
from flask_sqlalchemy import SQLAlchemy

database, port = sys.argv[1:]
app = Flask(__name__)
app.config.update(SECRET_KEY=secrets.token_bytes(), SQLALCHEMY_DATABASE_URI=f"sqlite:///{database}")
db = SQLAlchemy(app)


class Product(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(80), nullable=False)
    price = db.Column(db.Integer)
    made = db.Column(db.Date)


Admin(app, name="Shop").add_view(ModelView(Product, db))
with app.app_context():
    db.create_all()
app.run(port=int(port), threaded=True)

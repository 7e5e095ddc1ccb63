"""Apps of an environment of their own, `make apps`, each in a process."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.app_server import serving

HERE = Path(__file__).parent
PYTHON = Path(os.environ["APPS"]) / "venv" / "bin" / "python"


@pytest.fixture
def flask_admin(tmp_path):
    database = tmp_path / "products.sqlite"

    def ask(statement):
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()

    with serving(str(PYTHON), str(HERE / "products.py"), str(database), "{port}") as url:
        yield SimpleNamespace(url=url, ask=ask)


@pytest.fixture
def datasette(tmp_path):
    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE cups (id INTEGER PRIMARY KEY, name, price)")
        rows = [(f"cup {number}", 3 * number % 17) for number in range(60)]
        connection.executemany("INSERT INTO cups (name, price) VALUES (?, ?)", rows)
        connection.commit()
    settings = ["--setting", "sql_time_limit_ms", "10000"]
    command = [PYTHON, "-m", "datasette", database, "--port={port}", *settings]
    with serving(*map(str, command)) as url:
        yield url


@pytest.fixture
def gradio():
    script = str(HERE / "greet_with_gradio.py")
    with serving(str(PYTHON), script, "{port}", GRADIO_ANALYTICS_ENABLED="False") as url:
        yield url


@pytest.fixture
def streamlit():
    options = ["address=127.0.0.1", "port={port}", "headless=true"]
    arguments = [f"--server.{option}" for option in options]
    script = str(HERE / "greet_with_streamlit.py")
    command = [str(PYTHON), "-m", "streamlit", "run", script, *arguments]
    with serving(*command, "--browser.gatherUsageStats=false", ready="/_stcore/health") as url:
        yield url


@pytest.fixture
def jupyter(tmp_path):
    options = ["--ip=127.0.0.1", "--port={port}", "--no-browser", "--allow-root"]
    settings = ["IdentityProvider.token=", f"ServerApp.root_dir={tmp_path}", "LabApp.news_url=None"]
    command = [str(PYTHON), "-m", "jupyterlab", *options, *(f"--{each}" for each in settings)]
    with serving(*command, ready="/api", HOME=str(tmp_path)) as url:
        yield url

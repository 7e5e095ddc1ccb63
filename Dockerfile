# An image that replays recorded items, with Debian's Chromium and the driver of the same version:
#
#   docker build -t agent-replays .
#   docker run --rm -v "$PWD:/project" agent-replays pytest -n 2
FROM python:3.13-slim-bookworm

RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium chromium-driver chromium-headless-shell git \
    && rm -rf /var/lib/apt/lists/*

COPY . /opt/pytest-miniwob-agent
RUN pip install --no-cache-dir /opt/pytest-miniwob-agent && rm -rf /opt/pytest-miniwob-agent

# Git reads baselines (git:main) from a folder of another user.
RUN git config --system --add safe.directory '*'
WORKDIR /project
CMD ["pytest", "-n", "auto"]

"""`python -m pytest_miniwob_agent`, which is the command `miniwob-agent`."""

import sys

from pytest_miniwob_agent.cli import main

sys.exit(main())

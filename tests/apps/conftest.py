from pathlib import Path

collect_ignore = [path.name for path in Path(__file__).parent.iterdir() if path.is_dir()]
"""The projects, which test_apps.py runs."""

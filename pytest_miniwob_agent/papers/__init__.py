"""A run beside the published figures of three papers, for `miniwob-agent tables`.

- `tables`: a run in the form of the papers' tables, beside the published figures
- `figures`: what else the papers show: further tables, variants, and the values of figures
- `output`, `plot.css`: tables as text, as JSON, and as bars in one SVG
- `data/`: the published figures
"""

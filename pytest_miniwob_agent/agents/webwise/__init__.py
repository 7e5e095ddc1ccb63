"""The agent that writes programs (WebWISE, Tao et al., 2024).

`agent` is the algorithm, with the examples that it shows and saves, `page` what a program sees and
does. `interpreter` runs programs, with what `language` has of Python.
"""

"""The zero-shot agent with structured reflection (Li et al., 2023).

`agent` is the algorithm: run, play, act, reflect. `dialogue` is what the model is shown and asked,
with the three planners, `memory` what is kept between trials, `screens` the ways to show a screen,
and `replies` reads plans and suggestions.
"""

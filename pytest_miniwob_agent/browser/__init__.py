"""Chromium, a task's page in it, native input, and certification.

- `process`: the browser as pages use it, set up to be deterministic
- `local`: Chromium on this machine, found and started; `watchdog`: nothing outlives a killed run
- `grid`: a session on a Selenium Grid; `grid_address`: the options for it
- `devtools`: the browser's own protocol
- `fonts`: the fonts of all text
- `pages`: the server of task pages; `page`: the scripts that run in them
- `environment`: a task's page as a `Page`, of MiniWoB++ or your own
- `input`: an action as native input; `dragging`: drags, also the browser's own
- `hand_over`: the page for a program that drives the browser itself; `program`: its connection;
  `commands`: what it may send
- `certification`: whether pages are deterministic
"""

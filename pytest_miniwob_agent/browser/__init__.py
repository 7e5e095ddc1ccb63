"""Chromium, the MiniWoB++ page in it, native input, and certification.

- `process`: the browser as pages use it, set up to be deterministic
- `launcher`: the seam to where it runs: `local` on this machine (`installed` finds Chromium and its
  driver), `grid` on a Selenium Grid (`grid_address`: the options for it)
- `switches`: Chromium's switches; `watchdog`: nothing outlives a killed run
- `devtools`: the browser's own protocol
- `pages`: the server of task pages; `page`: the scripts that run in them
- `environment`: a task's page as a `Page`; `own_environment`: a page of your own
- `input`: an action as native input; `gestures`: its events of mouse and keys
- `certification`: whether pages are deterministic
"""

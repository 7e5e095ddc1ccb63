"""Chromium, a task's page in it, and native input.

- `miniwob_page`: a task's page as a `Page`; `own_page`: one of your own
- `gate`: answers the requests of your own pages and an app's; `gate_commands` pause them, with what
  their sockets send and get
- `hand_over`: the page for a program that drives the browser itself
- `endpoint`: the addresses for programs
- `program`: the program's connection; `commands` that it may send, and why not the others
- `input`: an action as native input
- `process`: the browser as pages use it, set up to be deterministic, and drags of the mouse
- `launcher`: how a browser is launched; `local`: Chromium on this machine, found and started
- `watchdog`: a program of its own, so that nothing outlives a killed run
- `devtools`: the Chrome DevTools Protocol, and dialogs that nobody answers
- `page`: the scripts that run in every page
- `server`: the server of task pages, and the fonts of all text
"""

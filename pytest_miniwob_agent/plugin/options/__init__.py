"""Options of the command line and the ini file.

- `settings`: every option, declared as the field of `Settings` that holds its value.
- `option`: what belongs to an option, and the parsers of values.
- `reading`: declares the options to pytest, reads and checks them; the project's folder.
- `commands`: commands to show to the user, to record an item or to see more of it.
"""

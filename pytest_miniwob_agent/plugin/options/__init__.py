"""Options of the command line and the ini file.

- `settings`: every option, declared as the field of `Settings` that holds its value.
- `option`: what belongs to an option.
- `values`: the parsers of their values.
- `reading`: declares the options to pytest, and reads and checks the settings of a run.
- `project_folder`: the folder that cassettes lie in and paths of the ini file start from.
- `commands`: commands to show to the user, to record an item or to see more of it.
"""

"""What agents have in common, and the default one, `reflective`.

`registry` makes an agent by its name and checks its parameters, `prompts` fills in prompt files.
Other agents are plugins (`plugins`): a package with its folder `prompts`, and a line in `builtin`.
"""

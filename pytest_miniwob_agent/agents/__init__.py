"""Agents: what they have in common, and a package for each built-in one.

`registry` makes an agent by its name and checks its parameters, `prompts` fills in prompt files.
`reflective`, `rci` and `webwise` follow papers, `tools` works by native tool calls. A new built-in
agent is a package with its folder `prompts`, and a line in `registry.BUILT_IN`.
"""

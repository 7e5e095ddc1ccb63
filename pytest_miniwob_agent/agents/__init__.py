"""Agents: what they have in common, and a package for each built-in one.

`registry` finds and makes an agent by its name, `parameters` checks its parameters and names its
variants, `prompts` reads and fills in its prompt files. `reflective`, `rci` and `webwise` follow
papers, `tools` works by native tool calls. A new built-in agent is a package with its module and
its texts, and a line in `registry.BUILT_IN`.
"""

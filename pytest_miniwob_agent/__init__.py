"""Runs of language agents on MiniWoB++ as a pytest suite.

`pytest_miniwob_agent.core` has the types and protocols that agents are written against,
`pytest_miniwob_agent.testing` the fakes to test them with.
"""

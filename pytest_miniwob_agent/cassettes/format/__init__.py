"""The format of a cassette.

- `call`: a recorded call and its request, in memory
- `file`: reading, checking and writing a cassette, and its YAML
"""

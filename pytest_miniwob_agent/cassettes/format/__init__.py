"""The format of a cassette.

- `call`: a recorded call and its request, in memory
- `file`: reading and writing a cassette
- `serializer`: its YAML
- `validation`: the checks of parsed YAML
- `names`: the path of an item's cassette
"""

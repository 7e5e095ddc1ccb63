"""Pictures of pages, as bytes of PNGs: all that needs them decoded.

- `image`: decoded pictures, their digests and differences, PNGs without metadata; ids of elements
  and rulers, drawn on a picture
- `references`: pictures in the JSON of requests, and the references in their place

The `browser` takes pictures (page/picture.js finds what they have to show); `cassettes` keep them
in files and show how they have changed.
"""

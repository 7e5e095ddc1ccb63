"""The HTML report of a run.

- `folder`: the report's folder: pages, pictures, and the data that are made of the outcomes; the
  merge of the reports of shards
- `index.html`, `report.css`: the one page, and its style
- `scripts/`: the scripts that draw the pages; one object per file, dependencies at its top
  - `elements`: elements and texts of a page; foreign text never becomes markup
  - `items`: the items, what their data mean, and which of them the overview shows
  - `overview`: rates, reasons why items have no result, the map of tasks, the list of items
  - `item`: the page of an item: its film, and a step with its action, calls and reflection
  - `pages`: addresses, keys and themes, and the functions that data files call
"""

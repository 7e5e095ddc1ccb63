"""The HTML report of a run.

- `folder`: the report's folder: pages, pictures, and the data that are made of the outcomes; the
  merge of the reports of shards
- `index.html`, `report.css`: the one page, and its style
- `scripts/`: the scripts that draw the pages; one object per file, dependencies at its top
  - `elements`: elements and texts of a page; foreign text never becomes markup
  - `items`: the items, and what their data mean
  - `view`: the filters and the order of the overview, which its address holds
  - `rates`: rates by category and trial, and the comparison with the baseline
  - `causes`: the reasons why items have no result, grouped
  - `map`: the map of tasks and seeds
  - `overview`: the overview: filters and the list of items
  - `film`: pictures of an item's steps, with marks where actions point
  - `step`: one step: action, calls, reflection
  - `item`: the page of an item, and the way through its steps
  - `pages`: addresses, keys and themes, and the functions that data files call
"""

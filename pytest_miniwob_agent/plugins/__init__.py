"""The abilities of this package that are plugins: the engine imports none of them.

`builtin` lists their names. The package of a plugin is light: it declares options and has the hooks
of `hookspec`, whose functions import what they need.

- `rci`, `webwise`, `tools`: agents beside the default one.
- `program`: programs in any language as agents.
- `grid`: browsers on a Selenium Grid.
- `anthropic`, `gemini`: HTTP APIs beside OpenAI's.
- `apps`: items on running apps, whose traffic is recorded.
- `playwright`: a solved item as a Playwright test.
- `report`: the HTML report; `otel`: traces by OpenTelemetry.
- `transcripts`: transcripts for pytest-html, pytest-json-report and Allure.
- `graders`: what an episode must show beside the verdict of its page.
- `papers`: the tables of the papers; `export`: results as CSV.
- `certify`: whether pages and apps are deterministic.
- `judges`: the verdicts of a judge beside the labels of people.
- `rounds`: runs that end with the round of items that decides, and what that takes.
- `batch`: deferred calls by a provider's Batch API.
"""

"""Makes repositories that a suite asks a hub for and that are not there: tiny random models, their
tokenizers and processors, datasets, pictures and sounds.

`python runner/hub/generate --out FOLDER [--source ROOT]` is the program (__main__.py); it runs with
the suite's own packages. docs/design/0012-generated-hub.md says by which rules.

Not here: the hub's HTTP interface and what is kept between runs (runner/hub).
"""

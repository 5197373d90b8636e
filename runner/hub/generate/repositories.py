"""Datasets, with the columns that the suite's tests read, and single files of a dataset's repository.

A row of datasets.json says the shape of a well-known one; else the suite's source does. Not here: single files
of other hosts (media.py).
"""

import fnmatch
import functools
import json
import pathlib
import re

from .common import found, missing
from .data import columns, dataset_source, files, parquet_file

TABLE = pathlib.Path(__file__).with_name("data") / "datasets.json"
LIGHT, HEAVY = 64, 8  # rows of a split, without and with pictures or sounds
KNOWN = 120_000  # characters of source read where the table has the shape already
SPLITS = ("train", "validation", "test")
ABSENT = re.compile(r"(does|do)[-_]?n.?t[-_]?exist|non[-_]?exist|not[-_]?found|missing|invalid|nonexistent", re.I)
PROBED = {"README.md", "dataset_infos.json", "dataset_dict.json", "state.json", ".huggingface.yaml", "metadata.jsonl", "metadata.csv"}
MARKS = (  # of a name that nothing else describes
    (re.compile(r"audio|speech|voice|asr|sound|librispeech", re.I), {"audio": "audio", "text": "text", "label": "label:0|1"}),
    (re.compile(r"doc|ocr|page|invoice|receipt", re.I), {"image": "page_image", "text": "text"}),
    (re.compile(r"image|vision|photo|picture|cats|dogs|imagenet|coco|fixtures", re.I), {"image": "image", "label": "label:0|1"}),
)


def make_dataset(name, file, folder, source):
    """The answer for a dataset's repository. `source`: the suite's source (source.py)."""
    row = stated_or_known(name, source)
    use = dataset_source.use_of(name, source, KNOWN if row else dataset_source.MOST)
    if ABSENT.search(name) and (source is None or name not in source.datasets):
        return missing(f"the name {name} says that there is none")
    if use is None and row is None:
        return missing(f"neither the suite's source nor the table of datasets names {name}")
    use = use or dataset_source.Use()
    shape = shape_of(name, row, use)
    problems = make_files(name, wanted_files(use, file, shape, source), folder)
    if shape:
        problems += make_tables(name, shape, folder)
    write_card(name, shape, folder)
    if problems and file in problems and len(problems) == 1 and not shape:
        return missing(f"{name}: {problems[file]}")
    why = row.get("why", f"datasets.json: {row.get('about')}") if row else "columns that the suite's source reads"
    return found(folder, "a dataset", "; ".join([why, *problems.values()]), tags=["generated"], id=canonical(name))


class Problems(dict):
    """Name of a file to why it could not be made."""

    def __add__(self, other):
        return Problems({**self, **other})


@functools.lru_cache(maxsize=1)
def table():
    return json.loads(TABLE.read_text(encoding="utf-8"))


def stated_or_known(name, source):
    """The row that the suite's hub.names.json has, or else the table; None where both have none."""
    stated = source.datasets.get(name) if source is not None else None
    if stated is None:
        return row_of(name)
    if unknown := next((kind for config in stated["configs"].values() for kind in columns.unknown_kinds(config)), None):
        raise ValueError(f"hub.names.json: {unknown} is no kind of column ({', '.join(columns.KINDS)}, label:A|B, labels:A|B)")
    return {**stated, "why": "as hub.names.json states"}


def row_of(name):
    """The row of the name, of the same name without its owner, or of a pattern."""
    rows = table()
    if name in rows:
        return rows[name]
    short = name.split("/")[-1]
    same = [key for key in rows if "*" not in key and key.split("/")[-1] == short]
    if same and ("/" not in name or same[0].startswith(("hf-internal-testing/", "anton-l/"))):
        return rows[same[0]]
    return next((rows[key] for key in rows if "*" in key and fnmatch.fnmatch(name, key)), None)


def canonical(name):
    """The hub answers to some old names without an owner with the owner's."""
    return name if "/" in name else next((key for key in table() if key.split("/")[-1] == name), f"datasets-of-old/{name}")


def wanted_files(use, file, shape, source):
    """Files that the source names, and the one asked for. Clients ask many repositories for files of their own:
    beside tables, a file is only made if the source names it."""
    is_asked = file and pathlib.PurePosixPath(file).name not in PROBED
    if is_asked and shape and file not in use.files:
        is_asked = source is not None and bool(source.mentioning(pathlib.PurePosixPath(file).name))
    names = dict.fromkeys([*use.files, *([file] if is_asked else [])])
    return [name for name in names if not name.endswith(".parquet")]


def make_files(name, wanted, folder):
    problems = Problems()
    for file in wanted[:40]:
        path = folder / file
        if path.exists() or not dataset_source.is_file(file):
            continue
        try:
            content = files.make(f"{name}/{file}")
        except files.Unmade as error:
            problems[file] = f"{file}: {error}"
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return problems


def shape_of(name, row, use):
    """{configuration: (columns, splits)}, or {} where nobody loads it as a table."""
    splits = dict.fromkeys(use.splits)
    if row:
        shape = {config: (kinds, dict.fromkeys([*row["splits"], *row.get("extra_splits", {}).get(config, ())]))
                 for config, kinds in row["configs"].items()}
        base = next(iter(row["configs"].values()))
        for config in use.configs:  # such as a further language
            shape.setdefault(config, (base, dict.fromkeys(row["splits"])))
        return {config: (with_read(kinds, use, row), list({**own, **splits})) for config, (kinds, own) in shape.items()}
    if not use.is_loaded:
        return {}
    kinds = read_columns(use, splits)
    if not kinds:
        kinds = next((marked for mark, marked in MARKS if mark.search(name)), {"id": "name", "text": "text", "label": "label:0|1"})
    return {config: (kinds, list(splits or SPLITS)) for config in use.configs or ["default"]}


def read_columns(use, splits):
    named = [column for column in use.columns if column not in splits and re.fullmatch(r"[A-Za-z][\w -]{0,40}", column)]
    return {column: columns.kind_of(column) for column in sorted(named)}


def with_read(kinds, use, row):
    """The row's columns. A column that the tests read and the row lacks is added where the row has one configuration."""
    if len(row["configs"]) > 1:
        return kinds
    inner = {name for kind in kinds.values() if isinstance(kind, dict) for name in kind}
    more = {column: columns.kind_of(column) for column in sorted(use.columns)
            if column not in kinds and column not in inner and column not in row["splits"] and re.fullmatch(r"[a-z][a-z0-9_]*", column)}
    return {**kinds, **more}


def make_tables(name, shape, folder):
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return Problems({"data": "a dataset needs the package pyarrow"})
    for config, (kinds, splits) in shape.items():
        number = HEAVY if any(columns.is_heavy(kind) for kind in kinds.values()) else LIGHT
        if len(shape) * len(splits) > 6 and number == HEAVY:
            number = 3
        for split in splits:
            path = folder / file_of(config, split)
            if path.exists():
                continue
            rows = [columns.Row(f"{name}/{config}", split, n) for n in range(number)]
            parquet_file.write(path, kinds, [{column: columns.value(kind, row, column) for column, kind in kinds.items()} for row in rows])
    return Problems()


def file_of(config, split):
    return f"{config.replace('/', '_')}/{split}-00000-of-00001.parquet"


def write_card(name, shape, folder):
    """README.md: its metadata, as JSON, which is YAML too, says which file is which split."""
    default = next((config for config in ("default", "plain_text") if config in shape), next(iter(shape), None))
    configs = [{"config_name": config, **({"default": True} if config == default and len(shape) > 1 else {}),
                "data_files": [{"split": split, "path": file_of(config, split)} for split in splits]}
               for config, (_, splits) in shape.items()]
    info = [{"config_name": config, "features": [{"name": column, **parquet_file.card(kind)} for column, kind in kinds.items()]}
            for config, (kinds, _) in shape.items()]
    metadata = {"configs": configs, "dataset_info": info} if shape else {"tags": ["generated"]}
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in metadata.items()]
    text = "\n".join(["---", *lines, "---", "", f"# {name}", "", "Generated by code; nothing in it is real.", ""])
    (folder / "README.md").write_text(text, encoding="utf-8")

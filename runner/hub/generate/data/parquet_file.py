"""Writes a split of a dataset as a Parquet file that says the features of its columns as `datasets` reads them.

Not here: which columns (repositories.py).
"""

import json

from . import columns


def feature(kind):
    """As datasets 2 to 5 read it from a file's schema."""
    if isinstance(kind, dict):
        return {name: feature(inner) for name, inner in kind.items()}
    if isinstance(kind, list):
        return [feature(kind[0])] if isinstance(kind[0], dict) else {"feature": feature(kind[0]), "_type": "Sequence"}
    if kind.startswith("label:"):
        return {"names": columns.names_of(kind), "_type": "ClassLabel"}
    if kind.startswith("labels:"):
        return {"feature": {"names": columns.names_of(kind), "_type": "ClassLabel"}, "_type": "Sequence"}
    stored = columns.KINDS[kind][0]
    if stored == "image":
        return {"_type": "Image"}
    return {"sampling_rate": 16000, "_type": "Audio"} if stored == "audio" else {"dtype": stored, "_type": "Value"}


def card(kind):
    """As the card of a dataset says it."""
    if isinstance(kind, dict):
        return {"struct": [{"name": name, **card(inner)} for name, inner in kind.items()]}
    if isinstance(kind, list):
        if isinstance(kind[0], dict):
            return {"list": card(kind[0])["struct"]}
        inner = card(kind[0])
        return {"sequence": inner["dtype"] if set(inner) == {"dtype"} else inner}
    if kind.startswith("label:"):
        return {"dtype": {"class_label": {"names": {str(n): name for n, name in enumerate(columns.names_of(kind))}}}}
    if kind.startswith("labels:"):
        return {"sequence": card("label:" + kind.split(":", 1)[1])["dtype"]}
    stored = columns.KINDS[kind][0]
    return {"dtype": {"audio": {"sampling_rate": 16000}} if stored == "audio" else stored}


def arrow_type(kind, pyarrow):
    if isinstance(kind, dict):
        return pyarrow.struct([(name, arrow_type(inner, pyarrow)) for name, inner in kind.items()])
    if isinstance(kind, list):
        return pyarrow.list_(arrow_type(kind[0], pyarrow))
    if kind.startswith("label:"):
        return pyarrow.int64()
    if kind.startswith("labels:"):
        return pyarrow.list_(pyarrow.int64())
    stored = columns.KINDS[kind][0]
    if stored in ("image", "audio"):
        return pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    return getattr(pyarrow, {"bool": "bool_"}.get(stored, stored))()


def write(path, kinds, rows):
    """`kinds`: name of each column to its kind; `rows`: mappings."""
    import pyarrow
    import pyarrow.parquet

    features = {name: feature(kind) for name, kind in kinds.items()}
    schema = pyarrow.schema([(name, arrow_type(kind, pyarrow)) for name, kind in kinds.items()],
                            metadata={"huggingface": json.dumps({"info": {"features": features}})})
    table = pyarrow.Table.from_pylist(rows, schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(table, path, compression="snappy")

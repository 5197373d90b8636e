"""Which configurations, splits, columns and files of a dataset the suite's source names.

Reads the syntax tree: calls of load_dataset and others with the name, then the texts by which their results are
subscripted. Not here: values (columns.py).
"""

import ast
import re

from . import files

LOADERS = {"load_dataset", "load_dataset_builder", "get_dataset_split_names", "get_dataset_config_names", "load_metric"}
SPLITS = ("train", "validation", "test", "dev", "val", "eval", "unsupervised")
# Methods whose first argument names columns, and functions that hand on what they get.
NAMING = {"select_columns", "remove_columns", "rename_column", "cast_column", "sort", "class_encode_column", "unique"}
HANDING_ON = {"list", "iter", "next", "enumerate", "zip", "sorted", "reversed", "tuple", "deepcopy", "concatenate_datasets"}
# Keys of values, and of what models are given: no columns.
NO_COLUMN = re.compile(r"array|path|bytes|sampling_rate|(input|decoder|pixel|audio|mask|class|task|text)_(ids|values|features|mask|labels|inputs|codes)"
                       r"|attention_mask|token_type_ids|padding_mask")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
MOST = 400_000  # characters of source read for one dataset: more would only say the same again


class Use:
    """All that the source does with one dataset."""

    def __init__(self):
        self.configs, self.splits, self.columns, self.files = {}, {}, {}, {}
        self.is_loaded = False

    def add_text(self, text):
        """A text in a subscript: a split or a column."""
        if text in SPLITS:
            self.splits[text] = None
        elif not NO_COLUMN.fullmatch(text):
            self.columns[text] = None


def use_of(name, source, most=MOST):
    """How the suite uses the dataset; None where no file names it."""
    mentioned = [text for _, text in source.mentioning(name)] if source is not None else []
    mentioned = [text for text in mentioned if re.search(rf"[\"'/]{re.escape(name)}[\"'/@]", text)]
    named = bool(mentioned)
    if not mentioned and source is not None and "/" in name:  # f"owner/{name}"
        mentioned = [text for _, text in source.mentioning(name.split("/")[0] + "/{")]
    if not mentioned:
        return None
    found, left = Use(), most
    for text in sorted(mentioned, key=len):
        if len(text) > left and found.is_loaded:
            break
        left -= len(text)
        try:
            Reader(name, ast.parse(text)).read(found)
        except (SyntaxError, ValueError, RecursionError):
            continue
    return found if found.is_loaded or named else None


class Reader:
    """Follows what is loaded under the name through the variables of one file."""

    def __init__(self, name, tree):
        self.name = name
        self.nodes = list(scoped(tree, (None,)))
        self.constants = {target.id: node.value.value for node, _ in self.nodes if isinstance(node, ast.Assign)
                          and isinstance(node.value, ast.Constant) for target in node.targets if isinstance(target, ast.Name)}
        self.functions = {node.name: node for node, _ in self.nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self.held = set()  # (function, name of a variable), "self.x", "x()" of a function that returns one

    def read(self, found):
        for node, _ in self.nodes:
            if isinstance(node, ast.Call) and self.loads(node):
                self.read_call(node, found)
            self.read_files(node, found)
        if found.is_loaded:
            self.follow()
            self.read_columns(found)

    def text(self, node):
        if isinstance(node, ast.JoinedStr):
            parts = [re.escape(v.value) if isinstance(v, ast.Constant) else ".+" for v in node.values]
            return self.name if re.fullmatch("".join(parts), self.name) and "/" in parts[0] else None
        value = node.value if isinstance(node, ast.Constant) else self.constants.get(node.id) if isinstance(node, ast.Name) else None
        return value if isinstance(value, str) else None

    def loads(self, call):
        called = getattr(call.func, "attr", getattr(call.func, "id", ""))
        named = [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("path", "dataset_name", "repo_id"))]
        return called in LOADERS and any(self.text(node) == self.name for node in named)

    def read_call(self, call, found):
        found.is_loaded = True
        keywords = {k.arg: k.value for k in call.keywords}
        config = self.text(call.args[1]) if len(call.args) > 1 else self.text(keywords.get("name"))
        if config:
            found.configs[config] = None
        for part in re.split(r"\s*\+\s*", self.text(keywords.get("split")) or ""):
            if split := re.match(r"[A-Za-z_]\w*(\.\w+)?", part):
                found.splits[split[0]] = None

    def is_held(self, node, scope):
        """Whether an expression is the dataset, or a part of it."""
        while True:
            if isinstance(node, ast.Name):
                return any((each, node.id) in self.held for each in scope)
            if isinstance(node, ast.Attribute):
                if isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in self.held:
                    return True
                node = node.value
            elif isinstance(node, (ast.Subscript, ast.Await, ast.Starred)):
                node = node.value
            elif isinstance(node, ast.Call):
                return self.is_held_call(node, scope)
            elif isinstance(node, (ast.List, ast.Tuple)):
                return any(self.is_held(each, scope) for each in node.elts)
            elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
                node = node.elt
            else:
                return False

    def is_held_call(self, call, scope):
        called = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if self.loads(call) or f"{called}()" in self.held:
            return True
        if called in HANDING_ON and any(self.is_held(each, scope) for each in call.args):
            return True
        return isinstance(call.func, ast.Attribute) and self.is_held(call.func.value, scope)

    def follow(self):
        """Until no more variables are found that hold it."""
        before = -1
        while before != len(self.held):
            before = len(self.held)
            for node, scope in self.nodes:
                for target, value in bindings(node):
                    if self.is_held(value, scope):
                        self.held |= {name for part in ast.walk(target) for name in held_name(part, scope)}
                if isinstance(node, ast.Return) and node.value is not None and self.is_held(node.value, scope):
                    self.held.add(f"{getattr(scope[0], 'name', '')}()")
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self.is_held(node.func.value, scope):
                    self.held |= {(function, argument.arg) for function in self.called_back(node) for argument in function.args.args}

    def called_back(self, call):
        """Functions that a method such as map or filter gets."""
        for argument in [*call.args, *(k.value for k in call.keywords)]:
            if isinstance(argument, ast.Lambda):
                yield argument
            elif isinstance(argument, ast.Name) and argument.id in self.functions:
                yield self.functions[argument.id]

    def read_columns(self, found):
        for node, scope in self.nodes:
            if isinstance(node, ast.Subscript) and (text := self.text(node.slice)) and self.is_held(node.value, scope):
                if not self.is_within_a_value(node.value):
                    found.add_text(text)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in NAMING and node.args:
                if self.is_held(node.func.value, scope):
                    first = node.args[0]
                    for each in first.elts if isinstance(first, (ast.List, ast.Tuple)) else [first]:
                        if text := self.text(each):
                            found.add_text(text)

    def is_within_a_value(self, node):
        """Whether a column is already named below, as in ds["train"][0]["audio"]["array"]."""
        while isinstance(node, (ast.Subscript, ast.Call, ast.Attribute)):
            if isinstance(node, ast.Subscript) and (text := self.text(node.slice)) and text not in SPLITS:
                return True
            node = node.func if isinstance(node, ast.Call) else node.value
        return False

    def read_files(self, node, found):
        """Files named beside the dataset in a call, or behind it in an address."""
        if isinstance(node, ast.Call):
            texts = [self.text(each) for each in [*node.args, *(k.value for k in node.keywords)]]
            if self.name in texts:
                found.files.update((text, None) for text in texts if text and text != self.name and is_file(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and f"datasets/{self.name}/" in node.value:
            address = re.search(re.escape(self.name) + r"/(?:resolve|raw|blob)/[^/]+/([^?#\s]+)", node.value)
            if address and is_file(address[1]):
                found.files[address[1]] = None


def is_file(text):
    is_relative = not text.startswith(("http:", "https:", "/", ".")) and ".." not in text and " " not in text
    return is_relative and files.suffix_of(text) in files.MAKERS


def scoped(node, scope):
    """(node, functions that it is in, the inmost first)."""
    for child in ast.iter_child_nodes(node):
        yield child, scope
        yield from scoped(child, (child, *scope) if isinstance(child, FUNCTIONS) else scope)


def held_name(part, scope):
    if isinstance(part, ast.Name) and part.id not in ("self", "cls"):
        yield scope[0], part.id
    elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
        yield f"{part.value.id}.{part.attr}"


def bindings(node):
    """(target, value) of what gives a name to a value."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        return [(node.target, node.value)] if node.value is not None else []
    return [(node.target, node.iter)] if isinstance(node, (ast.For, ast.comprehension)) else []

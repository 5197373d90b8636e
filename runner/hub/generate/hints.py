"""Reads in the source how the suite uses a name: which classes load it, for which tasks, and whether a
test expects that it is not there.

Reads Python by its syntax alone and runs none of it. Each place where the name stands is followed
to its calls: directly, by a variable of the function, an attribute of the class, a constant of the
module, a loop or a parameter.

Not here: which model that means (names.py).
"""

import ast
import collections
import dataclasses
import re

_RAISES = ("assertRaises", "assertRaisesRegex", "raises", "assert_raises")
_MOST_FILES = 12  # a name that more files mention is clear by then
_LOADS = ("from_pretrained", "from_config", "from_pretrain", "load_model", "from_single_file", "from_hub")
_CLASS_ATTRIBUTES = ("tokenizer_class", "rust_tokenizer_class", "model_class", "config_class",
                     "processor_class", "pipeline_class", "image_processor_class",
                     "feature_extractor_class", "all_model_classes", "base_model_class",
                     "transformers_class")  # fmt: skip


@dataclasses.dataclass
class Hints:
    """Counts, since one name may be used in several ways; the most frequent first."""

    classes: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    tasks: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    subfolders: set = dataclasses.field(default_factory=set)
    revisions: set = dataclasses.field(default_factory=set)
    files: set = dataclasses.field(default_factory=set)  # that hf_hub_download asks for
    companions: dict = dataclasses.field(default_factory=dict)  # an adapter's base models, the likeliest first
    beside: set = dataclasses.field(default_factory=set)  # texts in the same row of a table
    paths: list = dataclasses.field(default_factory=list)
    labels: tuple = ()  # of a config's id2label, as a test states them
    raised: list = dataclasses.field(default_factory=list)  # messages of tests that expect an error
    uses: int = 0
    stated: str = ""  # the class that the suite's hub.names.json gives it

    def ranked(self):
        return [name for name, _ in sorted(self.classes.items(), key=lambda c: (-c[1], c[0]))]


_MOST_KEPT = 2_000_000  # characters of files whose trees are kept: some hundred bytes of memory each


def trees_of(source):
    """The same for the same source: parsing takes longer than reading a tree."""
    if getattr(source, "trees", None) is None:
        source.trees = Trees(source)
    return source.trees


class Trees:
    """Parsed files of the source; the most recent ones are kept."""

    def __init__(self, source):
        self.source = source
        self.kept = collections.OrderedDict()
        self.size = 0

    def mentioning(self, name):
        files = [(p, t) for p, t in self.source.mentioning(name) if f'"{name}"' in t or f"'{name}'" in t]
        for path, text in files[:_MOST_FILES]:
            tree = self._parsed(path, text)
            if tree is not None:
                yield path, tree

    def _parsed(self, path, text):
        if path not in self.kept:
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError):
                tree = None
            if tree is not None:
                for node in ast.walk(tree):
                    for child in ast.iter_child_nodes(node):
                        child.parent = node
            self.kept[path] = (tree, len(text))
            self.size += len(text)
            while self.size > _MOST_KEPT and len(self.kept) > 1:
                self.size -= self.kept.popitem(last=False)[1][1]
        self.kept.move_to_end(path)
        return self.kept[path][0]


def hints_for(name, trees):
    """All that the source says of the name."""
    hints = Hints(stated=trees.source.models.get(name, "") if trees.source else "")
    if hints.stated:
        hints.classes[hints.stated] = 1 << 20
    for path, tree in trees.mentioning(name):
        hints.paths.append(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value == name:
                hints.beside |= _texts_beside(node)
                _follow(node, tree, hints, 0)
                _see_companions(node, hints)
                hints.labels = hints.labels or _labels_near(node)
    return hints


def _follow(node, tree, hints, depth):
    """Looks at one place: a call that it is an argument of, or the variable that it becomes."""
    inner, outer = node, getattr(node, "parent", None)
    while outer is not None and not isinstance(outer, ast.stmt):
        if isinstance(outer, ast.Call) and inner is not outer.func:
            if _is_parametrized(outer):
                _follow_parameter(outer, tree, hints, depth)
                return
            _see_call(outer, node, hints)
            return
        inner, outer = outer, getattr(outer, "parent", None)
    if depth > 3 or outer is None:
        return
    if isinstance(outer, (ast.Assign, ast.AnnAssign)):
        targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
        for target in targets:
            _follow_name(target, outer, tree, hints, depth)
        _see_class_attributes(outer, hints)
    elif isinstance(outer, ast.For):
        _follow_name(outer.target, outer, tree, hints, depth)
    elif isinstance(outer, ast.Return):
        hints.uses += 1
    elif isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
        _follow_default(node, outer, tree, hints, depth)


def _follow_name(target, statement, tree, hints, depth):
    """The uses of a variable in its scope, of an attribute in its file."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            _follow_name(element, statement, tree, hints, depth)
    elif isinstance(target, ast.Attribute):
        _follow_uses(tree, target.attr, hints, depth, attribute=True)
    elif isinstance(target, ast.Name):
        scope = _scope(statement)
        if isinstance(scope, ast.ClassDef):
            _follow_uses(tree, target.id, hints, depth, attribute=True)
        else:
            _follow_uses(scope, target.id, hints, depth, attribute=False)


def _follow_uses(scope, word, hints, depth, attribute):
    tree = _root(scope)
    for node in ast.walk(scope):
        if attribute and isinstance(node, ast.Attribute) and node.attr == word:
            if isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
                _follow(node, tree, hints, depth + 1)
        elif not attribute and isinstance(node, ast.Name) and node.id == word and isinstance(node.ctx, ast.Load):
            _follow(node, tree, hints, depth + 1)


def _follow_parameter(call, tree, hints, depth):
    """@pytest.mark.parametrize("name", […]) and parameterized.expand: the function's parameters."""
    function = getattr(call, "parent", None)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    words = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    if call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
        words = [w.strip() for w in call.args[0].value.split(",")]
    for word in words:
        _follow_uses(function, word, hints, depth, attribute=False)


def _follow_default(default, function, tree, hints, depth):
    arguments = function.args
    last = [a.arg for a in arguments.args][len(arguments.args) - len(arguments.defaults) :]
    pairs = [*zip(last, arguments.defaults), *zip([a.arg for a in arguments.kwonlyargs], arguments.kw_defaults)]
    for word, value in pairs:
        if value is not None and _within(default, value):
            _follow_uses(function, word, hints, depth, attribute=False)


def _is_parametrized(call):
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("parametrize", "expand")


def _see_call(call, argument, hints):
    hints.uses += 1
    if (message := _expected_error(call)) is not None:
        hints.raised.append(message)
    words = {k.arg: _texts_of(k.value, hints) for k in call.keywords if k.arg in ("subfolder", "revision")}
    hints.subfolders |= words.get("subfolder", set())
    if hints.uses > len(hints.raised):
        hints.revisions |= words.get("revision", set())
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in _LOADS:
        owner = _word(function.value)
        if owner:
            hints.classes[owner] += 1
        if owner and owner.startswith(("Peft", "AutoPeft")):
            is_first = bool(call.args) and _within(argument, call.args[0])
            hints.classes["Adapter"] += int(is_first == (owner.startswith("AutoPeft") or owner == "PeftConfig"))
        return
    called = _word(function)
    if called == "load_adapter":
        hints.classes["Adapter"] += 1
    elif called == "pipeline":
        task = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "task"), None)
        if isinstance(task, ast.Constant) and isinstance(task.value, str) and not _within(argument, task):
            hints.tasks[task.value] += 1
    elif called in ("hf_hub_download", "cached_file", "load_file_from_hub"):
        asked = call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "filename"), None)
        if isinstance(asked, ast.Constant) and isinstance(asked.value, str):
            hints.files.add(asked.value)
    elif called and called[:1].isupper():
        hints.classes[called] += 1  # SentenceTransformer("…"), CrossEncoder("…")


def _texts_of(node, hints):
    """The texts that an argument may be: itself, those that the file assigns to its name, and those
    that stand in a table's row with the repository."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if not isinstance(node, ast.Name):
        return set()
    assigned = {n.value.value for n in ast.walk(_root(node)) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant)
                and isinstance(n.value.value, str) and any(isinstance(t, ast.Name) and t.id == node.id for t in n.targets)}  # fmt: skip
    return assigned or hints.beside


def _texts_beside(node):
    row = getattr(node, "parent", None)
    if not isinstance(row, ast.Tuple):
        return set()
    return {e.value for e in row.elts if isinstance(e, ast.Constant) and isinstance(e.value, str) and e is not node}


def _see_companions(node, hints):
    """Other repositories that the same function names: first those that it loads a model from."""
    scope = _scope(node)
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    loaded, other = {}, {}
    loads = list(_loads_in(scope))
    texts = [n for n in ast.walk(scope) if isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value != node.value]
    for text in texts:
        if _is_loaded(text, loads):
            loaded[text.value] = None
        elif re.fullmatch(r"[\w.-]+/[\w.-]+", text.value):
            other[text.value] = None
    others = dict.fromkeys([*hints.companions, *other])
    hints.companions = {**loaded, **{name: None for name in others if name not in loaded}}


def _loads_in(scope):
    """The first arguments by which classes of models load in a function."""
    for call in ast.walk(scope):
        if isinstance(call, ast.Call) and call.args and _word(call.func) in _LOADS:
            owner = _word(getattr(call.func, "value", None)) or ""
            if owner.startswith("AutoModel") or "For" in owner or owner.endswith("Model"):
                yield call.args[0]


def _is_loaded(text, loads):
    """Whether it, or a variable that is assigned it, is loaded."""
    statement = getattr(text, "parent", None)
    names = {t.id for t in statement.targets if isinstance(t, ast.Name)} if isinstance(statement, ast.Assign) else set()
    return any(first is text or isinstance(first, ast.Name) and first.id in names for first in loads)


def _see_class_attributes(statement, hints):
    """A test class that names a repository often names the classes beside it."""
    owner = _scope(statement)
    if not isinstance(owner, ast.ClassDef):
        return
    for other in owner.body:
        if isinstance(other, ast.Assign) and len(other.targets) == 1 and _word(other.targets[0]) in _CLASS_ATTRIBUTES:
            if word := _word(other.value):
                hints.classes[word] += 1


def _labels_near(node):
    """The labels of a dictionary that the same function compares with id2label."""
    for statement in ast.walk(_scope(node)):
        if not isinstance(statement, (ast.Expr, ast.Assert)):
            continue
        inside = list(ast.walk(statement))
        if any(_word(n) == "id2label" for n in inside):
            for found in (n for n in inside if isinstance(n, ast.Dict) and n.keys):
                pairs = [(getattr(k, "value", None), getattr(v, "value", None)) for k, v in zip(found.keys, found.values)]
                if [k for k, _ in pairs] == list(range(len(pairs))) and all(isinstance(v, str) for _, v in pairs):
                    return tuple(v for _, v in pairs)
    return ()


def _expected_error(node):
    """The words of the error that the test expects around this place; None where it expects none."""
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(node, ast.With):
            for item in node.items:
                call = item.context_expr
                if isinstance(call, ast.Call) and _word(call.func) in _RAISES:
                    return " ".join(
                        c.value if isinstance(c, ast.Constant) else getattr(c, "id", getattr(c, "attr", ""))
                        for c in ast.walk(call)
                        if isinstance(c, (ast.Name, ast.Attribute)) or (isinstance(c, ast.Constant) and isinstance(c.value, str))
                    )
        node = getattr(node, "parent", None)
    return None


def _word(node):
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _within(node, root):
    return any(n is node for n in ast.walk(root))


def _scope(node):
    node = getattr(node, "parent", None)
    while getattr(node, "parent", None) is not None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return node
        node = node.parent
    return node


def _root(node):
    while getattr(node, "parent", None) is not None:
        node = node.parent
    return node

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
    companions: set = dataclasses.field(default_factory=set)  # an adapter's base models
    paths: list = dataclasses.field(default_factory=list)
    labels: tuple = ()  # of a config's id2label, as a test states them
    raised: list = dataclasses.field(default_factory=list)  # messages of tests that expect an error
    uses: int = 0
    stated: str = ""  # the class that the suite's hub.names.json gives it

    def ranked(self):
        return [name for name, _ in sorted(self.classes.items(), key=lambda c: (-c[1], c[0]))]


class Trees:
    """Parsed files of the source; the most recent ones are kept."""

    def __init__(self, source):
        self.source = source
        self.kept = collections.OrderedDict()

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
            self.kept[path] = tree
            if len(self.kept) > 40:
                self.kept.popitem(last=False)
        return self.kept[path]


def hints_for(name, trees):
    """All that the source says of the name."""
    hints = Hints(stated=trees.source.models.get(name, "") if trees.source else "")
    if hints.stated:
        hints.classes[hints.stated] = 1 << 20
    for path, tree in trees.mentioning(name):
        hints.paths.append(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value == name:
                _follow(node, tree, hints, 0)
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
    words = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
    if isinstance(words.get("subfolder"), str):
        hints.subfolders.add(words["subfolder"])
    if isinstance(words.get("revision"), str) and hints.uses > len(hints.raised):
        hints.revisions.add(words["revision"])
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in _LOADS:
        owner = _word(function.value)
        if owner:
            hints.classes[owner] += 1
        if owner and owner.startswith(("Peft", "AutoPeft")) and call.args and not _within(argument, call.args[0]):
            hints.classes["Adapter"] += 1
            if isinstance(call.args[0], ast.Constant):
                hints.companions.add(call.args[0].value)
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

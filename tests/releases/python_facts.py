"""Facts of the Python files of a torch wheel, by their syntax trees: nothing is imported.

For each module its definitions, the environment variables that it reads, the lists that it names, and
what it registers. Which of them matters is not decided here (relevance.py)."""

import ast
import re

# Parts of torch that hold tests, copies of other projects, or tables made by machines.
SKIPPED = re.compile(
    r"torch/(?:_vendor|onnx|ao|testing|_inductor/kernel/vendored|_inductor/autoheuristic/artifacts)/"
    r"|torch/sparse/_triton_ops_meta|torch/utils/hipify/cuda_to_hip"
)
# PyTorch's own lists of which op a device's kernels accept with which dtype.
TESTS = re.compile(
    r"torch/testing/_internal/(?:common_mps|common_device_type|common_methods_invocations"
    r"|opinfo/definitions/\w+|distributed/\w*(?:multi|fake)\w*)\.py$"
)
DEVICES = ("cuda", "mps", "nccl", "accelerator", "xpu", "mtia")
DEVICE = re.compile("|".join(DEVICES))
# CUDA's libraries under torch.cuda's Python: by ctypes, or by NVIDIA's package cuda.bindings.
DRIVER = re.compile(r"cuda_?bindings|_get_(?:\w+_)?(?:cuda|nvrtc|driver)\w*_library|^cuda\.|_check_cuda\b|cuda_python")
GETENV = ("environ.get", "getenv")
# torch's checks, by the class of what they raise.
CHECK = re.compile(r"(?:^|\.)_check(?:_tensor_all)?(_value|_type|_index|_not_implemented)?(_with)?$")
REGISTERS = re.compile(r"(?:^|\.|_)register_(?:\w+_)?(?:backend|device|interface|op_overrides|hook)")
INSIDE = re.compile(r"environ|getenv|env_name|register_|OpInfo")
LIST_NAME = re.compile(r"_?[A-Z][A-Z0-9_]{3,}$")
EMPTY = ("[]", "{}", "()", "set()")
PRIVATE_CLASS = re.compile(r"\b_[A-Z]\w+")
RAISE_WORDS = 12  # a text shorter than this is no refusal


def wanted(path):
    return path.endswith((".py", ".pyi")) and path.startswith("torch/") and (
        not SKIPPED.match(path) or TESTS.match(path)
    )


def module_of(path):
    return re.sub(r"(?:/__init__)?\.pyi?$", "", path).replace("/", ".")


def dotted(node):
    """`a.b.c` of an expression, or None."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        return ".".join([node.id, *reversed(names)])
    return None


def texts_of(node, said=None):
    """The constant parts of a text, with {} where a value stands; of several where code chooses one.
    `said`: the texts of names."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join((texts_of(part, said) or ["{}"])[0] for part in node.values)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return texts_of(node.left, said)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = (texts_of(each, said) or ["{}"] for each in (node.left, node.right))
        return [one + other for one in left for other in right] if [*left, *right] != ["{}", "{}"] else []
    if isinstance(node, ast.IfExp):
        return [*texts_of(node.body, said), *texts_of(node.orelse, said)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return texts_of(node.func.value, said)
    return (said or {}).get(dotted(node), [])


def text_of(node):
    return next(iter(texts_of(node)), None)


def signature(function):
    """Parameters with their defaults, without annotations."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    shown = [_parameter(each, default) for each, default in zip(plain, defaults)]
    if given.posonlyargs:
        shown.insert(len(given.posonlyargs), "/")
    if given.vararg:
        shown.append("*" + given.vararg.arg)
    elif given.kwonlyargs:
        shown.append("*")
    shown += map(_parameter, given.kwonlyargs, given.kw_defaults)
    if given.kwarg:
        shown.append("**" + given.kwarg.arg)
    return ", ".join(shown)


def _parameter(argument, default):
    if default is None:
        return argument.arg
    value = repr(default.value) if isinstance(default, ast.Constant) else ast.unparse(default)
    return f"{argument.arg}={value}"


class _Module(ast.NodeVisitor):
    """Collects the facts of one module."""

    def __init__(self, module, source=""):
        self.module, self._inside = module, []
        # Most modules have no such thing, and their expressions need no look.
        self._looks_inside = bool(INSIDE.search(source))
        self._speaks = bool(DEVICE.search(f"{module} {source}"))
        self.definitions, self.environment, self.lists, self.registered = {}, {}, {}, []
        self.imported, self.opinfos, self.sets = {}, {}, []
        self._constants, self._said = {}, {}

    def visit_Module(self, node):
        # A function may name a text that stands below it.
        for each in node.body:
            if isinstance(each, (ast.Assign, ast.AnnAssign)):
                for target in each.targets if isinstance(each, ast.Assign) else (each.target,):
                    if found := texts_of(each.value, self._said):
                        self._said[dotted(target)] = found
        self.generic_visit(node)

    def visit_ClassDef(self, node):
        self._define(node, "class", ", ".join(ast.unparse(base) for base in node.bases))
        self._walk(node)

    def visit_FunctionDef(self, node):
        if any((dotted(each) or "").endswith("overload") for each in node.decorator_list):
            return
        for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(default)
        parameters = signature(node)
        kind = "property" if any((dotted(each) or "").endswith("property") for each in node.decorator_list) else "def"
        fact = self._define(node, kind, parameters)
        if given := PRIVATE_CLASS.findall(ast.unparse(node.returns)) if node.returns else ():
            fact["gives"] = sorted(set(given))
        if self._speaks:
            fact.update(_of_body(node.body, self.imported, self._said))
            self._answers(node)
        self._walk(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def _answers(self, node):
        """What a class has by comparing the name that somebody asks it for."""
        if node.name not in ("__getattr__", "__setattr__"):
            return
        for each in ast.walk(node):
            test = each.test if isinstance(each, ast.If) else None
            if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) and isinstance(name := test.comparators[0], ast.Constant):
                fact = {"kind": "value", "parameters": "", **_of_body(each.body, self.imported, self._said)}
                self.definitions.setdefault(".".join([*self._inside, str(name.value)]), fact)

    def _define(self, node, kind, parameters):
        fact = {"kind": kind, "parameters": parameters}
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and (dotted(decorator.func) or "").endswith("deprecated"):
                fact["deprecated"] = " ".join((text_of(decorator.args[0]) or "").split()) if decorator.args else ""
        self.definitions[".".join([*self._inside, node.name])] = fact
        return fact

    def _walk(self, node):
        self._inside.append(node.name)
        for child in node.body:
            self.visit(child)
        self._inside.pop()

    def visit_ImportFrom(self, node):
        if not self._inside:
            for alias in node.names:
                base = "." * node.level + (node.module or "")
                self.imported[alias.asname or alias.name] = f"{base}:{alias.name}"

    def visit_Assign(self, node):
        for target in node.targets:
            self._assigned(target, node.value)
        self._expression(node)

    def visit_AnnAssign(self, node):
        self._assigned(node.target, node.value)
        if (name := dotted(node.target)) in self.definitions and not self._inside and isinstance(node.annotation, ast.Name):
            self.definitions[name]["of"] = node.annotation.id
        self._expression(node)

    def _assigned(self, target, value):
        name = dotted(target)
        if not self._inside and isinstance(value, ast.Constant) and isinstance(value.value, str):
            self._constants[name] = value.value
        if name and self._in_class_or_module() and "." not in name:
            where = ".".join([*self._inside, name])
            simple = value is not None and len(shown := ast.unparse(value)) < 200
            self.definitions.setdefault(where, {"kind": "value", "parameters": shown if simple else ""})
        if name and value is not None and (LIST_NAME.match(name) or self._in_class_or_module()):
            found = _strings(value)
            # A short list may be longer in another release.
            kept = len(found) > 3 or LIST_NAME.match(name) and (found or ast.unparse(value) in EMPTY)
            if kept and isinstance(value, (ast.List, ast.Set, ast.Tuple, ast.Dict, ast.Call)):
                self.lists[".".join([*self._inside, name])] = sorted(found)

    def _in_class_or_module(self):
        last = self.definitions.get(".".join(self._inside), {}) if self._inside else {}
        return last.get("kind", "class") == "class"

    def generic_visit(self, node):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.If, ast.For, ast.With, ast.Try, ast.While)):
            self._expression(node)
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._expression(child)
                else:
                    self.visit(child)

    def visit_arguments(self, node):
        pass

    def _expression(self, root):
        """Environment variables and registrations of an expression."""
        if not self._looks_inside:
            return
        for node in ast.walk(root):
            if isinstance(node, ast.Call):
                self._call(root, node)
            elif isinstance(node, ast.Subscript) and (dotted(node.value) or "").endswith("environ"):
                if isinstance(node.ctx, ast.Load):
                    self._reads(root, node, self._constant(node.slice), None)
                elif isinstance(variable := self._constant(node.slice), str):
                    self.sets.append(variable)

    def _call(self, root, node):
        name = dotted(node.func) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        if name.endswith(GETENV) and node.args:
            default = node.args[1] if len(node.args) > 1 else None
            self._reads(root, node, self._constant(node.args[0]), default)
        for word in node.keywords:
            if word.arg and word.arg.startswith("env_name") and isinstance(word.value, ast.Constant):
                self._reads(root, node, word.value.value, next((w.value for w in node.keywords if w.arg == "default"), None))
        if REGISTERS.search(name):
            shown = [ast.unparse(each) for each in (*node.args, *(w.value for w in node.keywords))]
            self.registered.append(f"{name}({', '.join(shown)[:200]})")
        if name.endswith("OpInfo") or name.endswith("FuncInfo"):
            self._opinfo(node)

    def _constant(self, node):
        """The value of a constant, or of a name that the module gives one."""
        return node.value if isinstance(node, ast.Constant) else self._constants.get(dotted(node))

    def _reads(self, root, node, variable, default):
        """`use`: what is made of the value, in the smallest expression that decides something."""
        if not isinstance(variable, str):
            return
        use = node
        for each in ast.walk(root):
            deciding = isinstance(each, (ast.Compare, ast.BoolOp, ast.IfExp, ast.UnaryOp))
            if deciding and any(inner is node for inner in ast.walk(each)):
                use = each
                break
        self.environment.setdefault(variable, []).append(
            {"default": None if default is None else ast.unparse(default), "use": ast.unparse(use)[:300]}
        )

    def _opinfo(self, node):
        if not node.args or not isinstance(node.args[0], ast.Constant):
            return
        name, fact = str(node.args[0].value), {}
        for word in node.keywords:
            if word.arg == "variant_test_name" and isinstance(word.value, ast.Constant):
                name += f".{word.value.value}"
            elif word.arg and re.fullmatch(r"(?:backward_)?dtypesIf(?:CUDA|MPS)", word.arg):
                fact[word.arg] = ast.unparse(word.value)
        self.opinfos[name] = fact


def _strings(node):
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)} if node else set()


def _of_body(body, imported, constants):
    """The texts that statements raise, the names of torch._C that they use, what they ask CUDA's own
    libraries by, and the devices that they speak of, in names and texts other than documentation.
    """
    warns, native, devices, driver = set(), set(), set(), set()
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    nodes = [node for statement in body for node in ast.walk(statement)]
    messages = _Messages(constants)
    for node in sorted((each for each in nodes if isinstance(each, (ast.stmt, ast.Call))), key=lambda each: (each.lineno, each.col_offset)):
        messages.take(node)
    for node in nodes:
        if isinstance(node, ast.Attribute):
            devices.update(DEVICE.findall(node.attr.lower()))
            found = re.match(r"torch\._C\.(\w+)", dotted(node) or "")
            if found:
                native.add(found[1])
        elif isinstance(node, ast.Name):
            devices.update(DEVICE.findall(node.id.lower()))
            if DRIVER.search(imported.get(node.id, node.id)):
                driver.add(node.id)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and len(node.value) < 60:
                devices.update(DEVICE.findall(node.value.lower()))
        elif isinstance(node, ast.ImportFrom) and node.module == "torch._C":
            native.update(alias.name for alias in node.names)
    found = {
        "raises": sorted(messages.raised),
        "warns": sorted(messages.warned),
        "native": sorted(native),
        "devices": sorted(devices),
        "driver": sorted(driver),
    }
    return {key: value for key, value in found.items() if value}


class _Messages:
    """What statements raise and warn, taken in the order of the source."""

    def __init__(self, constants):
        self.raised, self.warned = set(), set()
        self._said, self._errors, self._used = dict(constants), {}, set()

    def take(self, node):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                self._assigned(dotted(target), node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            name, more = dotted(node.target), texts_of(node.value, self._said) or ["{}"]
            if name in self._said:
                self._said[name] = [one + other for one in self._said[name] for other in more]
        elif isinstance(node, ast.Raise):
            error = self._errors.get(dotted(node.exc), node.exc)
            if isinstance(error, ast.Call):
                self._raise(dotted(error.func), (*error.args, *(each.value for each in error.keywords))[:1])
        elif isinstance(node, ast.Call) and (dotted(node.func) or "").endswith("warn"):
            self.warned.update(self._texts(node.args[:1]))
        elif isinstance(node, ast.Call) and (found := CHECK.search(dotted(node.func) or "")):
            kind = "".join(map(str.capitalize, (found[1] or "_runtime").split("_"))) + "Error"
            said = [each.body for each in (*node.args, *(word.value for word in node.keywords)) if isinstance(each, ast.Lambda)]
            self._raise(dotted(node.args[0]) if found[2] and node.args else kind, said)

    def _assigned(self, name, value):
        if isinstance(value, ast.Call) and re.search(r"(?:Error|Exception|Warning)$", dotted(value.func) or ""):
            self._errors[name] = value
        elif found := texts_of(value, self._said):
            # One of several until somebody raises it.
            self._said[name] = [*(() if name in self._used else self._said.get(name, ())), *found]
            self._used.discard(name)

    def _texts(self, nodes):
        for node in nodes:
            self._used.add(dotted(node))
            for text in texts_of(node, self._said):
                if text.strip():
                    yield " ".join(text.split())

    def _raise(self, kind, nodes):
        self.raised.update(f"{kind}: {text}" for text in self._texts(nodes) if len(text) > RAISE_WORDS)


def facts(read, paths):
    """`read(path)`: the bytes of a file of the wheel."""
    found = {}
    for path in sorted(filter(wanted, paths)):
        source = read(path).decode()
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):  # a template of a file
            continue
        if TESTS.match(path) and not DEVICE.search(path):
            module = _OpInfos(module_of(path))
        else:
            module = _Module(module_of(path), source)
        module.visit(tree)
        found.setdefault(module.module, {}).update(
            {
                key: value
                for key, value in vars(module).items()
                if not key.startswith("_") and key != "module" and value
            }
        )
    return found


class _OpInfos(_Module):
    """Only the OpInfos of a module."""

    def visit(self, node):
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and (dotted(each.func) or "").endswith("Info"):
                self._opinfo(each)

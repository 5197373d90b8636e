"""Lists the sites of a file that name CUDA, found in its syntax tree.

A site is one import, name, call or literal. The table says what it is and what to do. Comments,
documentation and functions of the code's own that are called like torch's are no sites. Not here: which
files are read (sources.py), and what is printed (__main__.py).
"""
import ast
import io
import re
import tokenize

import contexts
import guards
import names
from contexts import called, literal

# The text that --fix writes for a device that only torch sees: on CUDA it is "cuda", without an
# accelerator the CPU.
DEVICE = 'torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")'
# torch.zeros(n).cuda(): these take device=.
FACTORIES = {"zeros", "ones", "empty", "full", "rand", "randn", "randint", "arange", "tensor", "eye", "linspace", "randperm"}


class Site:
    def __init__(self, node, use, symbol, span, fix=None, guarded=False):
        self.node, self.use, self.symbol, self.span, self.guarded = node, use, symbol, span, guarded
        self.recorded = use.recorded
        self.fix = fix  # how --fix writes it; None: it does not
        self.action = use.action
        if self.action == "replace" and not fix:
            self.action = "review"
        self.write = use.write
        if guarded and self.action in ("branch", "none"):
            self.keep()

    def keep(self):
        self.action, self.fix, self.write = "keep", None, "nothing: CUDA alone comes here"


class Finder(ast.NodeVisitor):
    def __init__(self, tree, table, own_packages=(), own_names=()):
        self.table = table
        self.own_names = own_names  # methods that classes of the scanned code have: .get_device() may be theirs
        self.own_packages = own_packages  # that are scanned: their imports name nothing else
        self.sites = []
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self.scope = names.Scope(tree, None)
        self.module = self.scope
        self.guarded = False     # CUDA alone comes here
        self.dispatched = False  # the value for "cuda" in a table of devices
        # Classes of this file whose own .cuda() or .get_device() is no tensor's.
        self.own_methods = {
            (node.name, item.name)
            for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and not _is_module(node)
            for item in node.body if isinstance(item, ast.FunctionDef) and item.name in ("cuda", "get_device", "pin_memory", "is_cuda")
        }

    def resolve(self, node):
        return self.scope.resolve(node)

    def add(self, node, use, symbol, fix=None):
        if fix and self.scope.lookup("torch") != "torch":
            fix = None  # the replacement names torch
        if fix and self.is_in_f_string(node):
            fix = None  # before Python 3.12 its place is not known
        site = Site(node, use, symbol, self.span_of(node), fix, self.guarded or self.dispatched)
        if self.dispatched:
            site.keep()
        site.recorded = site.recorded and self.leaves_record(node)
        self.sites.append(site)

    def is_in_f_string(self, node):
        while node is not None and not isinstance(node, ast.JoinedStr):
            node = self.parents.get(node)
        return node is not None

    def leaves_record(self, node):
        """Whether it is a call, and not torch.device("cuda"), which uses no device yet."""
        call = node
        while isinstance(call, (ast.Name, ast.Attribute, ast.Constant, ast.keyword)):
            call = self.parents.get(call)
        is_used = isinstance(call, ast.Call) and not (isinstance(node, (ast.Name, ast.Attribute)) and call.func is not node)
        return is_used and self.resolve(call.func) not in ("torch.device", "torch.set_default_device")

    def span_of(self, node):
        """The lines of the innermost call around a site: the line that ran is one of them."""
        outer = node
        while outer is not None and not isinstance(outer, (ast.Call, ast.stmt)):
            outer = self.parents.get(outer)
        if not isinstance(outer, ast.Call):
            outer = node
        return min(outer.lineno, node.lineno), max(outer.end_lineno, node.end_lineno)

    # Scopes and guards.

    def visit_body(self, statements):
        before = self.guarded
        for statement in statements:
            self.visit(statement)
            if guards.leaves_without_cuda(statement, self.resolve):
                self.guarded = True
        self.guarded = before

    def in_scope(self, node, body):
        outer, self.scope = self.scope, names.Scope(node, self.scope)
        body()
        self.scope = outer

    def visit_Module(self, node):
        self.visit_body(node.body)

    def visit_FunctionDef(self, node):
        arguments = node.args
        before = self.guarded
        for part in [*node.decorator_list, *type_parameters(node), *arguments.defaults, *filter(None, arguments.kw_defaults)]:
            self.visit(part)
            self.guarded = self.guarded or guards.skipped_without_cuda(part, self.resolve)
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg) and argument.annotation:
                self.visit(argument.annotation)
        if node.returns:
            self.visit(node.returns)
        self.in_scope(node, lambda: self.visit_body(node.body))
        self.guarded = before

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        before = self.guarded
        for part in [*node.decorator_list, *type_parameters(node), *node.bases, *node.keywords]:
            self.visit(part)
            self.guarded = self.guarded or guards.skipped_without_cuda(part, self.resolve)
        self.in_scope(node, lambda: self.visit_body(node.body))
        self.guarded = before

    def visit_Lambda(self, node):
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        self.in_scope(node, lambda: self.visit(node.body))

    def generic_scope(self, node):
        self.in_scope(node, lambda: self.generic_visit(node))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = generic_scope

    def visit_If(self, node):
        self.visit(node.test)
        before = self.guarded
        self.guarded = before or guards.asks(node.test, self.resolve)
        self.visit_body(node.body)
        self.guarded = before or guards.asks(node.test, self.resolve, wanted=False)
        self.visit_body(node.orelse)
        self.guarded = before

    def visit_With(self, node):
        for item in node.items:
            self.visit(item)
        self.visit_body(node.body)

    visit_AsyncWith = visit_With

    def visit_Dict(self, node):
        """{"cpu": …, "cuda": …} is a branch for each device."""
        keys = {literal(key) for key in node.keys if key}
        for key, value in zip(node.keys, node.values):
            before = self.dispatched
            self.dispatched = before or (literal(key) == "cuda" and bool(keys & contexts.OTHER_DEVICES))
            for part in (key, value):
                if part is not None:
                    self.visit(part)
            self.dispatched = before

    def visit_IfExp(self, node):
        if self.is_choice(node):
            return
        self.visit(node.test)
        before = self.guarded
        self.guarded = before or guards.asks(node.test, self.resolve)
        self.visit(node.body)
        self.guarded = before
        self.visit(node.orelse)

    # Sites.

    def is_choice(self, node):
        """`"cuda" if torch.cuda.is_available() else "cpu"` is one site."""
        tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else [node.test]
        asked = [test for test in tests if isinstance(test, ast.Call) and self.canonical(test.func) == "torch.cuda.is_available"]
        body = self.device_literal(node.body)
        if not asked or body is None or not (contexts.DEVICE.match(body) or contexts.f_string(_argument(node.body))):
            return False
        plain = body == "cuda" and self.device_literal(node.orelse) == "cpu"
        self.add(node, self.table.get("choice"), "torch.cuda.is_available", "choice" if plain else None)
        for test in tests:
            if test not in asked:
                self.visit(test)
        return True

    def device_literal(self, node):
        """"cuda" of "cuda" and of torch.device("cuda")."""
        if isinstance(node, ast.Call) and (self.resolve(node.func) != "torch.device" or len(node.args) != 1 or node.keywords):
            return None
        node = _argument(node)
        return literal(node) or contexts.f_string(node)

    def canonical(self, node):
        dotted = self.resolve(node)
        return dotted and self.table.canonical(dotted)

    def visit_Import(self, node):
        for _, _, dotted in names.imported(node):
            if dotted.partition(".")[0] in self.own_packages:
                continue
            use = self.table.get("module", self.table.canonical(dotted)) or self.table.by_import(dotted)
            use = use or (self.table.by_name(dotted)[0] if "." in dotted else None)
            if use and not use.needs:
                self.add(node, use, dotted)

    visit_ImportFrom = visit_Import

    def visit_Attribute(self, node):
        dotted = self.resolve(node)
        if dotted is None:
            if node.attr == "is_cuda" and isinstance(node.ctx, ast.Load) and not self.is_own(node, "is_cuda"):
                self.add(node, self.table.get("attribute", "is_cuda"), "is_cuda")
            self.visit(node.value)
            return
        self.visit_dotted(node, dotted)

    def visit_Name(self, node):
        dotted = self.resolve(node) if isinstance(node.ctx, ast.Load) else None
        # A name for a module is a site where something of the module is used.
        if dotted and dotted.count(".") > 1:
            self.visit_dotted(node, dotted)

    def visit_dotted(self, node, dotted):
        if dotted.partition(".")[0] in self.own_packages:
            return
        use, symbol = self.table.by_name(dotted)
        if isinstance(self.parents.get(node), ast.Assign):  # `cuda = torch.cuda` is as an import
            use = self.table.get("module", symbol) or use
        if use is None:
            return
        call = self.parents.get(node)
        is_called = isinstance(call, ast.Call) and call.func is node
        if use.needs and not (is_called and self.call_has(call, use.needs)):
            return
        fix = use.fix if use.fix and ast_is_plain(node, dotted) and self.table.canonical(dotted) == dotted else None
        self.add(node, use, symbol, fix)

    def call_has(self, call, needed):
        if any(keyword.arg == needed for keyword in call.keywords):
            return True
        return any(needed.startswith(".") and (literal(part) or "").endswith(needed) for part in ast.walk(call))

    def is_own(self, node, method):
        """Whether `node.value` is of a class of this file that has this method itself."""
        value = node.value
        if isinstance(value, ast.Name) and value.id in ("self", "cls"):
            owner = self.parents.get(node)
            while owner is not None and not isinstance(owner, ast.ClassDef):
                owner = self.parents.get(owner)
            return owner is not None and (owner.name, method) in self.own_methods
        if isinstance(value, ast.Name):
            assigned = self.scope._aliases.get(value.id, ())
            value = assigned[0] if len(assigned) == 1 else value
        return isinstance(value, ast.Call) and (called(value), method) in self.own_methods

    def visit_Call(self, node):
        if isinstance(node.func, ast.Attribute) and self.resolve(node.func) is None:
            self.visit_method(node, node.func.attr)
        for keyword in node.keywords:
            if keyword.arg == "pin_memory" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
                self.add(keyword, self.table.get("keyword", "pin_memory"), "pin_memory")
        self.generic_visit(node)

    def visit_method(self, node, name):
        receiver = node.func.value
        given = {keyword.arg for keyword in node.keywords}
        if name not in ("cuda", "get_device", "pin_memory") or self.is_own(node.func, name):
            return
        if name == "cuda" and len(node.args) <= 1 and given <= {"device", "non_blocking", "memory_format"}:
            made = isinstance(receiver, ast.Call) and re.match(r"torch\.(\w+)\Z", self.resolve(receiver.func) or "")
            if made and made[1] in FACTORIES:
                self.add(node, self.table.get("factory", "cuda"), ".cuda()")
            else:
                self.add(node, self.table.get("method", "cuda"), ".cuda()", None if node.args or "device" in given else "method")
        elif name == "get_device" and name not in self.own_names and not node.args and not given and getattr(receiver, "id", "") not in ("self", "cls"):
            self.add(node, self.table.get("method", name), ".get_device()")
        elif name == "pin_memory" and len(node.args) <= 1:
            self.add(node, self.table.get("method", name), ".pin_memory()")

    def visit_JoinedStr(self, node):
        if contexts.f_string(node):
            self.visit_device(node, indexed=True)
        self.generic_visit(node)

    def visit_FormattedValue(self, node):
        self.visit(node.value)

    def visit_Constant(self, node):
        text = literal(node)
        if not text or isinstance(self.parents.get(node), ast.JoinedStr) or contexts.is_text(node, self.parents):
            return
        if contexts.DEVICE.match(text):
            self.visit_device(node, indexed=text != "cuda")
        elif contexts.COMPUTED.match(text):
            whole = contexts.computed(node, self.parents)
            if whole is not None:
                self.visit_device(whole, indexed=True)
        elif contexts.NCCL.match(text):
            used = contexts.use_of(node, self.parents, self.resolve)
            if used:
                self.add(node, self.table.get("string", used if used in ("compared", "asserted") else "nccl"), text)
        elif text == contexts.GRAPHS and contexts.use_of(node, self.parents, self.resolve) == "device":
            self.add(node, self.table.get("string", "graphs"), text)
        elif text == contexts.KERNEL and called(self.parents.get(node)) in ("impl", "Library", "register_kernel"):
            self.add(node, self.table.get("string", "compared"), text)
        elif contexts.VARIABLE.match(text):
            self.add(node, self.table.get("string", "environment"), text)
        elif contexts.SYMBOL.match(text) and isinstance(self.parents.get(node), ast.Call):
            use, symbol = self.table.by_name(text)
            if use and not use.needs:
                self.add(node, use, symbol)
        elif contexts.SOURCE.match(text) and contexts.use_of(node, self.parents, self.resolve) == "device":
            self.add(node, self.table.get("string", "source"), text)

    def visit_device(self, node, indexed):
        used = contexts.use_of(node, self.parents, self.resolve)
        if not used:
            return
        if used == "device" and self.parents.get(node) and self.is_device_call(self.parents[node]):
            indexed = True  # torch.device("cuda", 0)
        if indexed and used in ("consumed", "device"):
            used = "indexed"
        use = self.table.get("string", used)
        in_place = isinstance(self.parents.get(node), (ast.Call, ast.keyword))
        self.add(node, use, literal(node) or "cuda:*", "device" if use.fix and in_place else None)

    def is_device_call(self, node):
        return isinstance(node, ast.Call) and self.resolve(node.func) == "torch.device" and len(node.args) == 2


def edits(site):
    """The changes of --fix at a site: (kind, node, new source of the node); see fix.py."""
    node = site.node
    if site.fix == "method":
        return [("method", node, DEVICE)]
    if site.fix == "device":
        return [("expression", node, DEVICE)]
    if site.fix == "choice":
        tests = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
        asked = [test for test in tests if isinstance(test, ast.Call) and called(test) == "is_available"]
        return [("expression", asked[0].func, "torch.accelerator.is_available"),
                ("expression", _argument(node.body), "torch.accelerator.current_accelerator().type")]
    return [("expression", node, site.fix)]


def _argument(node):
    """The argument of torch.device(…), else the node itself."""
    return node.args[0] if isinstance(node, ast.Call) and node.args else node


def type_parameters(node):
    return getattr(node, "type_params", [])  # from Python 3.12 on


def _is_module(node):
    return any("Module" in (getattr(base, "attr", "") or getattr(base, "id", "")) for base in node.bases)


def ast_is_plain(node, dotted):
    """Whether the source spells the dotted name out, from `torch` on."""
    return isinstance(node, ast.Attribute) and ast.unparse(node) == dotted


def suppressed_lines(text, code):
    """Lines with a comment `# noqa: CODE`, as flake8 and ruff write it."""
    pattern = re.compile(rf"#\s*noqa\s*:(?:[^#]*[\s,:])?{code}\b", re.IGNORECASE)
    lines = set()
    if "noqa" in text:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and pattern.search(token.string):
                lines.add(token.start[0])
    return lines


def own_names_of(data):
    """Methods without arguments, called like a tensor's, that classes in these bytes define."""
    return {"get_device"} if re.search(rb"^\s+def get_device\(self\s*,?\s*\)", data, re.MULTILINE) else set()


def finder_of(tree, table, own_packages=(), own_names=()):
    finder = Finder(tree, table, own_packages, own_names)
    finder.visit(tree)
    return finder


def is_suppressed(site, finder, marked):
    """Whether a comment stands in the lines of the site, or of its statement."""
    statement = site.node
    while not isinstance(statement, ast.stmt):
        statement = finder.parents[statement]
    last = statement.end_lineno if not hasattr(statement, "body") else site.node.end_lineno
    return any(number in marked for number in range(site.node.lineno, last + 1))


def find(text, tree, table, own_packages=(), own_names=()):
    """The sites in the order of the file, as objects for JSON."""
    finder = finder_of(tree, table, own_packages, own_names)
    lines = text.splitlines()
    marked = suppressed_lines(text, table.code)
    found = []
    for site in sorted(finder.sites, key=lambda one: (one.node.lineno, one.node.col_offset)):
        node = site.node
        line = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
        found.append({
            "line": node.lineno, "column": len(line.encode()[:node.col_offset].decode(errors="replace")) + 1,
            "span": list(site.span), "symbol": site.symbol, "category": site.use.category, "action": site.action,
            "source": line.strip(), "write": site.write, "torch": site.use.torch, "fix": site.fix, "fix_torch": site.use.fix_torch,
            "recorded": site.recorded, "guarded": site.guarded, "suppressed": is_suppressed(site, finder, marked),
        })
    return found

"""Resolves the names of a file through its imports: `c.Stream` after `from torch import cuda as c` is
torch.cuda.Stream. A name that is bound in any other way resolves to nothing. Not here: which names
matter (table.py).
"""
import ast

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def imported(node):
    """(name bound, dotted name, dotted name that the statement imports) of an import statement."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            bound = alias.asname or alias.name.partition(".")[0]
            yield bound, alias.name if alias.asname else bound, alias.name
        else:
            dotted = "." * node.level + ".".join(part for part in (node.module, alias.name) if part)
            yield alias.asname or alias.name, dotted, dotted


class Scope:
    def __init__(self, node, parent):
        self.parent = parent
        self.is_class = isinstance(node, ast.ClassDef)
        self._names = {}    # -> dotted name, or None: bound, and not by an import
        self._aliases = {}  # name -> the values assigned to it
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            arguments = node.args
            for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
                if argument:
                    self._bind(argument.arg)
        if isinstance(node, _COMPREHENSIONS):
            for generator in node.generators:
                self._collect(generator.target)
        else:
            for child in node.body if isinstance(node.body, list) else [node.body]:
                self._collect(child)

    def _bind(self, name, dotted=None):
        # An import beats `name = None`, which stands where the import failed.
        if self._names.get(name) is None:
            self._names[name] = dotted

    def _collect(self, node):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for bound, dotted, _ in imported(node):
                self._bind(bound, dotted)
            return
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bind(node.name)
            return
        if isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
            return
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            self._bind(name)
            self._aliases.setdefault(name, []).append(node.value)
            self._collect(node.value)
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            self._bind(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self._bind(node.name)
        for child in ast.iter_child_nodes(node):
            self._collect(child)

    def lookup(self, name, seen=()):
        """Its dotted name; None: unknown, or bound by something else than an import."""
        if name in self._names:
            dotted = self._names[name]
            values = self._aliases.get(name, ())
            if dotted is None and len(values) == 1 and (self, name) not in seen:
                return self.resolve(values[0], (*seen, (self, name)))
            return dotted
        outer = self.parent
        while outer is not None and outer.is_class:  # functions do not see the names of their class
            outer = outer.parent
        return outer.lookup(name, seen) if outer is not None else None

    def resolve(self, node, seen=()):
        """The dotted name of `a.b.c`, or None."""
        if isinstance(node, ast.Name):
            return self.lookup(node.id, seen)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value, seen)
            return f"{base}.{node.attr}" if base else None
        return None


def opens_scope(node):
    return isinstance(node, (*_SCOPES, *_COMPREHENSIONS))

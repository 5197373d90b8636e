"""Which statements run on CUDA alone: the body of `if x.device.type == "cuda":`, what follows
`if not torch.cuda.is_available(): return`, a test that is skipped without CUDA.
"""
import ast

from contexts import DEVICE, called, literal

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def _names_cuda(node):
    nodes = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return any(DEVICE.match(literal(one) or "") for one in nodes)


def asks(test, resolve, wanted=True):
    """Whether `test` holds on CUDA alone (wanted), or everywhere but on CUDA (not wanted)."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return asks(test.operand, resolve, not wanted)
    if isinstance(test, ast.BoolOp):
        # All of `a and b` hold in the body; after `if a or b: return` none of them does.
        return isinstance(test.op, ast.And if wanted else ast.Or) and any(asks(value, resolve, wanted) for value in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        operators = (ast.Eq, ast.In, ast.Is) if wanted else (ast.NotEq, ast.NotIn, ast.IsNot)
        return isinstance(test.ops[0], operators) and (_names_cuda(test.left) or _names_cuda(test.comparators[0]))
    if not wanted:
        return False
    if isinstance(test, ast.Attribute):
        return test.attr == "is_cuda"
    if isinstance(test, ast.Call):
        if called(test) == "startswith" and test.args:
            return (literal(test.args[0]) or "").startswith("cuda")
        return called(test) in ("is_available", "is_cuda") and "cuda" in (resolve(test.func) or "cuda" * (called(test) == "is_cuda"))
    return False


def leaves_without_cuda(statement, resolve):
    return isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVES) and asks(statement.test, resolve, wanted=False)


def skipped_without_cuda(decorator, resolve):
    """skipUnless(torch.cuda.is_available(), …), skipif(not torch.cuda.is_available(), …)."""
    if not isinstance(decorator, ast.Call) or not decorator.args:
        return False
    name = called(decorator).lower()
    if name == "skipunless":
        return asks(decorator.args[0], resolve)
    return name == "skipif" and asks(decorator.args[0], resolve, wanted=False)

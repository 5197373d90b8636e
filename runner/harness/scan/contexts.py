"""The use of a string literal that names CUDA: a device that torch takes, a default, a comparison.
Text for people (documentation, messages, names of keys) is no use of CUDA.
"""
import ast
import re

DEVICE = re.compile(r"cuda(:\d+)?\Z")
COMPUTED = re.compile(r"cuda:?(%d|%s|%i|\{\w*\})\Z|cuda:\Z")
NCCL = re.compile(r"(.*[,:])?nccl\Z")
VARIABLE = re.compile(r"(CUDA|CUBLAS|CUDNN|NCCL|TORCH_NCCL|TORCH_CUDA|PYTORCH_CUDA|PYTORCH_NVML)_[A-Z0-9_]+\Z|CUDACXX\Z|CUDAHOSTCXX\Z|PYTORCH_NO_CUDA_MEMORY_CACHING\Z")
SOURCE = re.compile(r"\S+\.cuh?\Z")
GRAPHS = "cudagraphs"  # a backend of torch.compile
KERNEL = "CUDA"        # a dispatch key, for which torch.library takes a kernel
SYMBOL = re.compile(r"torch\.(cuda|backends\.cudnn)(\.\w+)+\Z")

# Functions whose strings are text or the names of attributes.
TEXT_CALLS = {
    "getattr", "hasattr", "setattr", "delattr", "print", "warn", "debug", "info", "warning", "error", "exception", "critical",
    "log", "skip", "skipIf", "skipUnless", "skipTest", "fail", "xfail", "split", "rsplit", "replace", "join", "find", "index", "count",
    "pop", "add_parser", "TypeVar", "write", "import_module", "literal_eval", "strip", "removeprefix", "removesuffix",
    "assertRaisesRegex", "range_push", "mark", "annotate", "record_function", "section", "option", "group", "format", "compile", "match", "search", "sub", "findall",
}
TEXT_KEYWORDS = {"help", "description", "name", "title", "label", "msg", "message", "reason", "match", "metavar", "doc", "prefix", "suffix"}
COMPARING = {"startswith", "endswith", "get", "__eq__"}
# Their argument is a device, and any torch.device does.
TAKES_DEVICE = {"torch.device", "torch.Generator", "torch.set_default_device"}
METHODS = {"to", "new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"}
AUTOCAST = ("autocast", "is_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype", "set_autocast_enabled", "custom_fwd", "custom_bwd")
OTHER_DEVICES = {"cpu", "mps", "xpu", "npu", "hpu", "hip", "tpu", "rocm"}

_CASE = getattr(ast, "MatchValue", ())  # from Python 3.10 on


def literal(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def f_string(node):
    """The text of f"cuda:{rank}" and f"cuda{index}", with * for what is computed; else None."""
    if not isinstance(node, ast.JoinedStr):
        return None
    text = "".join(literal(part) if literal(part) is not None else "*" for part in node.values)
    return text if re.match(r"cuda:?\*\Z", text) else None


def computed(node, parents):
    """The whole of "cuda:" + str(i), "cuda:%d" % i and "cuda:{}".format(i), of which `node` is the literal; else None."""
    outer = parents.get(node)
    if isinstance(outer, ast.BinOp) and outer.left is node and isinstance(outer.op, (ast.Add, ast.Mod)):
        return outer
    call = parents.get(outer)
    return call if isinstance(outer, ast.Attribute) and outer.attr == "format" and isinstance(call, ast.Call) else None


def called(call):
    """The last name of what is called; "": it is no call, or has none."""
    function = getattr(call, "func", None)
    return getattr(function, "attr", getattr(function, "id", ""))


def words_around(call):
    return " ".join(filter(None, map(literal, call.args))).lower()


def _in_call(call, argument, position, parents, resolve):
    """The use of a call's device argument: "" if the string is text."""
    name, dotted = called(call), resolve(call.func) or ""
    if argument in TEXT_KEYWORDS:
        return ""
    if name in COMPARING and not argument and not (name == "get" and position == 1):
        return "compared"
    if name.startswith("assert") and name not in TEXT_CALLS:
        return "asserted"
    if argument == "map_location" or (dotted == "torch.load" and position == 1):
        return "map_location"
    if dotted.startswith("torch.") and name in AUTOCAST:
        return "autocast"
    if name == "GradScaler" and dotted.startswith("torch."):
        return "scaler"
    if name in TEXT_CALLS and argument is None:
        return ""
    if dotted == "torch.device" and isinstance(parents.get(call), ast.Compare):
        return "asserted"
    if dotted in TAKES_DEVICE and len(call.args) + len(call.keywords) == 1:
        return "consumed"
    if name in METHODS and isinstance(call.func, ast.Attribute) and not dotted and (argument == "device" or (name == "to" and position == 0)):
        return "consumed"
    if argument == "device" and re.match(r"torch\.(nn\.)?\w+\Z", dotted):
        return "consumed"
    return "device"


def use_of(node, parents, resolve):
    """consumed (torch takes it as a device), device, compared, asserted, map_location, autocast, scaler; "": text."""
    while True:
        child, node = node, parents.get(node)
        if isinstance(node, (ast.IfExp, ast.BoolOp, ast.Tuple, ast.List, ast.Set, ast.Starred, ast.NamedExpr, ast.Await)):
            continue
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)) and node.elt is child:
            continue
        if isinstance(node, ast.keyword):
            return _in_call(parents[node], node.arg, None, parents, resolve)
        if isinstance(node, ast.Call):
            if isinstance(parents.get(node), ast.Raise):
                return ""
            if child in node.args and isinstance(child, ast.Constant) and node in getattr(parents.get(node), "decorator_list", ()):
                return "compared"  # what is decorated is registered for CUDA
            return _in_call(node, None, node.args.index(child) if child in node.args else None, parents, resolve)
        if isinstance(node, ast.Compare):
            return "asserted" if isinstance(parents.get(node), ast.Assert) else "compared"
        if isinstance(node, _CASE):
            return "compared"
        if isinstance(node, ast.Dict):
            if child in node.values:
                return "device"
            return "compared" if OTHER_DEVICES & set(filter(None, map(literal, filter(None, node.keys)))) else ""
        if isinstance(node, ast.Assign):
            return "" if any(getattr(target, "id", "") == "__all__" for target in node.targets) else "device"
        if isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.Return, ast.Yield, ast.arguments, ast.For, ast.comprehension)):
            return "" if getattr(node, "annotation", None) is child else "device"
        return ""


def is_text(node, parents):
    """Whether a string stands alone, as documentation does."""
    return isinstance(parents.get(node), ast.Expr)

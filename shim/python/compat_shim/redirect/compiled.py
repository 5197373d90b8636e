"""The masquerade (masquerade.py) under torch.compile, which runs code of its own making, with the
devices of tensors in it that the program did not name. The program's code is traced and does not
run, so the compiler must be asked what that code names and asks for."""

import os

from .. import appending, importing


def apply(library, redirection, accelerator, inside):
    """`inside` tells whether a file's code is torch's or ours."""

    def traces_user(tx):
        """Whether the program's own code is traced, while the masquerade is on."""
        return not redirection.is_host_named() and not inside[tx.f_code.co_filename]

    def asked_by_user(variable, tx):
        """Whether that code asks a tensor of the accelerator."""
        found = variable.device
        return found and found.type == accelerator and traces_user(tx)

    def note_arguments(tx, arguments):
        if traces_user(tx) and any(_names(each, accelerator) for each in arguments):
            redirection.note_host_named()

    def skip(folder):
        library.add_internal_prefix(folder)
        inside.add(folder)

    def traced_tensors(module):
        _answer(module, asked_by_user)
        _watch_methods(module.TensorVariable, note_arguments)

    def traced_functions(module):
        _watch_functions(module.TorchInGraphFunctionVariable, note_arguments)

    def bytecode(module):
        module.register_bytecode_hook(lambda _, made: library.note_compiled(made))

    importing.after("torch._dynamo.variables.tensor", traced_tensors)
    importing.after("torch._dynamo.variables.torch", traced_functions)
    importing.after("torch._dynamo.convert_frame", bytecode)
    importing.after("torch._inductor.codecache", lambda module: _skip_files(module, inside, skip))


def _skip_files(module, inside, skip):
    """Inductor's code, which it loads from the files of its cache."""
    cache = module.PyCodeCache
    load = cache.load_by_key_path

    def load_by_key_path(key, path, *args, **kwargs):
        if not inside[path]:
            skip(os.path.join(os.path.dirname(path), ""))
        return load(key, path, *args, **kwargs)

    cache.load_by_key_path = staticmethod(load_by_key_path)


def _names(variable, accelerator):
    """Whether an argument is the accelerator's name. A device with an index is a tensor's."""
    if not variable.is_python_constant():
        return False
    value = variable.as_python_constant()
    if isinstance(value, str):
        return value.partition(":")[0] == accelerator
    return getattr(value, "type", None) == accelerator and value.index is None


def _watch_functions(traced, note):
    call = traced.call_function

    def call_function(self, tx, args, kwargs):
        note(tx, [*args, *kwargs.values()])
        return call(self, tx, args, kwargs)

    traced.call_function = call_function


def _watch_methods(traced, note):
    call = traced.call_method

    def call_method(self, tx, name, args, kwargs):
        note(tx, [*args, *kwargs.values()])
        return call(self, tx, name, args, kwargs)

    traced.call_method = call_method


def _answer(module, asked_by_user):
    """The compiler answers for the tensors that it traces. is_cuda is a bool, as outside. A device
    may become that of a new tensor, which the graph must make on the real one, so it stays; the first
    question for it prints a warning."""
    traced = module.TensorVariable
    ask_device, ask_is_cuda = traced.method_attr_device, traced.method_attr_is_cuda
    warned = []

    def method_attr_device(self, tx):
        if not warned and asked_by_user(self, tx):
            warned.append(True)
            appending.say(
                f"compat_shim: {tx.f_code.co_filename}:{tx.lineno}: compiled code sees "
                f"{self.device}, not cuda:0: what compares a tensor's device with \"cuda\" there "
                "takes the other branch; use is_cuda, or compare outside torch.compile\n"
            )
        return ask_device(self, tx)

    def method_attr_is_cuda(self, tx):
        if asked_by_user(self, tx):
            return module.VariableTracker.build(tx, True)
        return ask_is_cuda(self, tx)

    traced.method_attr_device = method_attr_device
    traced.method_attr_is_cuda = method_attr_is_cuda

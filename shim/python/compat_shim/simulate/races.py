"""PyTorch's race check of CUDA streams (torch.cuda._sanitizer) on simulated devices. Its reports come
into the record, and the two lines of each into the error's text. It also finds memory that is used
again too early: PyTorch's own check forgets a tensor's accesses when the tensor is freed.
"""

import dataclasses
import functools
from typing import NamedTuple, Optional

from .. import importing, patching, record

_MODULE = "torch.cuda._sanitizer"
_REUSED = "; its tensor was freed without record_stream, and this is its memory"


class Access(NamedTuple):
    file: Optional[str]  # None: no line of the program, as in a backward pass
    line: int
    op: str  # "aten::add_.Tensor"
    does: str  # "writes self"
    stream: int
    remark: str

    @property
    def place(self):
        return f"{self.file}:{self.line}" if self.file else "(no line of the program)"


def follow(simulator, internal_prefixes):
    """`internal_prefixes`: of files whose lines are never the user's."""
    reported = set()  # numbers of accesses

    def act(module):
        patching.patch(f"{_MODULE}.CUDASanitizerErrors", "__init__", recording)
        patching.patch(f"{_MODULE}.CUDASanitizerErrors", "__str__", naming)
        checking = functools.partial(_with_cuda, module.torch)
        patching.patch(f"{_MODULE}.CUDASanitizerDispatchMode", "__torch_dispatch__", checking)
        # A version that sees memory used again needs no help.
        if not any("Reuse" in name for name in vars(module)):
            _Reuse(simulator, reported).follow()

    def accesses(error):
        """The later access and the earlier one; None for an error of another form."""
        pair = (getattr(error, "current_access", None), getattr(error, "previous_access", None))
        if None in pair:
            return None
        reported.update(each.seq_num for each in pair)
        return [_access(each, tuple(internal_prefixes)) for each in pair]

    def recording(create):
        def __init__(self, errors):
            create(self, errors)
            for now, before in filter(None, map(accesses, errors)):
                record.note_at(record.RACE, now.op, now.file, now.line, _message(now, before))

        return __init__

    def naming(describe):
        def __str__(self):
            lines = [describe(self)]
            for now, before in filter(None, map(accesses, self.errors)):
                lines.append(f"  {now.place}: {now.op} {now.does} on stream {now.stream}")
                lines.append(
                    f"  {before.place}: {before.op} {before.does} on stream {before.stream}, for which "
                    f"stream {now.stream} did not wait{before.remark}"
                )
            return "\n".join(lines)

        return __str__

    importing.after(_MODULE, act)


def _with_cuda(torch, dispatch):
    """PyTorch's check asks for the stream of each op, also of the host's. So it initialises CUDA before
    a process is forked, and fails in a fork, which has none, as in the workers of a DataLoader."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if torch.cuda.is_initialized() or getattr(kwargs.get("device"), "type", None) == "cuda":
            return dispatch(self, func, types, args, kwargs)
        return func(*args, **kwargs)

    return __torch_dispatch__


def _message(now, before):
    return (
        f"{now.does} on stream {now.stream}, which did not wait for stream {before.stream}: "
        f"{before.op} {before.does} at {before.place}{before.remark}"
    )


def _access(access, internal_prefixes):
    file, line = None, 0
    for frame in access.stack_trace:  # the innermost is the last
        if not frame.filename.startswith(internal_prefixes):
            file, line = frame.filename, frame.lineno
    does = "writes " if access.type.name == "WRITE" else "reads "
    does += ", ".join(access.aliases) or "its output"
    schema = str(access.operator)  # "aten::add_.Tensor(Tensor(a!) self, …) -> Tensor(a!)"
    remark = _REUSED if schema.endswith(_REUSED) else ""
    return Access(file, line, schema[: schema.find("(")], does, access.stream, remark)


class _Reuse:
    """Keeps the accesses to freed memory until it is used again. A stream that writes there then has
    to wait for them, but not for streams that Tensor.record_stream named: CUDA's allocator waits for
    these. Accesses of a reported race count no more: the next test is not to fail by them. Views are
    forgotten with their tensor."""

    def __init__(self, simulator, reported):
        self._block_at = simulator.traced_block
        self._reported = reported
        self._views = {}  # by the begin of their block: addresses
        self._pending = {}  # by the begin of a freed block: accesses

    def follow(self):
        patching.patch(f"{_MODULE}._TensorsAccessed", "create_tensor", self._creating)
        patching.patch(f"{_MODULE}._TensorsAccessed", "delete_tensor", self._deleting)

    def _creating(self, create):
        def create_tensor(tensors, data_ptr, stack_trace):
            create(tensors, data_ptr, stack_trace)
            begin, is_recycled, _ = self._block_at(data_ptr) or (None, False, ())
            if begin == data_ptr:
                pending = self._pending.pop(begin, [])
                if is_recycled:
                    tensors.accesses[data_ptr].reads += pending
            elif begin is not None:
                self._views.setdefault(begin, set()).add(data_ptr)

        return create_tensor

    def _deleting(self, delete):
        def delete_tensor(tensors, data_ptr):
            begin, _, recorded = self._block_at(data_ptr) or (None, False, ())
            if begin == data_ptr:
                views = [
                    tensors.accesses.pop(view)
                    for view in self._views.pop(begin, ())
                    if view in tensors.accesses
                ]
                last = _last([tensors.accesses[data_ptr], *views], recorded)
                self._pending[begin] = [each for each in last if each.seq_num not in self._reported]
            delete(tensors, data_ptr)

        return delete_tensor


def _last(tensors, recorded):
    """The last access by each stream that is not `recorded`."""
    by_stream = {}
    for tensor in tensors:
        for access in [*tensor.reads, *filter(None, [tensor.write])]:
            last = by_stream.setdefault(access.stream, access)
            if last.seq_num < access.seq_num:
                by_stream[access.stream] = access
    return [
        dataclasses.replace(each, operator=str(each.operator).removesuffix(_REUSED) + _REUSED)
        for each in by_stream.values()
        if each.stream not in recorded
    ]

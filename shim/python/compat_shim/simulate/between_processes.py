"""CUDA tensors in other processes, as torch.multiprocessing sends them. On Linux both processes have
the same memory, as by CUDA's IPC handles; elsewhere the receiver gets a copy."""

EVENT_HANDLE = b""  # work has ended when its call returns: a receiver waits for none


def apply(torch, simulator):
    if hasattr(simulator, "share_storage"):
        _share(torch, simulator)
    else:
        _copy(torch)


def _share(torch, simulator):
    """The C++ side that torch.multiprocessing.reductions calls in a build with CUDA."""

    def _share_cuda_(self):
        if self.device.type != "cuda":
            raise RuntimeError("_share_cuda_: only available on CUDA")
        whole = torch.empty(0, dtype=torch.uint8, device=self.device).set_(self)
        memory = simulator.share_storage(whole)
        handle, offset, counter = (None, 0, 0) if memory is None else memory
        return self.device.index, handle, self.nbytes(), offset, handle, counter, EVENT_HANDLE, False

    def _new_shared_cuda(
        device, handle, size, offset, counter_handle, counter, event_handle, event_sync_required
    ):
        return simulator.open_storage(device, handle, size, offset, counter).untyped_storage()

    storage = torch.UntypedStorage
    storage._share_cuda_ = _share_cuda_
    storage._new_shared_cuda = staticmethod(_new_shared_cuda)
    storage._release_ipc_counter_cuda = staticmethod(simulator.release_holder)


def _copy(torch):
    from multiprocessing.reduction import ForkingPickler

    reduce = torch.multiprocessing.reductions.reduce_tensor

    def reduce_tensor(tensor):
        if not tensor.is_cuda or tensor.requires_grad and not tensor.is_leaf:
            return reduce(tensor)  # which refuses the latter
        return _received, (type(tensor), str(tensor.device), tensor.requires_grad, tensor.detach().cpu())

    for type_, reducer in list(ForkingPickler._extra_reducers.items()):
        if reducer is reduce:
            ForkingPickler.register(type_, reduce_tensor)


def _received(type_, device, requires_grad, content):
    import torch

    content = content.to(device)
    if issubclass(type_, torch.nn.Parameter):
        return type_(content, requires_grad)
    return content.requires_grad_(requires_grad)

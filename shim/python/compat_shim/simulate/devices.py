"""The Python side of every simulated accelerator, and the end of such a process. The device itself
is in the library (simulate/accelerator.h)."""

import array
import atexit
import importlib

from .. import device_kinds, importing, patching, refusal

# Each is in the module of its name.
_KINDS = {
    word: importlib.import_module(f".{word}", __package__).Device for word in device_kinds.SIMULATED
}


def device(library, simulator, settings):
    """The simulated device that is asked for. Its `prepare(native, commit)` is called when torch._C
    is there and torch.cuda and torch.mps are not, its `finish(torch)` when torch is complete."""
    return _KINDS[settings.simulate](library, simulator, settings)


def finish(torch, simulator):
    """The steps for every device, when torch is complete."""
    _storages(torch, simulator.simulated())
    importing.after("torch._inductor.graph", lambda module: _refuse_lowering(module, simulator))
    # Registered first, so that it runs last, after the program's own exit handlers.
    atexit.register(_wait_for_autograd, torch, simulator)


def _wait_for_autograd(torch, simulator):
    with torch._C._DisableTorchDispatch():  # its ops are none of the program's, to no mode
        simulator.wait_for_autograd()


def _storages(torch, simulated):
    """torch.UntypedStorage(n, device="mps"), and with it torch.load, deepcopy and pickle: the type
    itself knows only devices that torch was built with."""

    def with_device(create):
        def __new__(cls, *args, device=None, **kwargs):
            if device is None or torch.device(device).type != simulated:
                return create(
                    cls, *args, **kwargs, **({} if device is None else {"device": device})
                )
            wanted = args[0] if args else kwargs.get("size", 0)
            if isinstance(wanted, int):
                return torch.empty(wanted, dtype=torch.uint8, device=device).untyped_storage()
            content = torch.frombuffer(array.array("B", wanted), dtype=torch.uint8)
            return content.to(device).untyped_storage()

        return __new__

    patching.patch("torch.UntypedStorage", "__new__", with_device)


def let_numpy_read(library, simulated):
    """Where a process keeps going: write down that NumPy cannot read the device's memory, and let it
    read a copy."""

    def of_a_copy(numpy):
        def to_numpy(self, *args, **kwargs):
            if self.device.type != simulated:
                return numpy(self, *args, **kwargs)
            try:
                return numpy(self, *args, **kwargs)
            except TypeError as error:
                library.note("refusal", "torch.Tensor.numpy", f"TypeError: {error}")
                return numpy(self.cpu(), *args, **kwargs)

        return to_numpy

    patching.patch("torch.Tensor", "numpy", of_a_copy)


def _refuse_lowering(module, simulator):
    """Refuses torch.compile with Inductor at the first tensor of the device."""
    simulated = simulator.simulated()

    def refusing(add):
        def add_device_info(self, device):
            if device.type == simulated:
                refusal.not_simulated(
                    module.__package__,
                    f"Inductor writes kernels for {simulated}, which a simulated device cannot run",
                    'torch.compile has the backends "eager" and "aot_eager"',
                )
            add(self, device)

        return add_device_info

    patching.patch(f"{module.__name__}.GraphLowering", "add_device_info", refusing)

"""autocast("cuda") or autocast("mps") keeps its state and also turns on the autocast of the device
that the tensors are on. torch itself answers whether CUDA's autocast is on. redirect/autocast.h
handles ops that only an accelerator's list has."""

from .. import device_kinds
from ..patching import patch

_REQUESTS = ("cuda", "mps")


def apply(torch, redirection):
    if not device_kinds.of(redirection.host()).is_accelerator:
        redirection.register_autocast()
    _contexts(torch, redirection)
    _custom_functions(redirection)


def _contexts(torch, redirection):
    scripting = torch._jit_internal.is_scripting
    host_dtypes = (torch.bfloat16, torch.float16)

    def where(context):
        """The type of device that its tensors are on; none if it is the context's own."""
        if context.device not in _REQUESTS or scripting():
            return None
        found = torch.device(redirection.redirect("torch.autocast", context.device)).type
        return found if found != context.device else None

    def entering(enter):
        def __enter__(self):
            # Disabled inside disabled is not about this device: the host's own autocast may be on.
            self._host_before = None
            host = where(self)
            if host:
                on = self._enabled and self.fast_dtype in host_dtypes
                if on and host != "cpu":  # a backend may have none, which raises, or not this dtype
                    on = torch.autocast(host, self.fast_dtype)._enabled
                if on or torch.is_autocast_enabled(self.device):
                    self._host_before = (
                        host,
                        torch.is_autocast_enabled(host),
                        torch.get_autocast_dtype(host),
                    )
                    torch.set_autocast_enabled(host, on)
                if on:
                    torch.set_autocast_dtype(host, self.fast_dtype)
            return enter(self)

        return __enter__

    def leaving(leave):
        def __exit__(self, exc_type, exc_val, exc_tb):
            result = leave(self, exc_type, exc_val, exc_tb)
            if getattr(self, "_host_before", None):  # entered before activation, it has none
                host, enabled, dtype = self._host_before
                torch.set_autocast_enabled(host, enabled)
                torch.set_autocast_dtype(host, dtype)
            return result

        return __exit__

    patch("torch.amp.autocast_mode.autocast", "__enter__", entering)
    patch("torch.amp.autocast_mode.autocast", "__exit__", leaving)


def _custom_functions(redirection):
    """custom_fwd(device_type="cuda", cast_inputs=…) casts the tensors whose device is "cuda"."""

    def of_the_host(cast):
        def _cast(value, device_type, dtype):
            return cast(value, redirection.host() if device_type in _REQUESTS else device_type, dtype)

        return _cast

    patch("torch.amp.autocast_mode", "_cast", of_the_host)

"""autocast("cuda") keeps its state and also turns on the host's autocast, because tensors are
there. torch itself answers whether CUDA's autocast is on. redirect/autocast.h handles ops that only
CUDA's list has."""

from ..patching import patch


def apply(torch, redirection):
    redirection.register_autocast()
    _contexts(torch, redirection)
    _custom_functions(redirection)


def _contexts(torch, redirection):
    scripting = torch._jit_internal.is_scripting
    host_dtypes = (torch.bfloat16, torch.float16)

    def entering(enter):
        def __enter__(self):
            if self.device == "cuda" and not scripting():
                host = torch.device(redirection.redirect("torch.autocast", "cuda")).type
                on = self._enabled and self.fast_dtype in host_dtypes
                # Disabled inside disabled is not about CUDA: the CPU's own autocast may be on.
                self._host_before = None
                if on or torch.is_autocast_enabled("cuda"):
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
            if self.device == "cuda" and not scripting() and self._host_before:
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
            return cast(value, redirection.host() if device_type == "cuda" else device_type, dtype)

        return _cast

    patch("torch.amp.autocast_mode", "_cast", of_the_host)

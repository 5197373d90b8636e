// Counts, on a host with MPS, the calls of ops that MPS lacks and the CPU does in its place
// (PYTORCH_ENABLE_MPS_FALLBACK=1). torch itself warns of the first such call alone.
//
// Not counted: ops whose MPS kernel is itself a fallback (linalg_svd in torch 2.13), and ops that
// are registered later.
#pragma once

namespace compat::shim {

// Once, with the GIL held. Does nothing on other hosts, and if the fallback is off.
void count_fallbacks();

}  // namespace compat::shim

// Which fused attention kernel CUDA chooses, and why it rejects others. torch.backends.cuda and
// `scaled_dot_product_attention` use it.
#pragma once

#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace compat::shim::simulate {

// Whether the kernel accepts the call. With `debug`, a warning has torch's reason if not.
[[nodiscard]] bool can_use_attention(sdp::SDPBackend kernel, const sdp::sdp_params& call,
                                     bool debug);
// If none can be used, warns for all kernels and throws upstream's error.
[[nodiscard]] sdp::SDPBackend chosen_attention(const sdp::sdp_params& call);

}  // namespace compat::shim::simulate

// Which fused kernel of attention CUDA takes, and why not another. torch.backends.cuda asks the
// same questions, and `scaled_dot_product_attention` acts on the answers.
#pragma once

#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace compat::shim::simulate {

// Whether a kernel takes such a call. With `debug`, torch's warning says what it does not take.
[[nodiscard]] bool can_use_attention(sdp::SDPBackend kernel, const sdp::sdp_params& call,
                                     bool debug);
// Throws upstream's error, after the warnings for all kernels, if none can be used.
[[nodiscard]] sdp::SDPBackend chosen_attention(const sdp::sdp_params& call);

}  // namespace compat::shim::simulate

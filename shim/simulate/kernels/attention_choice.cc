// The checks and texts of ATen/native/transformers/cuda/sdp_utils.cpp. Checks that a CPU build has
// (sdp_utils_cpp.h) are torch's own functions.
#include "simulate/kernels/attention_choice.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "runtime/torch_version.h"
#include "simulate/accelerator.h"
#include "simulate/kernels/capability.h"

namespace compat::shim::simulate {
namespace {

using Attention = sdp::sdp_params;
using AttentionCheck = bool (*)(const Attention& call, bool debug);
using sdp::SDPBackend;

constexpr std::int64_t kWidestFlash = 256, kWidestCudnn = 128, kLargestGrid = 65535;

// Returns `met`. If it is false, warns with `debug`.
template <class... Words>
bool meets(bool met, bool debug, const Words&... words) {
    if (!met && debug) TORCH_WARN(words...);
    return met;
}

std::int64_t width_of(const at::Tensor& tensor) { return tensor.size(-1); }
bool in_half_precision(const Attention& call) {
    return at::isReducedFloatingType(call.query.scalar_type());
}
int sm_major() { return capability() / 10; }
int sm_minor() { return capability() % 10; }

bool query_on_device(const Attention& call, bool debug) {
    return meets(call.query.device().type() == accelerator().type(), debug,
                 "All tensors need to be on cuda device. Got query on ",
                 "device: ", call.query.device(), ", key on device: ", call.key.device(),
                 ", value on device: ", call.value.device());
}

bool half_dtypes(const Attention& call, bool debug) {
    if (sm_major() >= 8)
        return sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kBFloat16}, debug);
    return sdp::check_tensor_dtype(call, std::array{at::kHalf}, debug);
}

bool on_architecture(const char* kernel, const char* oldest, int least, bool debug) {
    return meets(capability() >= least && capability() <= 121, debug, kernel,
                 " only supports gpu architectures in the range [", oldest,
                 ", sm121]. Attempting to run on a sm ", sm_major(), ".", sm_minor(), " gpu.");
}

// Flash attention.

bool flash_enabled(const Attention& call, bool debug) {
    return sdp::check_runtime_disabled_flash(call, debug);
}

bool flash_width(const Attention& call, bool debug) {
    const std::int64_t own = width_of(call.query);
    return meets(
        own == width_of(call.key) && own == width_of(call.value) && own <= kWidestFlash, debug,
        "Flash attention requires q,k,v to have the same last dimension and to be less than "
        "or equal to 256. Got Query.size(-1): ",
        own, ", Key.size(-1): ", width_of(call.key), ", Value.size(-1): ", width_of(call.value),
        " instead.");
}

bool flash_hardware(const Attention&, bool debug) {
    return on_architecture("Flash attention", "sm80", 80, debug);
}

bool flash_trains(const Attention& call, bool debug) {
    constexpr std::int64_t kWidest = 192, kWidestWithDropout = 224;
    const bool small = (capability() >= 86 && capability() <= 89) || sm_major() == 12;
    if (!small || !sdp::input_requires_grad(call)) return true;
    const std::int64_t own = width_of(call.query);
    return meets(
        own <= kWidest || (call.dropout <= 0.0 && own > kWidestWithDropout), debug,
        "Flash attention currently doesn't support training with head_dim ∈ (192, 224] or "
        "(head_dim ∈ (224, 256] and dropout > 0.0) on gpu architectures in the range[sm86, "
        "sm89].",
        "Attempting to run with dropout set to: ", call.dropout, "and head_dim: ", own, " on a sm ",
        sm_major(), ".", sm_minor(), " gpu.");
}

// From torch 2.15 on.
bool flash_grid(const Attention& call, bool debug) {
    if (COMPAT_TORCH_BEFORE(2, 15)) return true;
    const std::int64_t batch = call.query.size(0), heads = call.query.size(1);
    return meets(batch <= kLargestGrid && heads <= kLargestGrid, debug,
                 "Flash attention does not support batch size or num_heads greater than ",
                 kLargestGrid, ". Got batch size: ", batch, ", num_heads: ", heads);
}

bool flash_causal(const Attention& call, bool debug) {
    if (!call.is_causal || call.query.is_nested() || call.key.is_nested()) return true;
    return meets(call.query.size(-2) == call.key.size(-2), debug,
                 "Flash attention does not support the is_causal flag when seqlen_q != seqlen_k. ",
                 "Got seqlen_q: ", call.query.size(-2), " seqlen_k: ", call.key.size(-2),
                 ". If you would like to use causal attention with non-square masks, please see "
                 "CausalAttnMask.");
}

bool flash_nested_width(const Attention& call, bool debug) {
    const std::int64_t own = width_of(call.query);
    return meets(own == width_of(call.key) && own == width_of(call.value) && own % 8 == 0 &&
                     own <= kWidestFlash,
                 debug,
                 "For NestedTensor inputs, Flash attention requires q,k,v to have the same last "
                 "dimension and to be a multiple of 8 and less than or equal to 256. Got "
                 "Query.size(-1): ",
                 own, ", Key.size(-1): ", width_of(call.key),
                 ", Value.size(-1): ", width_of(call.value), " instead.");
}

// Memory-efficient attention.

std::int64_t gemm_alignment(const Attention& call) {
    constexpr std::int64_t kBits = 128;
    const std::int64_t least = sm_major() >= 8 ? 4 : 1;
    const bool tensor_cores = sm_major() >= 8 || (sm_major() == 7 && in_half_precision(call));
    return tensor_cores ? std::max(least, kBits / (in_half_precision(call) ? 16 : 32)) : least;
}

bool efficient_enabled(const Attention& call, bool debug) {
    return sdp::check_runtime_disabled_mem_efficient(call, debug);
}

bool efficient_hardware(const Attention&, bool debug) {
    return on_architecture("Mem Efficient Attention", "sm50", 50, debug);
}

bool efficient_width(const Attention& call, bool debug) {
    const std::int64_t each = gemm_alignment(call), own = width_of(call.query),
                       other = width_of(call.value);
    return meets(
        own == width_of(call.key) && own % each == 0 && own > 0 && other % each == 0 && other > 0,
        debug, "Mem efficient attention requires last dimension of inputs to be divisible by ",
        each, ". Got Query.size(-1): ", own, ", Key.size(-1): ", width_of(call.key),
        ", Value.size(-1): ", other, " instead.");
}

bool efficient_aligned(const Attention& call, bool debug) {
    if (!sdp::has_only_dense_inputs(call) || sm_major() < 8) return true;
    const std::int64_t bytes =
        gemm_alignment(call) * static_cast<std::int64_t>(call.query.element_size());
    const auto beyond = [&](const at::Tensor& tensor) {
        const auto size = static_cast<std::int64_t>(tensor.element_size());
        return tensor.storage_offset() * size % bytes;
    };
    const auto fits = [&](const at::Tensor& tensor) {
        return tensor.numel() == 0 || beyond(tensor) == 0;
    };
    return meets(
        fits(call.query) && fits(call.key) && fits(call.value), debug,
        "Mem efficient attention on sm80 or newer requires q, k, and v storage offsets * "
        "element_size to be aligned to ",
        bytes,
        " bytes. Got query.storage_offset() * element_size % alignment_bytes: ", beyond(call.query),
        ", key.storage_offset() * element_size % alignment_bytes: ", beyond(call.key),
        ", value.storage_offset() * element_size % alignment_bytes: ", beyond(call.value), ".");
}

bool efficient_dtypes(const Attention& call, bool debug) {
    if (sm_major() >= 8)
        return sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kFloat, at::kBFloat16},
                                       debug);
    return sdp::check_tensor_dtype(call, std::array{at::kHalf, at::kFloat}, debug);
}

// cuDNN's attention, in the version that torch.backends.cudnn reports.

bool cudnn_enabled(const Attention&, bool debug) {
    return meets(at::globalContext().userEnabledCuDNNSDP(), debug,
                 "cuDNN attention has been runtime disabled.");
}

bool cudnn_not_nested(const Attention& call, bool debug) {
    return meets(!sdp::has_for_nested_inputs(call), debug,
                 "Experimental cuDNN SDPA nested tensor support is not enabled.");
}

bool cudnn_deterministic(const Attention&, bool debug) {
    const auto& context = at::globalContext();
    return meets(!context.deterministicAlgorithms() || context.deterministicAlgorithmsWarnOnly(),
                 debug, "cuDNN SDPA is not deterministic.");
}

bool cudnn_hardware(const Attention&, bool debug) {
    return on_architecture("cuDNN MHA", "sm80", 80, debug);
}

bool cudnn_dropout(const Attention& call, bool debug) {
    constexpr double kSteps = 16.0;
    return meets(
        call.dropout * kSteps == std::floor(call.dropout * kSteps), debug,
        "cuDNN dropout probability resolution is limited to 1/16."
        "Use a dropout probability that is a multiple of 1/16 to select the cuDNN backend");
}

bool cudnn_sizes(const Attention& call, bool debug) {
    const std::int64_t batch = call.query.size(0), heads = call.query.size(1);
    const std::int64_t own = width_of(call.query), other = width_of(call.value);
    return meets(batch <= kLargestGrid && heads <= kLargestGrid, debug,
                 "cuDNN SDPA does not support batch size or num_heads greater than ", kLargestGrid,
                 ". Got batch size: ", batch, ", num_heads: ", heads) &&
           meets(own <= kWidestCudnn && other <= kWidestCudnn, debug,
                 "head_dim should be no more than ", kWidestCudnn) &&
           meets(own % 8 == 0 && other % 8 == 0, debug, "head_dim should be a multiple of 8") &&
           meets(call.key.size(2) != 1, debug,
                 "cudnn SDPA does not support key/value sequence length 1.") &&
           meets(call.dropout == 0.0 || call.query.size(2) != 1, debug,
                 "cudnn SDPA does not support query sequence length 1 with dropout.");
}

// From 2.14 on one head of keys may serve all, and memory-efficient attention takes groups.
#if COMPAT_TORCH_BEFORE(2, 14)
constexpr AttentionCheck kFlashHeads = sdp::check_batch_size_and_num_heads_dense<true>,
                         kEfficientHeads = sdp::check_batch_size_and_num_heads_dense<false>,
                         kCudnnHeads = sdp::check_batch_size_and_num_heads_dense<true, false>;
#else
constexpr AttentionCheck kFlashHeads = sdp::check_batch_size_and_num_heads_dense<true, true, true>,
                         kEfficientHeads = kFlashHeads,
                         kCudnnHeads = sdp::check_batch_size_and_num_heads_dense<true, false, true>;
#endif

// The checks in torch's order: the first that fails gives the warning.
constexpr AttentionCheck kFlash[]{flash_enabled,
                                  query_on_device,
                                  sdp::check_tensor_shapes,
                                  sdp::check_for_attn_mask,
                                  flash_width,
                                  flash_hardware,
                                  flash_trains,
                                  flash_causal,
                                  half_dtypes};
constexpr AttentionCheck kFlashNested[]{sdp::check_batch_size_nested, flash_nested_width,
                                        sdp::check_for_seq_len_0_nested_tensor};
constexpr AttentionCheck kFlashDense[]{kFlashHeads, sdp::check_nonzero_sequence_lengths_dense,
                                       sdp::check_last_dim_stride_equals_1_dense<true>, flash_grid};
constexpr AttentionCheck kEfficient[]{efficient_enabled,        query_on_device, efficient_hardware,
                                      sdp::check_tensor_shapes, efficient_width, efficient_aligned};
constexpr AttentionCheck kEfficientNested[]{sdp::check_requires_grad_and_nested,
                                            sdp::check_batch_size_nested,
                                            sdp::check_for_seq_len_0_nested_tensor};
constexpr AttentionCheck kEfficientDense[]{sdp::check_nonzero_sequence_lengths_dense,
                                           sdp::check_last_dim_stride_equals_1_dense<false>,
                                           kEfficientHeads};
constexpr AttentionCheck kEfficientLast[]{efficient_dtypes};
constexpr AttentionCheck kCudnn[]{cudnn_enabled,
                                  cudnn_not_nested,
                                  query_on_device,
                                  sdp::check_tensor_shapes,
                                  cudnn_deterministic,
                                  half_dtypes,
                                  sdp::check_attn_mask_shape,
                                  cudnn_hardware,
                                  cudnn_dropout};
constexpr AttentionCheck kCudnnDense[]{sdp::check_nonzero_sequence_lengths_dense,
                                       sdp::check_last_dim_stride_equals_1_dense<true>, kCudnnHeads,
                                       cudnn_sizes};

struct FusedKernel {
    SDPBackend backend;
    const char* title;  // in the warning before those of its checks
    std::span<const AttentionCheck> general, nested, dense, last;
};

// In the order of the warnings.
constexpr FusedKernel kFusedKernels[]{
    {SDPBackend::efficient_attention, "Memory efficient", kEfficient, kEfficientNested,
     kEfficientDense, kEfficientLast},
    {SDPBackend::flash_attention, "Flash attention", kFlash, kFlashNested, kFlashDense, {}},
    {SDPBackend::cudnn_attention, "cuDNN attention", kCudnn, {}, kCudnnDense, {}},
};

// Torch's jagged tensors are written in Python and have symbolic sizes. The formula computes them;
// the fused kernels for them are not simulated.
bool is_jagged(const at::Tensor& tensor) {
    return tensor.is_nested() && tensor.key_set().has(c10::DispatchKey::Python);
}

}  // namespace

bool can_use_attention(SDPBackend backend, const Attention& call, bool debug) {
    if (is_jagged(call.query) || is_jagged(call.key) || is_jagged(call.value)) return false;
    const auto kernel = std::ranges::find(kFusedKernels, backend, &FusedKernel::backend);
    if (kernel == std::end(kFusedKernels)) return false;
    const auto all = [&](std::span<const AttentionCheck> checks) {
        return std::ranges::all_of(checks,
                                   [&](AttentionCheck check) { return check(call, debug); });
    };
    return all(kernel->general) && (!sdp::has_for_nested_inputs(call) || all(kernel->nested)) &&
           (!sdp::has_only_dense_inputs(call) || all(kernel->dense)) && all(kernel->last);
}

SDPBackend chosen_attention(const Attention& call) {
    auto& context = at::globalContext();
    TORCH_CHECK(context.userEnabledMathSDP() || context.userEnabledFlashSDP() ||
                    context.userEnabledMemEfficientSDP() || context.userEnabledCuDNNSDP(),
                "No viable backend for scaled_dot_product_attention was found. ",
                "This is likely due to turning off both the math kernel and the fused kernels.");
    for (const SDPBackend backend : context.sDPPriorityOrder()) {
        TORCH_CHECK(backend != SDPBackend::overrideable || !context.userEnabledOverrideableSDP(),
                    "Invalid backend");
        if (backend == SDPBackend::math ? context.userEnabledMathSDP()
                                        : can_use_attention(backend, call, /*debug=*/false))
            return backend;
    }
    for (const FusedKernel& kernel : kFusedKernels) {
        TORCH_WARN(kernel.title, " kernel not used because:");
        (void)can_use_attention(kernel.backend, call, /*debug=*/true);
    }
    TORCH_CHECK(false, "No available kernel. Aborting execution.");
    return SDPBackend::error;
}

}  // namespace compat::shim::simulate

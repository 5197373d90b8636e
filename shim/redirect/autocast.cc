#include "redirect/autocast.h"

#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <string>
#include <utility>

namespace compat::shim {
namespace {

using at::autocast::CastPolicy;

constexpr auto kKey = c10::DispatchKey::AutocastCPU;

template <CastPolicy policy, class Op, class Cast, class Schema = typename Op::schema>
struct UnderAcceleratorAutocast;

// `Cast` is the function of `Op` that is called with the cast arguments; usually its own.
template <CastPolicy policy, class Op, class Cast, class Result, class... Args>
struct UnderAcceleratorAutocast<policy, Op, Cast, Result(Args...)> {
    using Wrapped =
        typename at::autocast::WrapFunction<policy, c10::DeviceType::CPU, Result(Args...),
                                            decltype(Cast::call), &Cast::call>::type;
    static Result call(c10::DispatchKeySet keys, Args... args) {
        if (at::autocast::is_autocast_enabled(c10::DeviceType::CUDA) ||
            at::autocast::is_autocast_enabled(c10::DeviceType::MPS))
            return Wrapped::call(std::forward<Args>(args)...);
        const auto below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
        return Op::redispatch(below, std::forward<Args>(args)...);
    }
};

// An op in the CPU's list keeps torch's kernel. Returns 1 if a kernel was registered.
template <CastPolicy policy, class Op, class Cast = Op>
int put(torch::Library& library) {
    const auto found = c10::Dispatcher::singleton().findOp({Op::name, Op::overload_name});
    if (!found || found->hasKernelForDispatchKey(kKey)) return 0;
    const std::string overload = Op::overload_name;
    const std::string name = overload.empty() ? Op::name : Op::name + ("." + overload);
    library.impl(name.c_str(), TORCH_FN((UnderAcceleratorAutocast<policy, Op, Cast>::call)));
    return 1;
}

int put_all(torch::Library& library) {
    int count = 0;
// torch's lists name an op by one word, or by two with its overload.
#define OP_1(op) at::_ops::op
#define OP_2(op, overload) at::_ops::op##_##overload
#define PICK(first, second, name, ...) name
#define PUT(policy, ...) \
    count += put<CastPolicy::policy, PICK(__VA_ARGS__, OP_2, OP_1)(__VA_ARGS__)>(library);
#define PUT_LOWER(...) PUT(lower_precision_fp, __VA_ARGS__)
#define PUT_FP32(...) PUT(fp32, __VA_ARGS__)
#define PUT_DTYPE(...) PUT(fp32_set_opt_dtype, __VA_ARGS__)
#define PUT_PROMOTE(...) PUT(promote, __VA_ARGS__)
    AT_FORALL_LOWER_PRECISION_FP(PUT_LOWER)
    AT_FORALL_FP32(PUT_FP32)
    AT_FORALL_FP32_SET_OPT_DTYPE(PUT_DTYPE)
    AT_FORALL_PROMOTE(PUT_PROMOTE)
    // Recurrent ops are in no list: CUDA casts inside the one kernel that they all call.
    PUT(lower_precision_fp, lstm, input)
    PUT(lower_precision_fp, lstm, data)
    PUT(lower_precision_fp, gru, input)
    PUT(lower_precision_fp, gru, data)
    PUT(lower_precision_fp, rnn_tanh, input)
    PUT(lower_precision_fp, rnn_tanh, data)
    PUT(lower_precision_fp, rnn_relu, input)
    PUT(lower_precision_fp, rnn_relu, data)
    // AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE, which names no op of the dispatcher.
    count +=
        put<CastPolicy::fp32_append_dtype, at::_ops::norm_Scalar, at::_ops::norm_ScalarOpt_dtype>(
            library);
    count += put<CastPolicy::fp32_append_dtype, at::_ops::norm_ScalarOpt_dim,
                 at::_ops::norm_ScalarOpt_dim_dtype>(library);
#ifdef COMPAT_TORCH_HAS_NAMED_NORM
    count += put<CastPolicy::fp32_append_dtype, at::_ops::norm_names_ScalarOpt_dim,
                 at::_ops::norm_names_ScalarOpt_dim_dtype>(library);
#endif
    return count;
}

}  // namespace

int register_autocast() {
    // Never destroyed: removing kernels at process exit would race with its last ops.
    static auto* library =
        new torch::Library(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
    static const int once = put_all(*library);
    return once;
}

}  // namespace compat::shim

// Recurrent networks as the devices compute them. On CUDA they are cuDNN's, which have gradients in
// training mode alone, and no second gradients.
//
// Runs an LSTM one layer at a time, by the CPU's kernel for a layer: cuDNN has a kernel for layers,
// and MPS one for the whole LSTM. Cell by cell, each time step would cost a dozen kernels. Only
// calls that the CPU's kernel cannot compute run cell by cell.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "simulate/accelerator.h"
#include "simulate/cpu_aliases.h"
#include "simulate/kernel.h"
#include "simulate/native_kernels.h"
#include "simulate/note.h"

namespace compat::shim::simulate {
namespace {

using at::Tensor;
using Result = std::tuple<Tensor, Tensor, Tensor>;

// Whether it is a plain tensor of the device: not fake, and not part of a transform.
bool is_itself(const Tensor& tensor) {
    constexpr c10::DispatchKeySet kAround(
        {c10::DispatchKey::Python, c10::DispatchKey::Functionalize,
         c10::DispatchKey::FuncTorchGradWrapper, c10::DispatchKey::FuncTorchBatched});
    return CpuAliases::is_ours(tensor) && !tensor.key_set().has_any(kAround);
}

bool is_plain(const Tensor& tensor) {
    return tensor.scalar_type() == at::kFloat && is_itself(tensor);
}

// Uses symbolic sizes: torch.export calls it too, and must not specialise on the sizes.
bool is_projected(at::TensorList hidden) { return hidden[0].sym_size(2) != hidden[1].sym_size(2); }

// Under autocast, cells compute in half precision, as cuDNN does. The kernel for a layer does not
// check sizes. So inputs that do not fit are left to the cells, which check them.
bool fits(const Tensor& input, at::TensorList hidden, at::TensorList params, int64_t states,
          bool batch_first) {
    if (!at::globalContext().userEnabledMkldnn() ||
        at::autocast::is_autocast_enabled(accelerator().type()))
        return false;
    if (!is_plain(input) || input.dim() != 3 || input.numel() == 0) return false;
    for (const auto list : {hidden, params})
        for (const Tensor& each : list)
            if (!is_plain(each)) return false;
    const int64_t size = params[1].size(-1);
    const int64_t shape[] = {states, input.size(batch_first ? 0 : 1), size};
    return hidden[0].sizes().equals(shape) && hidden[1].sizes().equals(shape);
}

// aten/src/ATen/native/mps/operations/RnnOps.mm
void refuse_projections(at::TensorList hidden) {
    if (!is_projected(hidden)) return;
    refuse("aten::_lstm_mps", [] {
        TORCH_CHECK(false, "LSTM with projections is not currently supported with MPS.");
    });
}

// `params`: for each layer and direction, weights of input and hidden state, and their biases.
Result by_layers(const Tensor& input, at::TensorList hidden, at::TensorList params, bool has_biases,
                 int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
    constexpr int64_t kLstm = 2;
    const std::size_t each = has_biases ? 4 : 2;
    const std::size_t directions = bidirectional ? 2 : 1;
    const Tensor hx = hidden[0].contiguous(), cx = hidden[1].contiguous();
    Tensor sequence = (batch_first ? input.transpose(0, 1) : input).contiguous();
    std::vector<Tensor> hy, cy;
    for (int64_t layer = 0; layer < layers; ++layer) {
        std::vector<Tensor> outputs;
        for (std::size_t direction = 0; direction < directions; ++direction) {
            const std::size_t index = hy.size();
            const auto weights = params.slice(index * each, each);
            const auto bias = [&](std::size_t i) {
                return has_biases ? weights[i] : at::zeros_like(weights[i - 2]);
            };
            const auto place = static_cast<int64_t>(index);
            auto [output, h, c, workspace] = at::mkldnn_rnn_layer(
                sequence, weights[0], weights[1], bias(2), bias(3), hx.select(0, place),
                cx.select(0, place), /*reverse=*/direction > 0, /*batch_sizes=*/{}, kLstm,
                hx.size(2), layers, has_biases, bidirectional, batch_first, train);
            outputs.push_back(output);
            hy.push_back(h);
            cy.push_back(c);
        }
        sequence = directions == 1 ? outputs[0] : at::cat(outputs, -1);
        if (dropout != 0 && train && layer + 1 < layers)
            sequence = at::dropout(sequence, dropout, /*train=*/true);
    }
    return {batch_first ? sequence.transpose(0, 1) : sequence, at::stack(hy, 0), at::stack(cy, 0)};
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Passes gradients on and refuses second ones: cuDNN's gradients have no gradient.
struct NoSecondGradient : torch::autograd::Function<NoSecondGradient> {
    static Tensor forward(AutogradContext*, const Tensor& gradient) { return gradient; }
    static variable_list backward(AutogradContext*, variable_list) {
        TORCH_CHECK_NOT_IMPLEMENTED(
            false,
            "the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not "
            "supported for CuDNN RNNs due to limitations in the CuDNN API. To run double "
            "backwards, please disable the CuDNN backend temporarily while running the forward "
            "pass of your RNN. For example: \nwith torch.backends.cudnn.flags(enabled=False):\n"
            "    output = model(inputs)");
        return {};
    }
};

// Wraps the network's inputs.
struct CudnnInputs : torch::autograd::Function<CudnnInputs> {
    static variable_list forward(AutogradContext*, at::TensorList inputs) { return inputs.vec(); }
    static variable_list backward(AutogradContext*, variable_list gradients) {
        for (Tensor& each : gradients)
            if (each.defined()) each = NoSecondGradient::apply(each);
        return gradients;
    }
};

// Wraps the network's outputs.
struct CudnnOutputs : torch::autograd::Function<CudnnOutputs> {
    static variable_list forward(AutogradContext* context, at::TensorList outputs, bool train) {
        context->saved_data["train"] = train;
        return outputs.vec();
    }
    static variable_list backward(AutogradContext* context, variable_list gradients) {
        TORCH_CHECK(context->saved_data["train"].toBool(),
                    "cudnn RNN backward can only be called in training mode");
        gradients.emplace_back();  // of `train`
        return gradients;
    }
};

// at::cudnn_is_acceptable, in a build with cuDNN.
bool cudnn_takes(const Tensor& input) {
    constexpr std::array kDtypes{at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};
    return accelerator().traits().has_cudnn && at::globalContext().userEnabledCuDNN() &&
           is_itself(input) && input.numel() > 0 &&
           std::ranges::find(kDtypes, input.scalar_type()) != kDtypes.end();
}

template <class... Tensors, std::size_t... Index>
std::tuple<Tensors...> tuple_of(const variable_list& list, std::tuple<Tensors...>*,
                                std::index_sequence<Index...>) {
    return {list[Index]...};
}

// Calls `run` on input, hidden states and weights, with cuDNN's rules for gradients.
template <class Run>
auto as_cudnn(const Tensor& input, at::TensorList hidden, at::TensorList params, bool train,
              Run run) {
    variable_list given{input};
    given.insert(given.end(), hidden.begin(), hidden.end());
    given.insert(given.end(), params.begin(), params.end());
    const auto wants = [](const Tensor& each) { return each.defined() && each.requires_grad(); };
    if (!c10::GradMode::is_enabled() || !cudnn_takes(input) || std::ranges::none_of(given, wants))
        return run(input, hidden, params);
    given = CudnnInputs::apply(at::TensorList(given));
    const at::TensorList all(given);
    using Made = decltype(run(input, hidden, params));
    Made made = run(all[0], all.slice(1, hidden.size()), all.slice(1 + hidden.size()));
    const auto list = std::apply([](auto&... each) { return variable_list{each...}; }, made);
    return tuple_of(CudnnOutputs::apply(at::TensorList(list), train), static_cast<Made*>(nullptr),
                    std::make_index_sequence<std::tuple_size_v<Made>>());
}

// GRU and the plain networks, for a padded and for a packed input.
using State = std::tuple<Tensor, Tensor>;
using OfInput = State (*)(const Tensor&, const Tensor&, at::TensorList, bool, int64_t, double, bool,
                          bool, bool);
using OfPacked = State (*)(const Tensor&, const Tensor&, const Tensor&, at::TensorList, bool,
                           int64_t, double, bool, bool);

template <OfInput native>
State of_input(const Tensor& input, const Tensor& hx, at::TensorList params, bool has_biases,
               int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
    return as_cudnn(input, hx, params, train,
                    [&](const Tensor& in, at::TensorList h, auto weights) {
                        return native(in, h[0], weights, has_biases, layers, dropout, train,
                                      bidirectional, batch_first);
                    });
}

template <OfPacked native>
State of_packed(const Tensor& data, const Tensor& batch_sizes, const Tensor& hx,
                at::TensorList params, bool has_biases, int64_t layers, double dropout, bool train,
                bool bidirectional) {
    return as_cudnn(data, hx, params, train, [&](const Tensor& in, at::TensorList h, auto weights) {
        return native(in, batch_sizes, h[0], weights, has_biases, layers, dropout, train,
                      bidirectional);
    });
}

Result lstm_of_packed(const Tensor& data, const Tensor& batch_sizes, at::TensorList hx,
                      at::TensorList params, bool has_biases, int64_t layers, double dropout,
                      bool train, bool bidirectional) {
    return as_cudnn(data, hx, params, train, [&](const Tensor& in, at::TensorList h, auto weights) {
        return at::native::lstm(in, batch_sizes, h, weights, has_biases, layers, dropout, train,
                                bidirectional);
    });
}

Result any_lstm(const Tensor& input, at::TensorList hidden, at::TensorList params, bool has_biases,
                int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
    TORCH_CHECK(hidden.size() == 2, "lstm expects two hidden states");
    if (accelerator().traits().refuses_projections) refuse_projections(hidden);
    if (!fits(input, hidden, params, layers * (bidirectional ? 2 : 1), batch_first))
        return at::native::lstm(input, hidden, params, has_biases, layers, dropout, train,
                                bidirectional, batch_first);
    at::native::check_attributes(input, params, hidden, /*check_dtype=*/true);
    return by_layers(input, hidden, params, has_biases, layers, dropout, train, bidirectional,
                     batch_first);
}

Result lstm(const Tensor& input, at::TensorList hidden, at::TensorList params, bool has_biases,
            int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
    return as_cudnn(input, hidden, params, train, [&](const Tensor& in, auto states, auto weights) {
        return any_lstm(in, states, weights, has_biases, layers, dropout, train, bidirectional,
                        batch_first);
    });
}

void add_cudnn_networks(torch::Library& library) {
    library.impl("lstm.data", &lstm_of_packed);
    library.impl("gru.input", &of_input<&at::native::gru>);
    library.impl("gru.data", &of_packed<&at::native::gru>);
    library.impl("rnn_tanh.input", &of_input<&at::native::rnn_tanh>);
    library.impl("rnn_tanh.data", &of_packed<&at::native::rnn_tanh>);
    library.impl("rnn_relu.input", &of_input<&at::native::rnn_relu>);
    library.impl("rnn_relu.data", &of_packed<&at::native::rnn_relu>);
}

}  // namespace

void add_recurrent_kernels(torch::Library& dense) {
    const Accelerator::Keys& keys = accelerator().keys();
    register_operators(
        std::array{Operator{"mkldnn_rnn_layer", "", keys.dense, Check::common},
                   Operator{"mkldnn_rnn_layer_backward", "", keys.dense, Check::common}});
    dense.impl("lstm.input", &lstm);
    auto* autograd =
        new torch::Library(torch::Library::IMPL, "aten", keys.autograd, __FILE__, __LINE__);
    autograd->impl("lstm.input", &lstm);
    if (!accelerator().traits().has_cudnn) return;
    add_cudnn_networks(dense);
    add_cudnn_networks(*autograd);
}

}  // namespace compat::shim::simulate

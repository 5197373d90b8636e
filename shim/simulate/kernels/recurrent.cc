// Runs an LSTM one layer at a time, by the CPU's kernel for a layer: cuDNN has a kernel for layers,
// and MPS one for the whole LSTM. Cell by cell, each time step would cost a dozen kernels. What the
// CPU's kernel cannot compute stays cell by cell.
#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/lstm_native.h>
#include <torch/library.h>

#include <array>
#include <tuple>
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

// A plain tensor of the device: not fake, not part of a transform.
bool is_plain(const Tensor& tensor) {
    constexpr c10::DispatchKeySet kAround(
        {c10::DispatchKey::Python, c10::DispatchKey::Functionalize,
         c10::DispatchKey::FuncTorchGradWrapper, c10::DispatchKey::FuncTorchBatched});
    return CpuAliases::is_ours(tensor) && tensor.scalar_type() == at::kFloat &&
           !tensor.key_set().has_any(kAround);
}

// Uses symbolic sizes, because torch.export asks too and must not learn the sizes.
bool is_projected(at::TensorList hidden) { return hidden[0].sym_size(2) != hidden[1].sym_size(2); }

// Under autocast, cells compute in half precision, as cuDNN does. The kernel for a layer checks no
// sizes, so inputs that do not fit are left to the cells, which do.
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

Result lstm(const Tensor& input, at::TensorList hidden, at::TensorList params, bool has_biases,
            int64_t layers, double dropout, bool train, bool bidirectional, bool batch_first) {
    TORCH_CHECK(hidden.size() == 2, "lstm expects two hidden states");
    if (accelerator().type() == c10::kMPS) refuse_projections(hidden);
    if (!fits(input, hidden, params, layers * (bidirectional ? 2 : 1), batch_first))
        return at::native::lstm(input, hidden, params, has_biases, layers, dropout, train,
                                bidirectional, batch_first);
    at::native::check_attributes(input, params, hidden, /*check_dtype=*/true);
    return by_layers(input, hidden, params, has_biases, layers, dropout, train, bidirectional,
                     batch_first);
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
}

}  // namespace compat::shim::simulate

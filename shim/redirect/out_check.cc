#include "redirect/out_check.h"

#include <torch/csrc/utils/out_types.h>

#include "redirect/state.h"
#include "runtime/torch_symbols.h"

namespace compat::shim {
namespace {

OpId symbol = 0;

void check(const at::Tensor& result, std::optional<at::ScalarType> type, bool type_is_none,
           std::optional<at::Layout> layout, std::optional<at::Device> device,
           bool device_is_none) {
    if (device && !device_is_none) device = redirect(symbol, *device);
    torch::utils::check_out_type_matches(result, type, type_is_none, layout, device,
                                         device_is_none);
}

}  // namespace

Import out_check_import() {
    symbol = Recorder::instance().op_id("torch.utils.check_out_type_matches");
    return {kTorchSymbols.out_check, reinterpret_cast<void*>(&check)};
}

}  // namespace compat::shim

// Which of seven classes of device errors an exception belongs to, by its type and message. The
// rules are those of the report's diagnosis (parsers/diagnosis/rules.json), and the first that
// matches decides, so a report and a program name one error alike. Unlike the diagnosis it sees no
// traceback. No torch header. Not for what is done about an error (recovery.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace compat::devices {

enum class ErrorClass : unsigned char {
    device_mismatch,
    dtype_mismatch,
    out_of_memory,
    mps_placeholder_storage,
    cuda_runtime_error,
    tensor_operation_failed,
    model_loading,
};
inline constexpr std::array<std::string_view, 7> kErrorClasses{
    "device_mismatch",    "dtype_mismatch",          "out_of_memory", "mps_placeholder_storage",
    "cuda_runtime_error", "tensor_operation_failed", "model_loading"};

[[nodiscard]] constexpr std::string_view name_of(ErrorClass error_class) {
    return kErrorClasses[static_cast<std::size_t>(error_class)];
}

struct Classification {
    ErrorClass error_class;
    std::string rule;  // its id in parsers/diagnosis/rules.json
};

// `type` as Python prints it: "RuntimeError", "torch.OutOfMemoryError". Empty: not a device error.
// Reads the first 2 KiB of the message and its last KiB.
[[nodiscard]] std::optional<Classification> classify(std::string_view type,
                                                     std::string_view message);

}  // namespace compat::devices

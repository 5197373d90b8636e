// The changes under which `--diagnose` runs a failed test again. Not here: which failures get which
// (runner/analysis/ways/diagnostic_retries.h), how a child is changed
// (runner/plan/diagnostic_child.h).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace compat {

enum class DiagnosticStep { redirect_all, float32, alone, fallback, blocking, cpu };

struct DiagnosticStepRow {
    std::string_view name;     // in files
    std::string_view passes;   // "passes with fallback on"
    std::string_view under;    // "fails otherwise with fallback on: …"
    std::string_view changes;  // of the child's settings
    std::string_view skipped;  // where the run is so already
};
inline constexpr std::array<DiagnosticStepRow, 6> kDiagnosticSteps{{
    {"redirect_all", "passes with every device redirected", "with every device redirected",
     "policy `full`",
     "with policy `full`, without the shim, and on simulated CUDA, which redirects nothing"},
    {"float32", "passes in float32", "in float32",
     "the default dtype is float32, whatever the code sets", "never"},
    {"alone", "passes alone, with caches off", "alone, with caches off",
     "`PYTORCH_NO_CUDA_MEMORY_CACHING=1`", "on other devices than CUDA"},
    {"fallback", "passes with fallback on", "with fallback on", "`PYTORCH_ENABLE_MPS_FALLBACK=1`",
     "with fallback on, and on other devices than MPS"},
    {"blocking", "passes with CUDA_LAUNCH_BLOCKING=1", "with CUDA_LAUNCH_BLOCKING=1",
     "`CUDA_LAUNCH_BLOCKING=1`", "on other devices than CUDA"},
    {"cpu", "passes on CPU", "on CPU", "no shim, no simulated device, `CUDA_VISIBLE_DEVICES=`",
     "without the shim on a host that has no accelerator, and on a host with MPS or XPU, which only "
     "the shim hides"},
}};
[[nodiscard]] constexpr const DiagnosticStepRow& row_of(DiagnosticStep step) {
    return kDiagnosticSteps[static_cast<std::size_t>(step)];
}
[[nodiscard]] constexpr std::string_view name_of(DiagnosticStep step) { return row_of(step).name; }
[[nodiscard]] constexpr std::optional<DiagnosticStep> diagnostic_step_of(std::string_view name) {
    for (std::size_t i = 0; i < kDiagnosticSteps.size(); ++i)
        if (kDiagnosticSteps[i].name == name) return static_cast<DiagnosticStep>(i);
    return std::nullopt;
}

}  // namespace compat

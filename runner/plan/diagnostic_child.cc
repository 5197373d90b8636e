#include "runner/plan/diagnostic_child.h"

namespace compat::plan {

ChildSettings settings_of(DiagnosticStep step, ChildSettings settings) {
    settings.processes = 1;
    settings.maxfail = 0;
    settings.keyword.clear();  // one test is asked for by its id
    switch (step) {
        case DiagnosticStep::redirect_all:
            settings.policy = "full";
            break;
        case DiagnosticStep::float32:
            settings.default_dtype = "float32";
            break;
        case DiagnosticStep::fallback:
            settings.fallback = true;
            break;
        case DiagnosticStep::cpu:
            settings.shim_library.clear();
            settings.simulate.clear();
            settings.policy.clear();
            settings.masquerade = false;
            settings.default_device = false;
            for (auto& [name, value] : settings.device_library)
                if (name == kDeviceVariable) value = "cpu";
            break;
        case DiagnosticStep::alone:
        case DiagnosticStep::blocking:
            break;
    }
    return settings;
}

Variables variables_of(DiagnosticStep step) {
    switch (step) {
        case DiagnosticStep::alone:
            return {{"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}};
        case DiagnosticStep::blocking:
            return {{"CUDA_LAUNCH_BLOCKING", "1"}};
        // A suite or user that sets it for its runs means those.
        case DiagnosticStep::fallback:
            return {{"PYTORCH_ENABLE_MPS_FALLBACK", "1"}};
        case DiagnosticStep::cpu:
            return {{"CUDA_VISIBLE_DEVICES", ""}};
        case DiagnosticStep::redirect_all:
        case DiagnosticStep::float32:
            return {};
    }
    return {};
}

}  // namespace compat::plan

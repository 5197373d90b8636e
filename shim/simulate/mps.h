// Facts about its process that the simulated MPS device needs.
#pragma once

#include <cstdint>
#include <string>

namespace compat::shim::simulate {

struct MpsAnswers {
    bool fallback = false;  // PYTORCH_ENABLE_MPS_FALLBACK
    std::string commit;     // torch's, which the refusal of an operator names
    unsigned macos_major = 26, macos_minor = 0;
    std::int64_t memory = 0;  // bytes that tensors may take
};

// Before `install(mps(), 1)`.
void set_mps_answers(MpsAnswers answers);

}  // namespace compat::shim::simulate

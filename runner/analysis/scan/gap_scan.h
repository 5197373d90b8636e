// Finds gaps in torch itself: compares its public API for CUDA with that of a device, and its
// operators' kernels. Pure: takes the output of runner/harness/api_scan.py and the list of native
// functions as text. Not for gaps that runs met (gaps.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/analysis/gaps.h"
#include "runner/analysis/op_table.h"
#include "runner/base/error.h"

namespace compat::analysis {

struct ApiName {
    std::string kind;                      // function, class, value
    std::optional<std::string> signature;  // "(device=None)"; empty: unknown to Python
};

struct ApiScan {
    std::string torch;  // version
    std::string git;
    std::string native_functions;                                   // path
    std::map<std::string, std::map<std::string, ApiName>> modules;  // by full name, then name
    std::map<std::string, std::string> masquerade;                  // symbol -> "refused", "stub"
};

// Errors: environment, for output that is not a scan or has a newer format.
[[nodiscard]] Expected<ApiScan> parse_api_scan(std::string_view output);

// Names of CUDA's API that `device` ("mps") lacks or has with other parameters, and operators that
// have a CUDA kernel, none of the device's, and are not composite. A name with a counterpart is no
// gap. Sorted by symbol.
[[nodiscard]] std::vector<GapFacts> gaps_of(const ApiScan& scan,
                                            const std::vector<Operator>& operators,
                                            std::string_view device);

}  // namespace compat::analysis

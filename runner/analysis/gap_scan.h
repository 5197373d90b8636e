// The gaps that torch itself tells of: its public API for CUDA against that of a device, and its
// operators. Pure: what a child with that torch printed (runner/harness/api_scan.py), and the list
// of native functions, come in as text. Not for what runs met (gaps.h).
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
    std::optional<std::string> signature;  // "(device=None)"; empty: Python does not know it
};

struct ApiScan {
    std::string torch;  // version
    std::string git;
    std::string native_functions;                                   // path
    std::map<std::string, std::map<std::string, ApiName>> modules;  // by full name, then name
    std::map<std::string, std::string> masquerade;                  // symbol -> "refused", "stub"
};

// Errors: environment, for output that is no scan or one of a newer format.
[[nodiscard]] Expected<ApiScan> parse_api_scan(std::string_view output);

// CUDA's names that `device` ("mps") has under no name that is known, those that it has with other
// parameters, and operators with a CUDA kernel and none of the device's own, which are not made of
// others. A name that has a counterpart is no gap. In the order of the symbols.
[[nodiscard]] std::vector<GapFacts> gaps_of(const ApiScan& scan,
                                            const std::vector<Operator>& operators,
                                            std::string_view device);

}  // namespace compat::analysis

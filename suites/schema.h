// Validates a suite.json against suite.schema.json, which is compiled into the library. valijson
// decides; the schema also provides the text of the errors. Not here: reading values (load.cc).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace compat::suites {

// The text of suites/suite.schema.json.
[[nodiscard]] std::string_view schema_text();

// An error at the value at `pointer`, or at its key.
struct Violation {
    std::string pointer;
    bool key = false;
    std::string message;
};

// Nothing: the document is valid. Otherwise the deepest violation, the first of several at one
// depth.
[[nodiscard]] std::optional<Violation> find_violation(const nlohmann::json& document);

}  // namespace compat::suites

// suite.schema.json, built into the library, and what it says about a document. The schema is the
// one source of what a suite file may hold: valijson decides, the same schema words the error.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace compat::suites {

// The text of suites/suite.schema.json.
[[nodiscard]] std::string_view schema_text();

// What is wrong, and where: the value at `pointer`, or its key.
struct Violation {
    std::string pointer;
    bool key = false;
    std::string message;
};

// Nothing where the document fits; else its deepest violation: of several as deep, the first that
// the validator met.
[[nodiscard]] std::optional<Violation> find_violation(const nlohmann::json& document);

}  // namespace compat::suites

// Validates a suite.json and the files beside it against their schemas, which are compiled into the
// library. valijson decides; the schema also provides the text of the errors. Not
// here: reading values (load.cc, expectations.cc, hub_names.cc, nightly.cc).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace compat::suites {

enum class SchemaOf { suite, expectations, hub_names, nightly };

// The text of suites/suite.schema.json, and of the files beside it.
[[nodiscard]] std::string_view schema_text(SchemaOf file = SchemaOf::suite);

// An error at the value at `pointer`, or at its key.
struct Violation {
    std::string pointer;
    bool key = false;
    std::string message;
};

// Nothing: the document is valid. Otherwise the deepest violation, the first of several at one
// depth.
[[nodiscard]] std::optional<Violation> find_violation(const nlohmann::json& document,
                                                      SchemaOf file = SchemaOf::suite);

// A scalar as the text that a flag would have: "on" for true.
[[nodiscard]] std::string flag_text(const nlohmann::ordered_json& value);

}  // namespace compat::suites

#include "suites/hub_names.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "suites/positions.h"
#include "suites/schema.h"

namespace compat::suites {

Expected<std::string> parse_hub_names(std::string_view text, const fs::path& file) {
    const Positions positions = find_positions(text);
    if (positions.problem)
        return refuse(file, positions.problem->at, positions.problem->message,
                      R"(a file that states nothing is {"format": 1})");
    const auto document = nlohmann::json::parse(text, nullptr, true, true);
    if (document.is_object() && document.contains("format") &&
        document["format"].is_number_integer() && document["format"] > kHubNamesFormat)
        return refuse(file, positions.of("/format"),
                      fmt::format("format {} is newer than this runner supports (format {})",
                                  document["format"].dump(), kHubNamesFormat),
                      "update the runner");
    if (const auto violation = find_violation(document, SchemaOf::hub_names))
        return refuse(file,
                      violation->key ? positions.of_key(violation->pointer)
                                     : positions.of(violation->pointer),
                      violation->message);
    return document.dump();
}

}  // namespace compat::suites

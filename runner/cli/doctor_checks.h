// Checks of `runner doctor`, in a table: what this machine has of what the runner needs, and what
// to do where something is missing. Not here: printing them (doctor.cc).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/config/settings.h"
#include "runner/prepare/prepare.h"
#include "suites/suite.h"

namespace compat::cli {

struct DoctorInput {
    config::Settings settings;
    std::optional<suites::Suite> suite;
    std::string python;  // that torch is looked for in; empty: in none
    // The suite's, or that Python's.
    Expected<std::optional<prepare::Environment>> environment = std::nullopt;
};

struct Finding {
    enum class Kind {
        good,
        missing,
        unneeded  // missing, and the settings do without
    };
    Kind kind = Kind::good;
    std::string subject{};  // for the {} in the requirement's text
    std::string advice{};   // empty: the requirement's
};

struct Requirement {
    std::string_view name;
    std::string_view text;
    std::string_view advice;
    // None: nothing asks for it.
    std::vector<Finding> (*find)(const Requirement& requirement, const DoctorInput& input);
};

[[nodiscard]] std::span<const Requirement> requirements();

[[nodiscard]] std::string format_finding(const Requirement& requirement, const Finding& finding);

}  // namespace compat::cli

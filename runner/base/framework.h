// The differences between the test frameworks, one row each. Code reads this table instead of
// comparing names. Not here: reading a framework's output (parsers) and driving a framework
// (runner/harness).
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace compat {

enum class Framework { unittest, pytest, gtest, ctest };

struct FrameworkTraits {
    Framework framework;
    std::string_view name;                    // in suite.json, the database and reports
    std::array<std::string_view, 4> modules;  // globs on file names of test modules; "": none
    std::string_view package;                 // what pip installs to run it; empty: nothing
    bool in_python;                           // tests run in the Python environment of the suite
    bool warm_start;                // its modules may be forked from a process that imported torch
    bool modules_are_programs;      // modules are executable files
    bool modules_contain_others;    // a module includes the modules of its subfolders
    bool selects_without_instance;  // "Suite.Test" also selects "Instance/Suite.Test/0"
    bool fails_on_xpassed;          // it counts an unexpected success as a failure
    bool counts_tests_begun;        // its totals count each started test once, and no fixtures
    int exit_code_failed;           // a test failed
    int exit_code_no_tests;         // no test ran; unittest since Python 3.12
};

inline constexpr std::array<FrameworkTraits, 4> kFrameworks{{
    {.framework = Framework::unittest,
     .name = "unittest",
     .modules = {"test*.py"},
     .package = "",
     .in_python = true,
     .warm_start = true,
     .modules_are_programs = false,
     .modules_contain_others = false,
     .selects_without_instance = false,
     .fails_on_xpassed = true,
     .counts_tests_begun = false,
     .exit_code_failed = 1,
     .exit_code_no_tests = 5},
    {.framework = Framework::pytest,
     .name = "pytest",
     .modules = {"test_*.py", "*_test.py"},
     .package = "pytest",
     .in_python = true,
     .warm_start = true,
     .modules_are_programs = false,
     .modules_contain_others = false,
     .selects_without_instance = false,
     .fails_on_xpassed = false,
     .counts_tests_begun = false,
     .exit_code_failed = 1,
     .exit_code_no_tests = 5},
    {.framework = Framework::gtest,
     .name = "gtest",
     .modules = {"*_test", "*_tests", "*Test", "*Tests"},
     .package = "",
     .in_python = false,
     .warm_start = false,
     .modules_are_programs = true,
     .modules_contain_others = false,
     .selects_without_instance = true,
     .fails_on_xpassed = false,
     .counts_tests_begun = true,
     .exit_code_failed = 1,
     .exit_code_no_tests = 0},
    {.framework = Framework::ctest,
     .name = "ctest",
     .modules = {"CTestTestfile.cmake"},
     .package = "",
     .in_python = false,
     .warm_start = false,
     .modules_are_programs = false,
     .modules_contain_others = true,
     .selects_without_instance = false,
     .fails_on_xpassed = false,
     .counts_tests_begun = true,
     .exit_code_failed = 8,
     .exit_code_no_tests = 0},
}};

namespace detail {
consteval std::size_t length_of_framework_names() {
    std::size_t length = kFrameworks.size() - 1;
    for (const FrameworkTraits& row : kFrameworks) length += row.name.size();
    return length;
}
inline constexpr auto kFrameworkNames = [] {
    std::array<char, length_of_framework_names()> names{};
    std::size_t at = 0;
    for (const FrameworkTraits& row : kFrameworks) {
        if (at > 0) names[at++] = '|';
        for (const char c : row.name) names[at++] = c;
    }
    return names;
}();
}  // namespace detail
// "unittest|pytest|…", as the table of settings writes allowed values.
inline constexpr std::string_view kFrameworkNames{detail::kFrameworkNames.data(),
                                                  detail::kFrameworkNames.size()};

[[nodiscard]] constexpr const FrameworkTraits& traits_of(Framework framework) {
    return kFrameworks[static_cast<std::size_t>(framework)];
}

[[nodiscard]] constexpr std::string_view name_of(Framework framework) {
    return traits_of(framework).name;
}

// Null: another name, as of imported results ("junit").
[[nodiscard]] constexpr const FrameworkTraits* traits_of(std::string_view name) {
    for (const FrameworkTraits& row : kFrameworks)
        if (row.name == name) return &row;
    return nullptr;
}

[[nodiscard]] constexpr std::optional<Framework> framework_of(std::string_view name) {
    const FrameworkTraits* row = traits_of(name);
    return row ? std::optional(row->framework) : std::nullopt;
}

// Whether a record's framework name is this framework.
[[nodiscard]] constexpr bool is_framework(std::string_view name, Framework framework) {
    return name == name_of(framework);
}

}  // namespace compat

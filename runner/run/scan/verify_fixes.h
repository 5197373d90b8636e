// `runner scan --fix --verify`: keeps the replacements with which the project's tests pass as
// before. Works on a copy of the project. Not for making replacements (fix_sources.h) nor for which
// project it is (tested_project.h).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/config/settings.h"
#include "runner/prepare/prepare.h"
#include "runner/run/scan/fix_sources.h"
#include "runner/run/scan/tested_project.h"

namespace compat::run {

// On plain CPU the branches of a machine without a GPU run; on simulated CUDA those for CUDA.
struct VerifyColumn {
    std::string_view words;
    bool simulates_cuda;
};
inline constexpr std::array<VerifyColumn, 2> kVerifyColumns{
    {{"plain CPU", false}, {"simulated CUDA", true}}};

struct BrokenTest {
    std::string id;
    std::string_view column;
    std::string state;     // "failed"; "missing": not collected
    std::string place;     // "file:line" of the failure; may be empty
    std::string key_line;  // of the failure; may be empty
};

struct DroppedReplacement {
    Replacement change;
    std::vector<BrokenTest> broken;  // with it, and pass without
};

struct VerifyResult {
    struct Column {
        std::string_view words;
        std::int64_t tests = 0, passed = 0;  // before
    };
    std::vector<Column> columns;
    std::vector<Replacement> kept;  // of the user's files
    std::vector<DroppedReplacement> dropped;
    std::vector<Replacement> undecided;   // there was no time: not kept
    std::vector<std::string> not_loaded;  // files with kept replacements that no test imports
    std::map<std::string, std::string> unloadable;  // modules that broke before: their key lines
    std::vector<std::string> unsteady;  // tests that failed once, with changes that held later
    bool interrupted = false;           // then nothing is decided
};

// `limit`: for finding out which replacements break tests; the tests run to their end before and
// after that. Errors: usage, if no test passes before, or a file is changed while the tests run.
[[nodiscard]] Expected<VerifyResult> verify_fixes(
    const TestedProject& project, const std::vector<std::string>& paths, const std::string& torch,
    std::chrono::milliseconds limit, const Fixer& fixer, const config::Invocation& invocation,
    const prepare::Say& say);

}  // namespace compat::run

// Plans a run: a pure function from a suite, its files and a selection to jobs. Only list_modules
// reads the folder. Not for shards (cut.h), and for running the jobs (runner/exec).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "suites/suite.h"

namespace compat::plan {

// The order in which modules start. An unknown duration is estimated from the module's size; equal
// ones are ordered by path.
enum class Order { longest_first, failed_first, as_listed, random };

struct Ordering {
    Order order = Order::longest_first;
    std::uint64_t seed = 0;  // of random
};

// "longest-first", "failed-first", "as-listed", "random:7". Errors: usage.
[[nodiscard]] Expected<Ordering> parse_ordering(std::string_view text);

struct Selection {
    std::vector<std::string>
        targets;            // folder, file, glob, dotted module, group, path::Class::test
    std::string keyword{};  // -k of the framework; part of the plan's id
    Ordering ordering{};
    std::vector<std::string> options{};  // of pytest; part of the plan's id
};

// Facts from earlier runs, by module path.
struct Past {
    std::map<std::string, double> seconds;  // durations
    std::set<std::string> failed;           // modules with failures
};

// One module to run. Each attempt is one child process.
struct Job {
    std::string module;  // path relative to the root: "tests/test_ops.py"
    std::vector<std::string>
        only;  // requested ids or id prefixes ("path::Class"); empty: the whole module
    std::uintmax_t source_bytes = 0;  // of the module's file; estimates its duration
    double cost = 0;                  // seconds; where no duration of the plan is known, bytes
};

struct Plan {
    std::vector<Job> jobs;           // in the order in which they start
    std::vector<std::string> notes;  // for users: counts of skipped groups and excluded modules
    std::string id;                  // equal plans have equal ones (cut.h)
    bool has_durations = false;      // whether costs are seconds
};

struct ModuleFile {
    std::string path;  // relative to the root, '/' separated
    std::uintmax_t bytes = 0;
    bool excluded = false;  // by layout.exclude; listed so that the plan can report it
    // errno of an unreadable folder, listed so that it is reported; 0: a module
    int unreadable = 0;
};

// The suite's test modules under `root`, sorted by path; never outside `root` (suites/tree.h). For
// gtest these are executables, for ctest the topmost CTestTestfile.cmake of each build folder.
// Reads the directory tree. Errors: root or its tests folder missing (environment), nothing found
// (nothing_selected).
[[nodiscard]] Expected<std::vector<ModuleFile>> list_modules(const suites::Suite& suite,
                                                             const fs::path& root);

// Jobs for the selected targets, or for all modules except groups that are off by default. Errors:
// a target that matches nothing (usage; names the nearest), no module left (nothing_selected).
[[nodiscard]] Expected<Plan> make_plan(const suites::Suite& suite,
                                       const std::vector<ModuleFile>& modules,
                                       const Selection& selection, const Past& past = {});

}  // namespace compat::plan

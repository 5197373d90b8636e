// Which modules to run, and how: a pure function from a suite, the list of its files and what was
// asked for, to jobs. Starts no process, reads and writes no file. Not here: where jobs run
// (runner/exec).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "suites/suite.h"

namespace compat::plan {

// In which order modules start. A module whose duration is not known is taken to cost in proportion
// to its size; ties go by path.
enum class Order { longest_first, failed_first, as_listed, random };

struct Ordering {
    Order order = Order::longest_first;
    std::uint64_t seed = 0;  // of random
};

// One of several parts of a plan.
struct Shard {
    std::size_t index = 1;  // from 1
    std::size_t count = 1;
};

// "longest-first", "failed-first", "as-listed", "random:7". Errors: usage.
[[nodiscard]] Expected<Ordering> parse_ordering(std::string_view text);
// A larger number is a mistake: no suite has that many modules.
inline constexpr std::size_t kMaxShards = 10'000;
// "2/5". Errors: usage.
[[nodiscard]] Expected<Shard> parse_shard(std::string_view text);

struct Selection {
    std::vector<std::string>
        targets;            // folder, file, glob, dotted module, group, path::Class::test
    std::string keyword{};  // of the framework; names the plan with the rest
    Ordering ordering{};
    Shard shard{};
    std::vector<std::string> options{};  // for the framework; as the keyword
};

// Facts from earlier runs, by module path.
struct Past {
    std::map<std::string, double> seconds;     // that they took
    std::set<std::string> failed;              // those that had failures
    std::map<std::string, double> for_shards;  // as `seconds`, from runs of whole plans alone
};

// One module to run: one child process an attempt.
struct Job {
    std::string module;  // path relative to the root: "tests/test_ops.py"
    std::vector<std::string>
        only;  // ids or id prefixes ("path::Class") asked for; empty: all of the module
    std::uintmax_t source_bytes =
        0;  // size of the module's file: stands for its cost until durations are known
};

struct Plan {
    std::vector<Job> jobs;           // in the order in which they start
    std::vector<std::string> notes;  // for people: groups left out, modules excluded, by count
    std::string id;  // names the whole plan and how it was cut: of shards that fit, the same
};

struct ModuleFile {
    std::string path;  // relative to the root, '/' separated
    std::uintmax_t bytes = 0;
    bool excluded =
        false;  // by layout.exclude: in the list so that a plan can say what it leaves out
    // errno of a folder that cannot be read, in the list so that nothing in it is lost unsaid; 0: a
    // module
    int unreadable = 0;
};

// Every test module of the suite under `root`, sorted by path; stays inside `root` (suites/tree.h).
// Of gtest the executables, of ctest the build folders: their topmost CTestTestfile.cmake.
// Reads the directory tree. Errors: root or its tests folder missing (environment), nothing found
// (nothing_selected).
[[nodiscard]] Expected<std::vector<ModuleFile>> list_modules(const suites::Suite& suite,
                                                             const std::filesystem::path& root);

// Jobs for what `selection` names, or for everything but the groups that are not by default. A
// shard takes the modules, longest first, that fall to it where each goes to the shard with the
// least to do. Errors: a target that matches nothing (usage; names the nearest), no module left
// (nothing_selected).
[[nodiscard]] Expected<Plan> make_plan(const suites::Suite& suite,
                                       const std::vector<ModuleFile>& modules,
                                       const Selection& selection, const Past& past = {});

}  // namespace compat::plan

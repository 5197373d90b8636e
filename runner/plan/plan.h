// Which modules to run, and how: a pure function from a suite, the list of its files and what was
// asked for, to jobs. Starts no process, reads and writes no file. Not here: where jobs run
// (runner/exec).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "suites/suite.h"

namespace compat::plan {

// What the command line asks for.
struct Selection {
    std::vector<std::string>
        targets;  // folder, file, glob, dotted module, group, path::Class::test
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
};

struct ModuleFile {
    std::string path;  // relative to the root, '/' separated
    std::uintmax_t bytes = 0;
    bool excluded =
        false;  // by layout.exclude: in the list so that a plan can say what it leaves out
};

// Every test module of the suite under `root`, sorted by path; stays inside `root` (suites/tree.h).
// Of gtest the executables, of ctest the build folders: their topmost CTestTestfile.cmake.
// Reads the directory tree. Errors: root or its tests folder missing (environment), nothing found
// (nothing_selected).
[[nodiscard]] Expected<std::vector<ModuleFile>> list_modules(const suites::Suite& suite,
                                                             const std::filesystem::path& root);

// Jobs for what `selection` names, or for everything but the groups that are not by default.
// Longest first: by `seconds`, the durations known of earlier runs by module; a module without one
// is taken to cost in proportion to its size. Ties go by path. Errors: a target that matches
// nothing (usage; names the nearest), no module left (nothing_selected).
[[nodiscard]] Expected<Plan> make_plan(const suites::Suite& suite,
                                       const std::vector<ModuleFile>& modules,
                                       const Selection& selection,
                                       const std::map<std::string, double>& seconds = {});

}  // namespace compat::plan

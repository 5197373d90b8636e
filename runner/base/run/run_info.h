// A run as it is known when it begins. Its fields, one by one: run_fields.h.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/run/subset.h"

namespace compat {

// Settings that a run's children and its record share.
struct RunSettings {
    bool fallback = true;
    bool keep_going = false;  // what the simulated device refuses is written down and not raised
    int seeds = 0;  // attempts at each module, each with another stream of random numbers; 0: none

    // Whether the results say something about the tests as they are: with --keep-going and --seeds
    // they do not.
    [[nodiscard]] bool gives_verdicts() const { return !keep_going && seeds == 0; }
    // Ends the name of the run's series: runs without verdicts are not compared with others.
    [[nodiscard]] std::string series_suffix() const {
        return std::string(keep_going ? "-keep-going" : "") + (seeds > 0 ? "-seeds" : "");
    }

    friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

// Identity, host and settings of a run, known when it begins and constant afterwards. The caller
// masks the values of secret variables (is_secret_name).
struct RunInfo : RunSettings {
    std::string id;      // "<series>_<UTC>-<hex>" (compat::make_run_id)
    std::string suite;   // the suite's name
    std::string series;  // runs of one series are compared with each other
    WallTime started{};
    std::string framework;  // "unittest", "pytest"
    bool shim = true;
    std::string policy;                    // "missing", "full", "none"; empty without the shim
    bool masquerade = false;               // tensors on mps answer as cuda's
    std::string device;                    // the accelerator in use, "cpu" where there is none
    std::optional<std::string> simulated;  // "mps", "cuda"
    bool diagnose = false;                 // failed tests were run again (--diagnose)
    std::string isolation = "off";         // off, tree, sandbox
    bool network = true;                   // false: in a sandbox without one
    std::string hub = "off";               // off, replay, record, generate
    std::string commit;                    // of the suite's source; empty: not from git
    bool dirty = false;                    // the source differs from `commit`
    std::string remote;                    // git remote of the suite's source; empty: none
    std::string torch;                     // version; empty: none installed
    std::string root;        // absolute: the suite's source and the children's working folder
    std::string links_base;  // links.base of suite.json; empty: none
    std::string python;      // absolute: the interpreter of the children
    std::vector<std::pair<std::string, std::string>> env;  // what a child gets on top of ours
    std::vector<std::string> argv;                         // the command line as it was typed
    // The command line without its targets, in a form that works again from anywhere ({"runner",
    // "suites/x", "--root", "/y", "--", "-p", "x"}): with a test's id before the "--", or at its
    // end, it runs that test.
    std::vector<std::string> rerun_argv;
    std::string fingerprint = "{}";  // a JSON object: host, packages, versions, settings
    std::string folder;              // of the run's files, relative to the database's: "runs/<id>"
    int folder_format = 1;           // layout of that folder
    std::string shard;               // "2/5"; empty: the run is whole
    std::string repeat_of;           // the first of runs that differ in nothing (A/A); empty: none
    std::string plan;                // names the plan before it was cut into shards
    std::string column;  // of a nightly matrix, by its name: "cuda (simulated)"; empty: of none
    Subset subset;       // the part of the suite that was asked for
    std::string expectations_file;  // absolute, there or not; empty: it has none
    std::string expectations;       // its entries at the run's start, a JSON array; empty: none

    friend bool operator==(const RunInfo&, const RunInfo&) = default;
};

}  // namespace compat

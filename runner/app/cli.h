// The command line as a value. Not here: doing what it says (commands.h, pipeline.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reports/markdown.h"
#include "runner/app/settings.h"

namespace compat::app {

struct RunCommand {
    std::string suite;
    std::vector<std::string> targets;
    std::string keyword;
    std::vector<std::string> env;  // "K=V"
    bool dry_run = false;
    int verbosity = 0;
    std::int64_t maxfail = 0;  // 0: never
    bool flaky_fails = false;
    std::string order;      // empty: longest first
    std::string shard;      // "2/5"; empty: all
    int repeat = 1;         // runs, one after the other
    std::string repeat_of;  // the first of those; empty: this one
};
struct ResumeCommand {
    std::string run = "latest";
    int verbosity = 0;
};
struct RerunCommand {
    std::string run = "latest";
    bool failed = false, flaky = false, not_run = false;
    int verbosity = 0;
};
struct MergeCommand {
    std::vector<std::string> databases;
};
struct ImportCommand {
    std::vector<std::string> files;
    std::string suite = "imported";
    std::string dialect;  // empty: as each file looks
    std::string stdin_name = "stdin";
    std::string device = "unknown";
    std::string torch;
};
struct ReparseCommand {
    std::string run = "latest";
    bool text = false;   // by the logs' text alone
    bool apply = false;  // store it
    bool all = false;    // every run's, into a database made anew
};
struct ListCommand {
    std::string suite;
    std::vector<std::string> targets;
    std::string keyword;
    bool cases = false;
    bool json = false;
};
struct PrepareCommand {
    std::string suite;
};
struct ReportCommand {
    std::string run = "latest";
    std::string formats = "md,json";
    std::string out;  // empty: the run's folder
    std::size_t max_bytes = reports::kMarkdownBytes;
};
struct RunsCommand {};
struct ShowCommand {
    std::string what;
};
struct ExecCommand {
    std::vector<std::string> words;  // the program's command line, never empty
    std::vector<std::string> env;    // "K=V"
    std::string record;              // empty: a file of our own choosing
    bool quiet = false;
};
struct GapsCommand {
    enum class Action { scan, list, show, set, write };
    Action action = Action::list;
    std::string suite;                // scan: whose torch
    std::string symbol;               // show, set
    std::vector<std::string> values;  // set: "FIELD=VALUE"
    std::string status = "open";      // list, write; "all": any
    std::string kind;                 // empty: any, as is `device`
    std::string device;
    std::size_t limit = 30;
    bool all = false;  // list: no limit
    bool json = false;
    std::string out;  // write: a file; empty: stdout
};
struct PortingCommand {
    RunCommand run;
    std::vector<std::string> runs;  // stored ones to compare; empty: run the suite
    std::string out;                // empty: a folder below the results
};
struct DoctorCommand {
    std::string suite;
};

struct Invocation {
    std::variant<RunCommand, ListCommand, PrepareCommand, ReportCommand, RunsCommand, ShowCommand,
                 ExecCommand, DoctorCommand, ResumeCommand, RerunCommand, MergeCommand, GapsCommand,
                 ImportCommand, ReparseCommand, PortingCommand>
        command;
    std::map<Setting, std::string> flags;
    std::vector<std::string> argv;  // as typed
};

// The invocation; or, where the line asks for help or is wrong, the exit code, after printing.
[[nodiscard]] std::variant<Invocation, int> parse_command_line(int argc, char** argv);

}  // namespace compat::app

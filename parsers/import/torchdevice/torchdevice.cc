#include "parsers/import/torchdevice/torchdevice.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "parsers/diagnosis/traceback.h"
#include "parsers/framework_summary.h"
#include "parsers/import/case_table.h"
#include "parsers/import/doubt.h"
#include "parsers/import/fields.h"
#include "parsers/import/json_document.h"
#include "parsers/import/unnamed.h"
#include "parsers/jsonl.h"
#include "parsers/outcomes.h"
#include "parsers/resolve_unfinished.h"
#include "parsers/text.h"
#include "parsers/unittest_header.h"
#include "runner/base/framework.h"
#include "runner/base/host.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

// A module "tests.models.bert.test_x" by its path "tests/models/bert/test_x.py".
std::string path_of(std::string_view module) {
    std::string path = valid_utf8(trimmed(module));
    std::replace(path.begin(), path.end(), '.', '/');
    return path + ".py";
}

ModuleRecord record_of(std::string path) {
    ModuleRecord record;
    record.path = std::move(path);
    record.framework = name_of(Framework::unittest);
    record.from_text = true;
    return record;
}

// "0", "-11": a return code as Python's subprocess gives it.
std::optional<std::int64_t> code_in(std::string_view text) {
    const bool negative = text.starts_with('-');
    const auto value = number_of(text.substr(negative ? 1 : 0));
    return value && negative ? std::optional(-*value) : value;
}

// A signal is negative. -1 is what the script itself gives for a module that it could not run.
ProcessEnd end_of(std::int64_t return_code) {
    constexpr std::int64_t kMost = 1'000'000;
    const int code = static_cast<int>(std::clamp(return_code, -kMost, kMost));
    if (code >= 0) return {ProcessEnd::Kind::exited, code, {}};
    if (code == -1)
        return {ProcessEnd::Kind::spawn_failed, 0, "return code -1: the script could not run it"};
    return {ProcessEnd::Kind::signaled, -code, signal_name(-code)};
}

// Makes what is known of a module whose tests are not: its outcome, and a row for it where it did
// not end well.
void set_outcome(ModuleRecord& record, std::int64_t return_code, double duration_s) {
    constexpr std::int64_t kNoTests = 5;  // of unittest since Python 3.12
    const ProcessEnd end = end_of(return_code);
    const bool exited = end.kind == ProcessEnd::Kind::exited;
    if (!exited || return_code == kNoTests) {
        resolve_unfinished(record, {},
                           {.ready = true, .finished = exited, .fixture = {}, .last_end = {}}, end);
    } else if (return_code != 0) {
        CaseRecord& row = record.cases.emplace_back();
        row.id = record.path + "::<module>";
        row.name = "<module>";
        row.pseudo = true;
        row.state = State::errored;
        row.failure.emplace().message = explain(end) + ", and no test is named";
        row.failure->counted = State::errored;
        record.collected = 1;
    }
    record.ready = true;
    for (CaseRecord& row : record.cases) row.duration_s = duration_s;
}

// The log.

struct ModuleEnd {
    std::string path;
    std::string text;  // the line that tells how it ended
    std::optional<std::int64_t> return_code;
    double duration_s = 0;
};

constexpr std::string_view kFirstLine = "Target project repo: ";

struct LogTotal {
    std::string_view words;
    std::int64_t least, most;  // return codes that it counts
};
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr std::array<LogTotal, 4> kLogTotals{{
    {"Total test files processed: ", -kAny, kAny},
    {"Successful: ", 0, 0},
    {"Failed (test failures): ", 1, kAny},
    {"Critical failures (script/execution errors): ", -kAny, -1},
}};

// One run of the script.
class ScriptRun {
  public:
    explicit ScriptRun(Diagnoser& diagnose) : diagnose_(diagnose) {}

    void line(std::string_view line, size_t offset) {
        static const RE2 kFinished(
            R"(Finished test: (.*?) - (Status: .* \(RC: (-?\d+)\) Duration: (.*)))", RE2::Latin1);
        static const RE2 kFound(R"(Found (\d+) test files to run.*)", RE2::Latin1);
        static const RE2 kListed("  - (.*)", RE2::Latin1);
        static const RE2 kPreparing("Preparing to run test .*: .*", RE2::Latin1);
        static const RE2 kModule("Module: (.*)", RE2::Latin1);
        static const RE2 kStatus(R"(  (Status: .* \(Return Code: (-?\d+)\)))", RE2::Latin1);
        const re2::StringPiece text(line.data(), line.size());
        std::string name, how, code, duration;
        if (RE2::FullMatch(text, kFinished, &name, &how, &code, &duration)) {
            due_ = false;
            end(path_of(name), how, code, torchdevice_seconds(duration), offset);
        } else if (line.starts_with("Finished test: ")) {
            diagnose_.add(offset, "a module's end of another form");
        } else if (RE2::FullMatch(text, kFound, &name)) {
            announced_ = number_of(name);
        } else if (announced_ && RE2::FullMatch(text, kListed, &name)) {
            module(valid_utf8(name));
        } else if (RE2::FullMatch(text, kPreparing)) {
            due_ = true;
        } else if (RE2::FullMatch(text, kModule, &name)) {
            summarized_ = path_of(name);
        } else if (!summarized_.empty() && RE2::FullMatch(text, kStatus, &how, &code)) {
            if (!module(summarized_).return_code) end(summarized_, how, code, 0, offset);
        } else {
            check_total(line, offset);
        }
    }

    [[nodiscard]] bool has_begun() const { return announced_ || !modules_.empty(); }

    void close(size_t offset, const SeePart& see) {
        const auto known = static_cast<std::int64_t>(modules_.size());
        if (announced_ && *announced_ != known)
            diagnose_.totals_differ(
                offset, fmt::format("{} test files found, {} in the log", *announced_, known));
        for (const ModuleEnd& module : modules_) see(read(module));
    }

  private:
    ModuleEnd& module(const std::string& path) {
        const auto [at, is_new] = by_path_.emplace(path, modules_.size());
        if (is_new) modules_.push_back({path, {}, {}, 0});
        return modules_[at->second];
    }

    void end(const std::string& path, std::string_view how, std::string_view code, double seconds,
             size_t offset) {
        ModuleEnd& ended = module(path);
        if (ended.return_code) diagnose_.add(offset, path + " ended twice; its last end counts");
        count(ended, -1);
        ended = {path, valid_utf8(how), code_in(code), seconds};
        count(ended, 1);
    }

    void count(const ModuleEnd& module, int by) {
        for (size_t i = 0; i < kLogTotals.size() && module.return_code; ++i)
            if (*module.return_code >= kLogTotals[i].least &&
                *module.return_code <= kLogTotals[i].most)
                totals_[i] += by;
    }

    void check_total(std::string_view line, size_t offset) {
        for (size_t i = 0; i < kLogTotals.size(); ++i) {
            const LogTotal& total = kLogTotals[i];
            if (!line.starts_with(total.words)) continue;
            const std::int64_t ours = totals_[i];
            const auto theirs = number_of(trimmed(line.substr(total.words.size())));
            if (theirs && *theirs != ours)
                diagnose_.totals_differ(
                    offset, fmt::format("{}{} by its own total, {} by its modules", total.words,
                                        *theirs, ours));
        }
    }

    // The module that was under way is the first without an end.
    ModuleRecord read(const ModuleEnd& module) {
        ModuleRecord record = record_of(module.path);
        if (module.return_code) {
            record.closing = FrameworkSummary{.text = module.text, .ran = {}, .counts = {}};
            set_outcome(record, *module.return_code, module.duration_s);
            return record;
        }
        const bool due = std::exchange(due_, false);
        resolve_unfinished(
            record, {}, {},
            {due ? ProcessEnd::Kind::stopped : ProcessEnd::Kind::not_run, 0,
             due ? "the log breaks off while it runs" : "the log breaks off before it"});
        return record;
    }

    Diagnoser& diagnose_;
    std::vector<ModuleEnd> modules_;
    std::unordered_map<std::string, size_t> by_path_;
    std::array<std::int64_t, kLogTotals.size()> totals_{};
    std::optional<std::int64_t> announced_;
    std::string summarized_;  // the module whose status comes next
    bool due_ = false;        // one is under way
};

// The JSON.

// The script's words for a test.
struct NamedState {
    std::string_view name;
    State state;
};
constexpr std::array<NamedState, 9> kStates{{{"FAIL", State::failed},
                                             {"FAILED", State::failed},
                                             {"FAILURE", State::failed},
                                             {"ERROR", State::errored},
                                             {"SKIPPED", State::skipped},
                                             {"SUCCESS", State::passed},
                                             {"PASSED", State::passed},
                                             {"OK", State::passed},
                                             {"CRITICAL_FAILURE", State::crashed}}};

// A number, or a text that is one.
std::optional<std::int64_t> return_code_of(const json& entry) {
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
    const std::int64_t number = integer_at(entry, "return_code", kNone);
    return number == kNone ? code_in(string_at(entry, "return_code")) : number;
}

// Its failure is read from the traceback; where that says nothing, the key line does.
Failure failure_of(const json& details) {
    std::string traceback;
    for (const json& line : child_at(details, "traceback"))
        if (line.is_string()) traceback += line.get_ref<const std::string&>() + '\n';
    Failure failure = parse_traceback(traceback);
    if (traceback.find(kTracebackHeader) == std::string::npos || failure.first_line().empty()) {
        const Failure told = parse_traceback(trimmed(string_at(details, "key_error_line")));
        failure.type = told.type;
        failure.message = told.message;
    }
    return failure;
}

constexpr std::string_view kLogAdvice = "import the log of the module";

class Module {
  public:
    Module(const json& entry, std::string_view module)
        : entry_(entry), module_(module), record_(record_of(path_of(module))) {}

    ModuleRecord read() {
        for (const json& test : child_at(entry_, "test_cases")) read_test(test);
        number_repeated_ids(record_.cases);
        read_totals();
        const auto code = return_code_of(entry_);
        if (!record_.closing && record_.cases.empty() && code) {
            set_outcome(record_, *code, torchdevice_seconds(string_at(entry_, "duration")));
            return std::move(record_);
        }
        ProcessEnd end{ProcessEnd::Kind::stopped, 0, "the totals of its log are not told"};
        // Tests that broke explain an exit code; without its totals nothing says how it closed.
        if (code && (record_.closing || *code < 0)) end = end_of(*code);
        record_.collected = tests_in(record_.cases);
        const std::vector<Progress> progress(record_.cases.size(), Progress::ended);
        const bool finished = record_.closing.has_value();
        resolve_unfinished(record_, progress,
                           {.ready = true, .finished = finished, .fixture = {}, .last_end = {}},
                           end);
        return std::move(record_);
    }

  private:
    // A test that broke, or what broke outside of any: a fixture, the module as a whole, which the
    // script calls MODULE_LEVEL_ERROR_N and unittest a test of its own.
    void read_test(const json& test) {
        const std::string method = test.is_object() ? string_at(test, "name") : std::string();
        const std::string word = test.is_object() ? string_at(test, "status") : std::string();
        const auto* const state = std::find_if(
            kStates.begin(), kStates.end(), [&](const auto& known) { return known.name == word; });
        if (method.empty() || state == kStates.end())
            return say(fmt::format("a test without a name or a known status: \"{}\"", method));
        const std::string classes = classes_of(string_at(test, "class_path"), method);
        const UnittestFixture* const fixture = unittest_fixture_of(method);
        const bool of_module = classes == "_FailedTest" ||
                               method.starts_with("MODULE_LEVEL_ERROR_") ||
                               method.starts_with("RUNNER_ERROR_");
        CaseRecord row;
        row.state = state->state;
        row.name = of_module ? "<module>" : fixture ? std::string(fixture->pseudo) : method;
        row.phase = of_module ? Phase::load : fixture ? fixture->phase : Phase::call;
        row.pseudo = of_module || fixture;
        row.started = !fixture;
        row.id = of_module || classes.empty()
                     ? fmt::format("{}::{}", record_.path, row.name)
                     : fmt::format("{}::{}::{}", record_.path, classes, row.name);
        if (row.state == State::crashed) row.reason = word;
        if (row.state == State::failed || row.state == State::errored) {
            row.failure = failure_of(child_at(test, "error_details"));
            row.failure->counted = row.state;
            row.failure->phase = row.phase;
        }
        record_.cases.push_back(std::move(row));
    }

    // "tests.a.test_b.Outer.Inner", since Python 3.11 with the test's name after it. A class
    // from another module is its own name.
    [[nodiscard]] std::string classes_of(std::string_view dotted, std::string_view method) const {
        if (dotted.ends_with(fmt::format(".{}", method))) dotted.remove_suffix(method.size() + 1);
        if (dotted == module_) return {};
        if (dotted.starts_with(fmt::format("{}.", module_)))
            return std::string(dotted.substr(module_.size() + 1));
        return place_of_class(dotted).classes;
    }

    // The totals of the log, and rows for tests that it counts and nothing names. The number that
    // the script gives as passed is the rest, and never less than 0: skips and errors of fixtures
    // are no tests.
    void read_totals() {
        const json& summary = child_at(entry_, "individual_log_summary");
        const auto count = [&](const char* key) {
            return std::clamp<std::int64_t>(integer_at(summary, key), 0, kGreatestCount);
        };
        const std::int64_t total = count("total");
        const std::string verdict = string_at(summary, "raw_log_status_line");
        auto closing = read_unittest_summary(fmt::format("Ran {} tests in 0s", total), verdict);
        if (total == 0 && !closing) return;
        FrameworkSummary told{.text = {}, .ran = total, .counts = {}};
        std::int64_t others = 0;
        for (const char* word : {"failures", "errors", "skipped"}) {
            told.counts.emplace_back(word, count(word));
            others += count(word);
        }
        if (count("passed") != std::max<std::int64_t>(0, total - others))
            say(fmt::format("the totals of {} do not add up: {} tests, {} passed, {} did not",
                            record_.path, total, count("passed"), others));
        record_.closing = closing ? *closing : told;
        record_.closing->text = fmt::format("Ran {}: {}", total, verdict);
        add_unnamed_tests(total);
    }

    void add_unnamed_tests(std::int64_t total) {
        UnnamedTests unnamed;
        for (const CaseRecord& c : record_.cases) {
            --unnamed.counts[c.state];
            total -= c.started;
        }
        for (const CountedWord& known : counted_words(record_.framework)) {
            std::int64_t& more = unnamed.counts[known.state];
            more = std::max<std::int64_t>(
                more + std::min(count_in(*record_.closing, known.word), kGreatestCount), 0);
            total -= more;
        }
        unnamed.counts[State::passed] = std::max<std::int64_t>(total, 0);
        if (unnamed.any()) check_totals(record_, unnamed.counts, 0, kLogAdvice);
        add_unnamed(record_, record_.path, unnamed, 0, kLogAdvice);
    }

    void say(std::string message) { record_.diagnostics.push_back({"log", 0, std::move(message)}); }

    const json& entry_;
    std::string_view module_;
    ModuleRecord record_;
};

}  // namespace

double torchdevice_seconds(std::string_view text) {
    static const RE2 kDuration(
        R"((?:(\d{1,9}) days?, )?(\d{1,9}):(\d{1,9}):(\d{1,9}(?:\.\d{1,9})?))");
    std::int64_t hours = 0, minutes = 0;
    std::string day, seconds;
    text = trimmed(text);
    if (!RE2::FullMatch({text.data(), text.size()}, kDuration, &day, &hours, &minutes, &seconds))
        return 0;
    const std::int64_t days = number_of(day).value_or(0);
    return static_cast<double>(days * 86'400 + hours * 3'600 + minutes * 60) +
           std::strtod(seconds.c_str(), nullptr);
}

std::vector<Diagnostic> read_torchdevice_log(const ResultFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    bool any = false;
    std::optional<ScriptRun> run(std::in_place, diagnose);
    for (Lines lines(file.bytes); lines.next();) {
        if (lines.line().starts_with(kFirstLine) && run->has_begun()) {
            any = true;
            run->close(lines.offset(), see);
            run.emplace(diagnose);
        }
        run->line(lines.line(), lines.offset());
    }
    if (!any && !run->has_begun()) diagnose.add(0, "the file names no test module");
    run->close(file.bytes.size(), see);
    return diagnostics;
}

int torchdevice_log_likeness(std::string_view beginning, std::string_view end) {
    constexpr std::array<std::string_view, 7> kSigns{kFirstLine,
                                                     "Log directory for individual tests: ",
                                                     "Overall run log file: ",
                                                     " test files to run:",
                                                     "\nPreparing to run test ",
                                                     "\nFinished test: ",
                                                     "\nTotal test files processed: "};
    const int signs = count_words(kSigns, beginning, end);
    return signs >= 4 ? kCertain : signs;
}

std::vector<Diagnostic> read_torchdevice_json(const ResultFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    json entries = read_json(file.bytes, diagnose);
    // The script writes a list; a module alone is taken for one.
    if (entries.is_object()) entries = json::array({std::move(entries)});
    for (const json& entry : entries) {
        const std::string module = entry.is_object() ? string_at(entry, "module") : std::string();
        if (module.empty() || entry.contains("error"))
            diagnose.add(0, "an entry that is no module");
        else
            see(Module(entry, module).read());
    }
    return diagnostics;
}

int torchdevice_json_likeness(std::string_view beginning, std::string_view /*end*/) {
    constexpr std::array<std::string_view, 2> kSummary{"\"individual_log_summary\"",
                                                       "\"status_from_summary\""};
    constexpr std::array<std::string_view, 1> kTests{"\"test_cases\""};
    return begins_as_json(beginning) && count_words(kSummary, beginning) > 0 &&
                   count_words(kTests, beginning) > 0
               ? kCertain
               : 0;
}

}  // namespace compat::parsers

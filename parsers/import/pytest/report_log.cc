#include "parsers/import/pytest/report_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "parsers/import/case_table.h"
#include "parsers/import/doubt.h"
#include "parsers/import/fields.h"
#include "parsers/import/finished_run.h"
#include "parsers/import/json_document.h"
#include "parsers/import/printed_end.h"
#include "parsers/import/pytest_failure.h"
#include "parsers/jsonl.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

constexpr std::string_view kReportLogAdvice = "run it again, or import JUnit XML of the same run";
// Its parsed form takes some times as much.
constexpr size_t kLongestReport = 64 << 20;

// Text of failures: as pytest prints what it has written as JSON.

void add_lines(std::string& to, const json& lines) {
    for (const json& line : lines) {
        if (line.is_string()) to += line.get_ref<const std::string&>();
        if (!to.ends_with('\n')) to += '\n';
    }
}

// One function of a traceback. With --tb=short its place stands in front.
void add_entry(std::string& to, const json& entry) {
    const json& data = child_at(entry, "data");
    const json& place = child_at(data, "reprfileloc");
    const bool in_front = string_at(data, "style") == "short";
    const std::string at =
        place.is_null() ? std::string()
                        : fmt::format("{}:{}: {}\n", string_at(place, "path"),
                                      integer_at(place, "lineno"), string_at(place, "message"));
    if (in_front) to += at;
    for (const json& argument : child_at(child_at(data, "reprfuncargs"), "args"))
        if (argument.is_array() && argument.size() == 2 && argument[0].is_string() &&
            argument[1].is_string())
            to += fmt::format("{} = {}\n", argument[0].get_ref<const std::string&>(),
                              argument[1].get_ref<const std::string&>());
    add_lines(to, child_at(data, "lines"));
    add_lines(to, child_at(child_at(data, "reprlocals"), "lines"));
    if (!in_front && !at.empty()) to += '\n' + at;
}

void add_traceback(std::string& to, const json& traceback) {
    for (const json& entry : child_at(traceback, "reprentries")) add_entry(to, entry);
    if (const std::string more = string_at(traceback, "extraline"); !more.empty())
        to += more + '\n';
}

std::string printed(const json& longrepr) {
    if (longrepr.is_string()) return longrepr.get<std::string>();
    std::string text;
    for (const json& link : child_at(longrepr, "chain")) {
        if (!link.is_array() || link.size() < 3) continue;
        add_traceback(text, link[0]);
        if (link[2].is_string()) text += '\n' + link[2].get<std::string>() + "\n\n";
    }
    if (text.empty()) add_traceback(text, child_at(longrepr, "reprtraceback"));
    return text;
}

// Finds the folder to which printed paths are relative: the place of a failure is in the file with
// both. Where it is in another file than its last line, as of unittest's, that of before stays.
void find_root(const json& longrepr, const std::string& absolute, std::string& root) {
    for (const json& entry : child_at(child_at(longrepr, "reprtraceback"), "reprentries")) {
        const json& place = child_at(child_at(entry, "data"), "reprfileloc");
        const std::string path = '/' + string_at(place, "path");
        if (absolute.size() > path.size() && absolute.ends_with(path))
            root = absolute.substr(0, absolute.size() - path.size());
    }
}

Failure reported_failure(const json& report, Phase phase, std::string& root) {
    const json& longrepr = report.contains("longrepr") ? report["longrepr"] : json();
    const json& crash = child_at(longrepr, "reprcrash");
    std::string text = printed(longrepr);
    for (const json& section : child_at(report, "sections"))
        if (section.is_array() && section.size() == 2 && section[0].is_string() &&
            section[1].is_string())
            text += fmt::format("\n{:-^80}\n{}", fmt::format(" {} ", section[0].get<std::string>()),
                                section[1].get_ref<const std::string&>());
    find_root(longrepr, string_at(crash, "path"), root);
    Failure failure = parse_pytest_failure(text, root);
    if (const std::string message = string_at(crash, "message");
        failure.type.empty() && !message.empty())
        name_by_message(failure, message);
    // pytest's own outcomes.
    if (constexpr std::string_view kOwn = "_pytest.outcomes."; failure.type.starts_with(kOwn))
        failure.type.erase(0, kOwn.size());
    if (failure.type.empty()) failure.type = "Failed";
    failure.phase = phase;
    return failure;
}

// Reasons.

std::string without(std::string_view text, std::initializer_list<std::string_view> prefixes) {
    for (const std::string_view prefix : prefixes)
        if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    return std::string(text);
}

std::string skip_reason(const json& report) {
    const json& longrepr = report.contains("longrepr") ? report["longrepr"] : json();
    const bool placed = longrepr.is_array() && longrepr.size() == 3 && longrepr[2].is_string();
    return without(placed ? longrepr[2].get<std::string>() : printed(longrepr),
                   {"Skipped: ", "unittest.case.SkipTest: "});
}

// Sub-tests.

// As Python's repr writes what JSON can hold.
std::string python_repr(const json& value) {
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    if (value.is_null()) return "None";
    if (!value.is_string()) return value.dump(-1, ' ', false, json::error_handler_t::replace);
    std::string text = value.get<std::string>();
    const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
    std::string out(1, quote);
    for (const char c : text) {
        if (c == '\\' || c == quote) out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out + quote;
}

// "[message] (i=1)". From pytest 9.1 on the values are written as their repr.
std::string label_of(const json& report, std::string_view version) {
    const json& context = child_at(report, "_subtest.context");
    if (context.is_null()) return string_at(report, "_subtest.context");
    int major = 0, minor = 0;
    const char* const end = version.data() + version.size();
    const auto [dot, error] = std::from_chars(version.data(), end, major);
    if (dot != end) std::from_chars(dot + 1, end, minor);
    const bool are_reprs = major > 9 || (major == 9 && minor >= 1);
    std::string values;
    for (const auto& [key, value] : child_at(context, "kwargs").items())
        values += fmt::format(
            "{}{}={}", values.empty() ? "" : ", ", key,
            are_reprs && value.is_string() ? value.get<std::string>() : python_repr(value));
    const std::string message = string_at(context, "msg");
    const bool has_message = context.contains("msg") && context["msg"].is_string();
    std::string label = has_message ? '[' + message + ']' : std::string();
    if (!values.empty()) label += fmt::format("{}({})", label.empty() ? "" : " ", values);
    return label.empty() ? "(<subtest>)" : label;
}

// Tests.

// One thing that pytest reports of a test.
struct Report {
    State state;
    Phase phase;
    std::string reason;
    std::optional<Failure> failure;
    std::string unknown;  // the outcome, of no known kind
};

struct ReportedTest {
    std::vector<Report> reports;  // of the attempt, but for phases that passed before and after
    bool began = false;           // with any report but a sub-test's
    bool ended = false;           // by the last that an attempt has
    bool called = false;          // the call was reported
    bool rerun = false;           // another attempt follows, if any report does
};

// A worker of pytest-xdist or a process of pytest-forked died.
constexpr std::string_view kNoPhase = "???";

Report report_of(const json& line, std::string& root) {
    const std::string outcome = string_at(line, "outcome");
    const std::string when = string_at(line, "when");
    const Phase phase = phase_of(when).value_or(Phase::call);
    const bool expected = line.contains("wasxfail");
    const std::string why = without(string_at(line, "wasxfail"), {"reason: "});
    if (outcome == "passed") return {expected ? State::xpassed : State::passed, phase, why, {}};
    if (outcome == "skipped" && !expected) return {State::skipped, phase, skip_reason(line), {}};
    Report report{State::failed, phase, {}, reported_failure(line, phase, root)};
    if (outcome == "skipped") {
        report.state = State::xfailed;
        report.reason = why;
    } else if (when == kNoPhase) {
        report.state = State::crashed;
        std::string& why_died = report.failure->message;
        if (const auto death = pytest_death(why_died)) why_died = std::string(death->words);
        report.reason = why_died.empty() ? "its process died" : why_died;
        report.failure->type.clear();
    } else if (phase != Phase::call) {
        report.state = State::errored;
    } else if (outcome != "failed" && outcome != "rerun") {
        report.unknown = outcome;
    }
    return report;
}

// A plugin's own word, such as pytest-retry's "retried", is of an attempt that another follows.
void settle_unknown(std::vector<Report>& reports) {
    for (Report& report : reports) {
        if (report.unknown.empty()) continue;
        report.state = State::errored;
        report.failure->message =
            fmt::format("an outcome of no known kind: \"{}\"", report.unknown);
    }
}

// As the recorder of our own runs decides (runner/harness/_compat_harness/recorder.py): the first
// report of a failure, else the first that is no pass. A sub-test decides if it failed.
void settle(CaseRecord& test, std::vector<Report> reports) {
    const auto first = [&](auto holds) {
        return std::ranges::find_if(reports, holds, &Report::state);
    };
    if (reports.empty())
        reports.push_back({State::errored,
                           Phase::call,
                           {},
                           Failure{.type = "NoOutcome",
                                   .message = "the framework ended the test without an outcome"}});
    const State own = reports.front().state;
    auto decisive = first(is_broken);
    const bool broke = decisive != reports.end();
    if (!broke) decisive = first([](State state) { return state != State::passed; });
    if (decisive == reports.end()) decisive = reports.begin();
    test.state = decisive->state;
    test.phase = decisive->phase;
    test.reason = decisive->reason;
    const bool subtest_broke = std::ranges::any_of(test.subcases, is_failure, &SubCase::state);
    if (subtest_broke && test.state != State::crashed) {
        test.state = State::failed;
        test.phase = Phase::call;
    }
    if (own != test.state) test.call_state = own;
    for (Report& report : reports) {
        if (test.reason.empty()) test.reason = report.reason;
        if (!report.failure || ((broke || subtest_broke) && !is_broken(report.state))) continue;
        report.failure->counted = report.state == State::crashed ? State::failed : report.state;
        if (!test.failure && report.failure->counted == test.state) report.failure->counted.reset();
        if (test.failure)
            test.also.push_back(std::move(*report.failure));
        else
            test.failure = std::move(report.failure);
    }
}

// One session, from its first line to the next session's.
class ReportedSession {
  public:
    ReportedSession(std::string_view file, std::string version) : file_(file) {
        record_.framework = name_of(Framework::pytest);
        record_.framework_version = std::move(version);
        record_.from_text = true;
    }

    void doubt(size_t offset, std::string_view why) {
        add_doubt(record_, offset, why, kReportLogAdvice);
    }

    // A module, package or class that could not be collected, or was skipped as a whole.
    void collected(const json& line) {
        const std::string outcome = string_at(line, "outcome");
        if (outcome == "passed") return;
        const std::string node = string_at(line, "nodeid");
        CaseRecord& row =
            pseudo_row(node.empty() ? file_ : node.substr(0, node.find("::")), "<module>");
        row.state = outcome == "skipped" ? State::skipped : State::errored;
        if (row.state == State::skipped)
            row.reason = skip_reason(line);
        else
            row.failure = reported_failure(line, Phase::load, root_);
    }

    void test(const json& line, size_t offset, bool of_subtest) {
        const std::string node = valid_utf8(string_at(line, "nodeid"));
        if (node.empty()) return doubt(offset, "a report of no test");
        const std::string when = string_at(line, "when");
        const size_t i = place_of(node, line, of_subtest);
        CaseRecord& c = record_.cases[i];
        ReportedTest& test = tests_[i];
        constexpr double kLatest = 253402300800.0;  // the year 10000
        if (const double start = number_at(line, "start"); start > 0 && start < kLatest)
            c.started_ms = std::min<std::int64_t>(c.started_ms.value_or(INT64_MAX),
                                                  std::llround(start * 1000));
        c.duration_s += of_subtest ? 0 : std::clamp(number_at(line, "duration"), 0.0, 1e9);
        test.began = test.began || !of_subtest;
        test.ended = test.ended || (!of_subtest && (when == "teardown" || when == kNoPhase));
        Report report = report_of(line, root_);
        test.called = test.called || (!of_subtest && when == "call");
        test.rerun = test.rerun || string_at(line, "outcome") == "rerun" || !report.unknown.empty();
        if (of_subtest) {
            c.subcases.push_back({label_of(line, record_.framework_version), report.state,
                                  std::move(report.reason), std::move(report.failure)});
        } else if (report.phase == Phase::call || string_at(line, "outcome") != "passed") {
            test.reports.push_back(std::move(report));
        }
    }

    void finish(std::optional<std::int64_t> exit_status, const SeePart& see) {
        std::vector<Progress> progress;
        for (size_t i = 0; i < tests_.size(); ++i) {
            const bool told = tests_[i].ended || !tests_[i].reports.empty();
            settle_unknown(tests_[i].reports);
            if (told && !record_.cases[i].pseudo)
                settle(record_.cases[i], std::move(tests_[i].reports));
            progress.push_back(told || record_.cases[i].pseudo ? Progress::ended
                                                               : Progress::started);
        }
        end_session(exit_status, progress);
        see(std::move(record_));
    }

  private:
    // The case of the test in the worker, at the attempt that goes on or begins. Sub-tests are told
    // before the set-up where pytest-rerunfailures has run the test.
    size_t place_of(const std::string& node, const json& line, bool of_subtest) {
        const std::string worker = string_at(line, "worker_id");
        const std::string key = node + '\n' + worker;
        auto known = by_key_.find(key);
        // After a crash another worker has the next attempt, and nobody says whose worker died.
        if (const auto last = by_key_.find(node + '\n');
            known == by_key_.end() && last != by_key_.end() &&
            (worker.empty() || tests_[last->second].rerun))
            known = last;
        size_t i = known == by_key_.end() ? tests_.size() : known->second;
        const std::string when = string_at(line, "when");
        const bool begins = i < tests_.size() && (of_subtest ? tests_[i].ended
                                                             : when == "setup" && tests_[i].began);
        const bool called_again = i < tests_.size() && !of_subtest && when == "call" &&
                                  tests_[i].called && !tests_[i].ended;
        if (called_again || (begins && tests_[i].rerun)) {
            CaseRecord before = std::exchange(record_.cases[i], new_case(node, line));
            settle(before, std::move(std::exchange(tests_[i], {}).reports));
            auto earlier = std::exchange(before.earlier, {});
            earlier.push_back(std::move(before));
            record_.cases[i].earlier = std::move(earlier);
        } else if (begins || i == tests_.size()) {
            i = tests_.size();
            tests_.emplace_back();
            record_.cases.push_back(new_case(node, line));
        }
        by_key_[key] = by_key_[node + '\n'] = i;
        return i;
    }

    static CaseRecord new_case(const std::string& node, const json& line) {
        CaseRecord c;
        c.id = tidy_id(node.find("::") == node.npos ? fmt::format("{0}::{0}", node) : node);
        c.name = node;
        c.started = true;
        const json& place = child_at(line, "location");
        constexpr int kMost = 1'000'000'000;
        if (place.is_array() && place.size() == 3 && place[0].is_string() &&
            place[1].is_number_unsigned() && place[1].get<std::uint64_t>() < kMost)
            c.location = {place[0].get<std::string>(), place[1].get<int>() + 1};  // from 0 there
        return c;
    }

    CaseRecord& pseudo_row(std::string_view path, std::string_view name) {
        tests_.emplace_back();
        CaseRecord& row = record_.cases.emplace_back();
        row.id = tidy_id(fmt::format("{}::{}", path, name));
        row.name = name;
        row.pseudo = true;
        row.phase = Phase::load;
        return row;
    }

    void end_session(std::optional<std::int64_t> exit_status, std::vector<Progress>& progress) {
        constexpr std::array<std::pair<int, std::string_view>, 2> kBroke{
            {{3, "an internal error of pytest (exit status 3)"},
             {4, "pytest was called in a wrong way (exit status 4)"}}};
        const auto is_load_error = [](const CaseRecord& c) { return c.pseudo && c.failure; };
        if (exit_status == 2 && std::ranges::none_of(record_.cases, is_load_error))
            record_.diagnostics.push_back(
                {"log", 0,
                 "pytest was interrupted (exit status 2): tests that it had not begun are "
                 "not in the file"});
        for (const auto& [status, words] : kBroke)
            if (exit_status == status) {
                CaseRecord& row = pseudo_row(file_, "<session>");
                row.state = State::errored;
                row.failure.emplace().message = words;
                row.failure->phase = Phase::load;
                progress.push_back(Progress::ended);
            }
        number_repeated_ids(record_.cases);
        record_.collected = static_cast<std::int64_t>(record_.cases.size());
        const std::string path = common_module(record_.cases);
        record_.path = path.empty() ? file_ : path;
        ProcessEnd end = kBrokenOff;
        if (exit_status) end = kInOrder;
        if (exit_status && *exit_status >= 0 && *exit_status < 256)
            end = ProcessEnd::exited(static_cast<int>(*exit_status));
        resolve_unfinished(
            record_, progress,
            {.ready = true, .finished = exit_status.has_value(), .fixture = {}, .last_end = {}},
            end);
        if (!record_.cases.empty()) record_.path = common_module(record_.cases);
    }

    std::string file_;
    std::string root_;  // as far as a failure has told
    ModuleRecord record_;
    std::vector<ReportedTest> tests_;  // parallel to record_.cases, as far as both reach
    std::unordered_map<std::string, size_t> by_key_;  // name and worker; name alone: the last one
};

}  // namespace

std::vector<Diagnostic> read_pytest_reportlog(const ResultFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    std::optional<ReportedSession> session;
    const auto begin = [&](std::string version) {
        if (session) session->finish({}, see);
        session.emplace(valid_utf8(file.name), std::move(version));
    };
    for (Lines lines(file.bytes); lines.next();) {
        if (trimmed(lines.line()).empty()) continue;
        const bool too_long = lines.line().size() > kLongestReport;
        if (too_long) diagnose.add(lines.offset(), "the line is too long to be read");
        const json line =
            too_long ? json() : read_json(lines.line(), diagnose, lines.offset(), "the line");
        std::string type = line.is_object() ? string_at(line, "$report_type") : std::string();
        // Before reportlog 1.0.
        if (type.empty() && line.is_object()) type = string_at(line, "_report_type");
        if (type == "SessionStart") {
            begin(string_at(line, "pytest_version"));
            continue;
        }
        if (!session) {
            begin({});
            session->doubt(lines.offset(), "the file does not begin with a session");
        }
        // A last line without an end: the session is not finished, which says it.
        if (!line.is_object() && lines.complete())
            session->doubt(lines.offset(), "a line is no report");
        if (type == "CollectReport") session->collected(line);
        if (type == "TestReport" || type == "SubTestReport" || type == "SubtestReport")
            session->test(line, lines.offset(), type != "TestReport");
        if (type == "SessionFinish") {
            session->finish(integer_at(line, "exitstatus", -1), see);
            session.reset();
        }
    }
    if (session) session->finish({}, see);
    return diagnostics;
}

int pytest_reportlog_likeness(std::string_view beginning, std::string_view /*end*/) {
    return begins_as_json(beginning) && beginning.find("\"$report_type\": \"") != beginning.npos
               ? kCertain
               : 0;
}

}  // namespace compat::parsers

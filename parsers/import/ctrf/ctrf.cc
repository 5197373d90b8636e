#include "parsers/import/ctrf/ctrf.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "parsers/diagnosis/traceback.h"
#include "parsers/import/case_table.h"
#include "parsers/import/doubt.h"
#include "parsers/import/fields.h"
#include "parsers/import/json_document.h"
#include "parsers/import/origin.h"
#include "parsers/import/pytest_failure.h"
#include "parsers/import/unnamed.h"
#include "parsers/jsonl.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

constexpr double kLatestMs = 1e14;  // since 1970

constexpr std::array<std::string_view, 5> kStatuses{"passed", "failed", "skipped", "pending",
                                                    "other"};

// States.

// `rawStatus`: the framework's own word, of which a status has fewer. Our own is the state's name.
struct RawStatus {
    std::string_view word;
    State state;
    Phase phase = Phase::call;
};
constexpr std::array<RawStatus, 14> kRawStatuses{{
    {"setup_failed", State::errored, Phase::setup},  // pytest-json-ctrf
    {"teardown_failed", State::errored, Phase::teardown},
    {"error", State::errored},
    {"broken", State::errored},      // Allure
    {"timedOut", State::timed_out},  // Playwright
    {"timedout", State::timed_out},
    {"timeout", State::timed_out},
    {"interrupted", State::not_run},  // Playwright
    {"todo", State::skipped},         // jest
    {"pending", State::skipped},
    {"disabled", State::skipped},
    {"ignored", State::skipped},
    {"xfail", State::xfailed},
    {"xpass", State::xpassed},
}};

std::optional<RawStatus> raw_status_of(const json& test) {
    const std::string word = string_at(test, "rawStatus");
    for (const RawStatus& known : kRawStatuses)
        if (known.word == word) return known;
    const auto state = state_of(word);
    return state ? std::optional(RawStatus{{}, *state}) : std::nullopt;
}

bool is_bad(State state) { return is_broken(state) || state == State::not_run; }

// The framework's own word may say more than the status, and never the contrary.
State state_of_status(std::string_view status, std::optional<State> raw) {
    const State own = raw.value_or(State::passed);
    if (status == "failed") return is_bad(own) ? own : State::failed;
    if (status == "passed" && (own == State::xpassed || own == State::not_run)) return own;
    if (status == "passed") return is_bad(own) ? State::xfailed : State::passed;
    if (status == "skipped" || status == "pending")
        return own == State::xfailed || own == State::not_run ? own : State::skipped;
    return own == State::passed ? State::not_run : own;
}

// Names.

std::vector<std::string> suites_of(const json& test) {
    std::vector<std::string> suites;
    for (const json& suite : child_at(test, "suite"))
        if (suite.is_string()) suites.push_back(suite.get<std::string>());
    constexpr std::string_view kBetween = " > ";  // in a text, which is the older form
    const std::string text = string_at(test, "suite");
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(kBetween, begin), text.size());
        suites.push_back(text.substr(begin, end - begin));
        begin = end + kBetween.size();
    }
    return suites;
}

std::string join_words(const std::vector<std::string>& words, std::string_view between) {
    return fmt::format("{}", fmt::join(words, between));
}

// "path::Suite::test". The file is the module, else the first suite. Writers repeat the suites in
// the name ("outer inner test", "outer > test") and the file and the name in the suites.
std::string id_of(const json& test, const std::string& name, std::string_view stem) {
    std::string path = string_at(test, "filePath");
    if (!path.empty() && name.starts_with(path + "::")) return name;  // pytest's node id
    std::vector<std::string> suites = suites_of(test);
    if (path.empty() && !suites.empty()) {
        path = suites.front();
        suites.erase(suites.begin());
    } else {
        std::erase_if(suites, [&](const std::string& suite) {
            return path == suite || path.ends_with('/' + suite);
        });
    }
    if (path.empty()) path = stem;
    std::string own = name;
    if (!suites.empty() && join_words(suites, " > ") == name) {
        own = suites.back();
        suites.pop_back();
    } else if (const std::string before = join_words(suites, " ") + ' '; name.starts_with(before)) {
        own = name.substr(before.size());
    }
    for (size_t at = 0; (at = path.find("::", at)) != path.npos;) path.replace(at, 2, ".");
    std::replace(path.begin(), path.end(), '\\', '/');
    suites.insert(suites.begin(), path);
    suites.push_back(own.empty() ? "<nameless>" : own);
    return join_words(suites, "::");
}

// Tests.

// Who wrote the file, and of which framework.
struct CtrfWriter {
    bool runner = false;  // our own
    std::string framework;
    bool pytest = false;
};

Failure ctrf_failure(const json& test, const CtrfWriter& writer) {
    std::string trace = without_ansi(string_at(test, "trace"));
    // Commands of ours.
    if (writer.runner) trace.resize(std::min(trace.rfind("\nTo reproduce:\n"), trace.size()));
    const std::string text = without_ansi(string_at(test, "message"));
    const std::string_view message = trimmed(text);
    Failure failure;
    if (trace.find(kTracebackHeader) != trace.npos)
        failure = parse_traceback(trace);
    else if (writer.pytest)
        failure = parse_pytest_failure(trace, "");
    failure.traceback = trace;
    if (const std::string type = string_at(child_at(test, "extra"), "type");
        writer.runner && message.starts_with(type + ": ")) {
        failure.type = type;
        failure.message = message.substr(type.size() + 2);
    } else if (failure.type.empty()) {
        name_by_message(failure, message.empty() ? trimmed(trace) : message);
    }
    return failure;
}

// Passed, though Playwright's `test.fail()` expected a failure: its summary counts it as failed.
bool passed_unexpectedly(const json& test) {
    const json& annotations = child_at(child_at(test, "extra"), "annotations");
    return string_at(test, "status") == "passed" && string_at(test, "rawStatus") == "passed" &&
           std::ranges::any_of(annotations, [](const json& annotation) {
               return string_at(annotation, "type") == "fail";
           });
}

// A time of a test that has one and stops before it starts.
bool never_ended(const json& test) {
    return number_at(test, "duration") < 0 ||
           (test.contains("stop") && number_at(test, "stop") < number_at(test, "start"));
}

// How an attempt ended. `raw` has its `rawStatus`.
void set_result(CaseRecord& c, const json& test, const json& raw, const CtrfWriter& writer) {
    const std::string status = string_at(test, "status");
    const std::string message = without_ansi(string_at(test, "message"));
    const json& extra = child_at(test, "extra");
    const auto known = raw_status_of(raw);
    const auto state = known ? std::optional(known->state) : std::nullopt;
    c.state = writer.runner && state ? *state : state_of_status(status, state);
    const bool of_load = c.pseudo && (c.id.ends_with("<module>") || c.id.ends_with("<session>"));
    c.phase = of_load ? Phase::load : known ? known->phase : Phase::call;
    c.started = !writer.runner || c.state != State::not_run;
    c.duration_s = std::clamp(number_at(test, "duration") / 1000, 0.0, 1e9);
    constexpr double kFirst = 1e11;  // Playwright's are seconds
    if (const double start = number_at(test, "start"); start > kFirst && start < kLatestMs)
        c.started_ms = std::llround(start);
    // Its state says too little.
    const auto death = writer.pytest && status == "failed" ? pytest_death(message) : std::nullopt;
    if (death) c.state = State::crashed;
    if (writer.runner)
        c.reason = string_at(extra, "reason");
    else if (death)
        c.reason = death->words;
    else if (c.state != State::passed && !is_failure(c.state))
        c.reason = message;
    if (passed_unexpectedly(test)) {
        c.state = State::failed;
        c.failure = Failure{.message = "it passed, and was expected to fail"};
    } else if (c.state == State::passed && never_ended(test)) {
        c.state = State::not_run;
        c.reason = "it began and never ended";
    } else if (is_broken(c.state) || (writer.runner && extra.contains("type"))) {
        c.failure = ctrf_failure(test, writer);
        c.failure->phase = c.phase;
        if (death) c.failure->message = c.reason;
    }
    if (c.reason.empty() && is_bad(c.state) && !is_failure(c.state))
        c.reason =
            message.empty() ? fmt::format("{} {}", status, string_at(raw, "rawStatus")) : message;
}

CaseRecord ctrf_case(const json& test, const CtrfWriter& writer, std::string_view stem) {
    CaseRecord c;
    c.name = string_at(test, "name");
    const std::string id = writer.runner ? string_at(test, "testId") : std::string();
    c.id = tidy_id(id.empty() ? id_of(test, c.name, stem) : id);
    if (!id.empty()) c.name = id;
    c.location = {string_at(test, "filePath"), location_at(test).line};
    const json& extra = child_at(test, "extra");
    c.pseudo = writer.runner && flag_at(extra, "pseudo");
    set_result(c, test, test, writer);
    if (!writer.runner) return c;
    c.tests = std::clamp<std::int64_t>(integer_at(extra, "tests", 1), 1, kGreatestCount);
    for (const json& sub : child_at(extra, "subtests")) {
        if (!sub.is_object()) continue;
        const std::string name = string_at(sub, "id");
        SubCase& known = c.subcases.emplace_back();
        known.label = name.starts_with(id + ' ') ? name.substr(id.size() + 1) : name;
        known.state = state_of(string_at(sub, "state")).value_or(State::errored);
        known.reason = string_at(sub, "reason");
    }
    return c;
}

// The attempts before the last. Some writers only count them.
std::vector<CaseRecord> attempts_before(const json& test, const CaseRecord& last,
                                        const CtrfWriter& writer) {
    std::vector<CaseRecord> earlier;
    for (const json& attempt : child_at(test, "retryAttempts")) {
        if (!attempt.is_object()) continue;
        CaseRecord& c = earlier.emplace_back();
        c.id = last.id;
        c.name = last.name;
        c.location = last.location;
        c.pseudo = last.pseudo;
        set_result(c, attempt, writer.runner ? child_at(attempt, "extra") : attempt, writer);
    }
    if (earlier.empty() && last.state == State::passed && flag_at(test, "flaky")) {
        CaseRecord& c = earlier.emplace_back(last);
        c.state = State::failed;
        c.duration_s = 0;
        c.failure =
            Failure{.message = "it failed in an earlier attempt, of which the file has no more"};
    }
    return earlier;
}

CtrfWriter ctrf_writer(const json& results) {
    const std::string tool = string_at(child_at(results, "tool"), "name");
    CtrfWriter writer{.runner = tool == "runner", .framework = tool};
    if (writer.runner)
        writer.framework =
            string_at(child_at(child_at(results, "environment"), "extra"), "framework");
    if (!framework_of(writer.framework)) writer.framework = "ctrf";
    writer.pytest = is_framework(writer.framework, Framework::pytest);
    return writer;
}

Origin ctrf_origin(const json& results) {
    const json& environment = child_at(results, "environment");
    const json& summary = child_at(results, "summary");
    Origin origin;
    // Such files name no host, but what was tested where.
    for (const char* member : {"appName", "osPlatform", "osRelease", "osVersion", "extra"})
        if (const auto at = environment.find(member); at != environment.end())
            origin.host += at->dump(-1, ' ', false, json::error_handler_t::replace);
    origin.job = string_at(environment, "testEnvironment");
    for (const json* object : {&environment, &child_at(environment, "extra")})
        for (const auto& [name, value] : object->items())
            if (value.is_string() || value.is_number())
                take_property(origin, name,
                              value.is_string() ? value.get<std::string>() : value.dump());
    const double start = number_at(summary, "start"), stop = number_at(summary, "stop");
    if (start > 0 && stop >= start && stop < kLatestMs) {
        origin.zoned = true;
        origin.started_ms = std::llround(start);
        origin.ended_ms = std::llround(stop);
    }
    return origin;
}

void check_summary(const json& summary, const std::array<std::int64_t, kStatuses.size()>& counts,
                   Diagnoser& diagnose) {
    const auto check = [&](std::string_view word, std::int64_t ours) {
        const std::int64_t theirs = integer_at(summary, std::string(word).c_str(), ours);
        if (theirs != ours)
            diagnose.totals_differ(
                0, fmt::format("{}: {} by its summary, {} by its tests", word, theirs, ours));
    };
    check("tests", std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
    for (size_t i = 0; i < counts.size(); ++i) check(kStatuses[i], counts[i]);
    if (!summary.is_object())
        diagnose.add(0, "it states no totals that its tests could be held to");
    if (summary.is_object() && child_at(summary, "extra").contains("accounting_closed") &&
        !flag_at(summary["extra"], "accounting_closed"))
        diagnose.totals_differ(0, "the run of which it is says that its counts do not add up");
}

}  // namespace

std::vector<Diagnostic> read_ctrf(const ResultFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    const json document = read_json(file.bytes, diagnose);
    const json& results = document.is_object() ? child_at(document, "results") : document;
    if (!results.is_object() || !child_at(results, "tests").is_array()) {
        if (document.is_object()) diagnose.add(0, "there is no list of tests in it");
        return diagnostics;
    }
    const CtrfWriter writer = ctrf_writer(results);
    const std::string stem = stem_of(file.name);
    ModuleRecord record;
    record.framework = writer.framework;
    if (!writer.runner) record.framework_version = string_at(child_at(results, "tool"), "version");
    record.from_text = record.ready = record.finished = true;
    record.origin = ctrf_origin(results);
    std::array<std::int64_t, kStatuses.size()> counts{};
    for (const json& test : results["tests"]) {
        const std::string status = passed_unexpectedly(test) ? "failed" : string_at(test, "status");
        const auto* const known = std::find(kStatuses.begin(), kStatuses.end(), status);
        if (known == kStatuses.end())
            add_doubt(record, 0, "a test has no known status", "write the file again");
        else
            ++counts[static_cast<size_t>(known - kStatuses.begin())];
        if (!test.is_object()) continue;
        record.cases.push_back(ctrf_case(test, writer, stem));
        record.cases.back().earlier = attempts_before(test, record.cases.back(), writer);
    }
    check_summary(child_at(results, "summary"), counts, diagnose);
    number_repeated_ids(record.cases);
    record.collected = tests_in(record.cases);
    record.path = record.cases.empty() ? stem : common_module(record.cases);
    set_outcome_by_cases(record);
    const json& about = child_at(child_at(results, "environment"), "extra");
    if (writer.runner && about.contains("complete") && !flag_at(about, "complete")) {
        record.finished = false;
        record.outcome = ModuleOutcome::interrupted;
        record.reason = "the run of which it is was not complete";
    }
    see(std::move(record));
    return diagnostics;
}

int ctrf_likeness(std::string_view beginning, std::string_view end) {
    constexpr std::array<std::string_view, 4> kKeys{"\"results\"", "\"tool\"", "\"summary\"",
                                                    "\"tests\""};
    return begins_as_json(beginning) && count_words(kKeys, beginning, end) == 4 ? kCertain : 0;
}

}  // namespace compat::parsers

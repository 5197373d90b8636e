#include "parsers/import/gtest/googletest.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>

#include "parsers/ending.h"
#include "parsers/import/fields.h"
#include "parsers/import/json_document.h"
#include "parsers/jsonl.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

void add_line(Failure& failure, std::string_view line) {
    failure.traceback.append(failure.traceback.empty() ? "" : "\n").append(line);
}

void add_words(Failure& failure, std::string_view line) {
    add_line(failure, line);
    line = trimmed(line);
    if (line.empty()) return;
    failure.message.append(failure.message.empty() ? "" : " ").append(line);
}

// "a.cc:12: Failure", "unknown file: Failure", Microsoft's "a.cc(12): error: Value of: x". The
// test's own output may stand before it.
std::optional<Failure> heading_of(std::string_view line) {
    static const RE2 kHeading(
        R"((?:.*unknown file|(?:.*[ \t])?([^ \t]+):(\d{1,9})): (Failure|Skipped))", RE2::Latin1);
    static const RE2 kMicrosoft(R"((?:.*[ \t])?([^ \t]+)\((\d{1,9})\): error: (.*))", RE2::Latin1);
    if (line.find(": ") == std::string_view::npos) return std::nullopt;
    Failure failure;
    Frame place;
    std::string number;
    if (!RE2::FullMatch(line, kHeading, &place.file, &number, &failure.type)) {
        if (!RE2::FullMatch(line, kMicrosoft, &place.file, &number, &failure.message))
            return std::nullopt;
        failure.type = "Failure";
    }
    place.line = static_cast<int>(number_of(number).value_or(0));
    place.file = valid_utf8(place.file);
    if (!place.file.empty()) failure.frames.push_back(std::move(place));
    add_line(failure, line);
    return failure;
}

void make_valid(Failure& failure) {
    std::string& text = failure.traceback;
    text = valid_utf8(std::string_view(text).substr(0, text.find_last_not_of(" \n") + 1));
    failure.message = valid_utf8(failure.message);
}

}  // namespace

std::vector<Failure> googletest_failures(std::string_view text) {
    std::vector<Failure> failures;
    for (Lines lines(text); lines.next();) {
        if (auto heading = heading_of(lines.line()))
            failures.push_back(std::move(*heading));
        else if (!failures.empty())
            add_words(failures.back(), lines.line());
    }
    for (Failure& failure : failures) make_valid(failure);
    return failures;
}

Failure googletest_failure(std::string_view text, bool skipped) {
    const auto headed = [&](std::string_view place) {
        return heading_of(fmt::format("{}: {}", place, skipped ? "Skipped" : "Failure"));
    };
    Lines lines(text);
    auto failure = lines.next() ? headed(lines.line()) : std::nullopt;
    if (!failure) {
        failure = headed("unknown file");
        lines = Lines(text);
    }
    while (lines.next()) add_words(*failure, lines.line());
    make_valid(*failure);
    return *failure;
}

void set_googletest_result(CaseRecord& test, State state, std::vector<Failure> failures) {
    test.state = state;
    test.failure.reset();
    test.also.clear();
    test.reason.clear();
    for (Failure& failure : failures) {
        const bool skipped = failure.type == "Skipped";
        if (state == State::skipped && skipped && !failure.message.empty())
            test.reason += (test.reason.empty() ? "" : "; ") + failure.message;
        if (state != State::failed || skipped) continue;
        failure.phase = test.phase;
        if (!test.failure)
            test.failure = std::move(failure);
        else
            test.also.push_back(std::move(failure));
    }
    if (state == State::failed && !test.failure)
        test.failure = Failure{.type = "Failure", .phase = test.phase};
}

void set_googletest_disabled(CaseRecord& test) {
    test.state = State::skipped;
    test.started = false;
    test.reason = "DISABLED_";
    test.phase = Phase::setup;
}

CaseRecord googletest_fixture(std::string_view suite, std::vector<Failure> failures,
                              Phase of_environment) {
    const bool of_all = suite.empty() || suite == "NonTestSuiteFailure";
    CaseRecord row;
    row.name = of_all ? "<Environment>" : valid_utf8(suite) + "::<TestSuite>";
    row.pseudo = true;
    row.phase = of_all ? of_environment : Phase::class_setup;
    set_googletest_result(row, State::failed, std::move(failures));
    row.state = State::errored;
    return row;
}

// The JSON.

namespace {

class JsonRun {
  public:
    explicit JsonRun(const ForeignFile& file) {
        record_.path = stem_of(file.name);
        record_.framework = name_of(Framework::gtest);
        record_.from_text = true;
    }

    ModuleRecord read(const JsonDocument& document) {
        for (const json& suite : child_at(document.value, "testsuites"))
            if (suite.is_object())
                for (const json& test : child_at(suite, "testsuite"))
                    if (test.is_object()) read_test(string_at(suite, "name"), test);
        const auto count = [&](const char* key, std::int64_t least) {
            return std::clamp(integer_at(document.value, key, least), least, kGreatestCount);
        };
        const std::int64_t tests = count("tests", -1);
        record_.collected = static_cast<std::int64_t>(record_.cases.size()) +
                            std::max<std::int64_t>(0, tests - tests_);
        std::vector<Progress> progress(record_.cases.size(), Progress::ended);
        if (document.whole) {
            close(tests, std::max<std::int64_t>(0, count("disabled", 0) - disabled_that_ran_),
                  count("failures", 0));
        } else {
            diagnose(document.end, "the file is no whole JSON document; read up to here");
            Unnamed::Room room;
            Unnamed(record_, room).add(record_.path, tests - tests_, CaseRecord{});
            progress.resize(record_.cases.size(), Progress::announced);
        }
        settle(record_, progress,
               {.ready = true, .finished = document.whole, .fixture = {}, .last_end = {}},
               {ProcessEnd::Kind::stopped, 0, "the file breaks off"});
        return std::move(record_);
    }

  private:
    void diagnose(size_t offset, std::string message) {
        record_.diagnostics.push_back(
            {"log", static_cast<std::int64_t>(offset), std::move(message)});
    }

    // What failed outside of any test has no name.
    void read_test(const std::string& suite, const json& test) {
        std::vector<Failure> failures;
        for (const auto& [list, key, skipped] :
             {std::tuple{"failures", "failure", false}, std::tuple{"skipped", "message", true}})
            for (const json& entry : child_at(test, list))
                if (entry.is_object())
                    failures.push_back(googletest_failure(string_at(entry, key), skipped));
        const std::string name = string_at(test, "name");
        CaseRecord row;
        if (name.empty()) {
            row = googletest_fixture(suite, std::move(failures));
            row.id = fmt::format("{}::{}", record_.path, row.name);
        } else {
            ++tests_;
            row.name = fmt::format("{}.{}", suite, name);
            row.id = fmt::format("{}::{}::{}", record_.path, suite, name);
            row.location = location_at(test);
            row.duration_s = file_seconds(string_at(test, "time"));
            set_result(row, test, std::move(failures));
        }
        row.id = ids_.unique(row.id);
        record_.cases.push_back(std::move(row));
    }

    void set_result(CaseRecord& row, const json& test, std::vector<Failure> failures) {
        static const RE2 kDisabled(R"((?:^|[/.])DISABLED_)");
        const std::string status = string_at(test, "status");
        if (status == "NOTRUN") return set_googletest_disabled(row);
        row.started = status == "RUN";
        if (!row.started) {
            row.reason = "the file does not say what became of it";
            return;
        }
        disabled_that_ran_ += RE2::PartialMatch(row.name, kDisabled);
        const bool failed = !child_at(test, "failures").empty();
        const State good = string_at(test, "result") == "SKIPPED" ? State::skipped : State::passed;
        set_googletest_result(row, failed ? State::failed : good, std::move(failures));
    }

    // Of those that ran, the file counts what failed and not what was skipped.
    void close(std::int64_t tests, std::int64_t disabled, std::int64_t failures) {
        if (tests < 0) return diagnose(0, "the file does not count its tests");
        const auto skipped = std::count_if(
            record_.cases.begin(), record_.cases.end(),
            [](const CaseRecord& c) { return c.started && c.state == State::skipped; });
        const std::int64_t ran = std::max<std::int64_t>(0, tests - disabled);
        record_.closing = Closing{
            .text = fmt::format("tests: {}, failures: {}, disabled: {}", tests, failures, disabled),
            .ran = ran,
            .counts = {{"passed", ran - std::min(failures, ran) - skipped},
                       {"skipped", skipped},
                       {"failed", failures}}};
    }

    ModuleRecord record_;
    CaseIds ids_;
    std::int64_t tests_ = 0;              // rows that are tests
    std::int64_t disabled_that_ran_ = 0;  // they were asked for, and the file counts them all
};

}  // namespace

std::vector<Diagnostic> read_googletest_json(const ForeignFile& file, const SeePart& see) {
    const JsonDocument document = read_json(file.bytes);
    if (!document.value.is_object())
        return {{"log", static_cast<std::int64_t>(document.end), "the file is no JSON object"}};
    see(JsonRun(file).read(document));
    return {};
}

int googletest_json_likeness(std::string_view beginning, std::string_view /*end*/) {
    constexpr std::array<std::string_view, 2> kKeys{"\"testsuites\"", "\"disabled\""};
    return begins_as_json(beginning) && count_words(kKeys, beginning) == 2 ? kCertain : 0;
}

}  // namespace compat::parsers

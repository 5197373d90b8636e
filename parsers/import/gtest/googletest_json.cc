#include "parsers/import/gtest/googletest_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "parsers/ending.h"
#include "parsers/import/case_ids.h"
#include "parsers/import/gtest/googletest.h"
#include "parsers/import/json_document.h"
#include "parsers/jsonl.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

// "0.019s".
double googletest_seconds(const std::string& text) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value >= 0 && value < 1e9 ? value : 0;
}

// "Suite.DISABLED_Test", "Inst/DISABLED_Suite.Test/0".
bool is_disabled(std::string_view name) {
    return name.starts_with("DISABLED_") || name.find("/DISABLED_") != std::string_view::npos ||
           name.find(".DISABLED_") != std::string_view::npos;
}

// Of a list of {"failure": "a.cc:12\nwords"}.
std::vector<GoogletestPart> parts_in(const json& list, const char* key, bool skipped) {
    std::vector<GoogletestPart> parts;
    for (const json& entry : list)
        if (entry.is_object()) parts.push_back(googletest_part(string_at(entry, key), skipped));
    return parts;
}

class DocumentReader {
  public:
    explicit DocumentReader(const ForeignFile& file) {
        record_.path = valid_utf8(stem_of(file.name));
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
        const json& failures = child_at(test, "failures");
        std::vector<GoogletestPart> parts = parts_in(failures, "failure", false);
        const std::string name = string_at(test, "name");
        CaseRecord row;
        if (name.empty()) {
            const bool of_all = suite == "NonTestSuiteFailure";
            row = googletest_fixture(record_.path, of_all ? std::string() : suite,
                                     of_all ? Phase::module_setup : Phase::class_setup,
                                     std::move(parts));
        } else {
            ++tests_;
            row.name = fmt::format("{}.{}", suite, name);
            row.id = fmt::format("{}::{}::{}", record_.path, suite, name);
            row.location = location_at(test);
            row.duration_s = googletest_seconds(string_at(test, "time"));
            for (GoogletestPart& part : parts_in(child_at(test, "skipped"), "message", true))
                parts.push_back(std::move(part));
            set_result(row, test, !failures.empty(), std::move(parts));
        }
        row.id = ids_.unique(row.id);
        record_.cases.push_back(std::move(row));
    }

    void set_result(CaseRecord& row, const json& test, bool failed,
                    std::vector<GoogletestPart> parts) {
        const std::string status = string_at(test, "status");
        if (status == "NOTRUN") return set_googletest_disabled(row);
        row.started = status == "RUN";
        if (!row.started) {
            row.reason = "the file does not say what became of it";
            return;
        }
        disabled_that_ran_ += is_disabled(row.name);
        const State good = string_at(test, "result") == "SKIPPED" ? State::skipped : State::passed;
        set_googletest_result(row, failed ? State::failed : good, std::move(parts));
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
    see(DocumentReader(file).read(document));
    return {};
}

int googletest_json_likeness(std::string_view beginning, std::string_view /*end*/) {
    if (!trimmed(beginning.substr(0, 1000)).starts_with('{')) return 0;
    const auto has = [&](std::string_view key) {
        return beginning.find(key) != std::string_view::npos;
    };
    const bool whole = has("\"testsuites\"") && has("\"disabled\"");
    return whole ? kCertain : 0;
}

}  // namespace compat::parsers

#include "parsers/import/gtest/googletest_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

// "0.019s", as the text of a duration.
double seconds_of(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end != text.data() && value >= 0 && value < 1e9 ? value : 0;
}

// "a.cc:12\nwords", as GoogleTest would print it.
std::string as_printed(const std::string& text, std::string_view kind) {
    const size_t end = std::min(text.find('\n'), text.size());
    return fmt::format("{}: {}{}", text.substr(0, end), kind, text.substr(end));
}

// "Suite.DISABLED_Test", "Inst/DISABLED_Suite.Test/0".
bool is_disabled(std::string_view name) {
    constexpr std::string_view kDisabled = "DISABLED_";
    return name.starts_with(kDisabled) || name.find("/DISABLED_") != std::string_view::npos ||
           name.find(".DISABLED_") != std::string_view::npos;
}

void add_parts(const json& list, const char* key, std::string_view kind,
               std::vector<GoogletestPart>& to) {
    for (const json& entry : list)
        if (entry.is_object())
            for (GoogletestPart& part : googletest_parts(as_printed(string_at(entry, key), kind)))
                to.push_back(std::move(part));
}

class DocumentReader {
  public:
    DocumentReader(const ForeignFile& file, ModuleRecord& record)
        : record_(record), diagnose_("log", record.diagnostics) {
        record_.path = valid_utf8(stem_of(file.name));
        record_.framework = name_of(Framework::gtest);
        record_.from_text = true;
    }

    void read(const JsonDocument& document) {
        const json& suites = child_at(document.value, "testsuites");
        for (const json& suite : suites) read_suite(suite);
        const std::int64_t tests =
            std::clamp<std::int64_t>(integer_at(document.value, "tests", -1), -1, kGreatestCount);
        const std::int64_t disabled =
            std::clamp<std::int64_t>(integer_at(document.value, "disabled"), 0, kGreatestCount);
        const auto pseudo = static_cast<std::int64_t>(record_.cases.size()) - tests_;
        record_.collected = (tests >= 0 ? tests : tests_) + pseudo;
        if (document.whole) {
            close(tests, disabled - disabled_that_ran_, integer_at(document.value, "failures"));
        } else {
            diagnose_.add(document.end, "the file is no whole JSON document; read up to here");
            Unnamed::Room room;
            Unnamed unnamed(record_, room);
            unnamed.add(record_.path, tests - tests_, CaseRecord{});
            unnamed.tell(document.end);
            progress_.resize(record_.cases.size(), Progress::announced);
        }
        settle(record_, progress_,
               {.ready = true, .finished = document.whole, .fixture = {}, .last_end = {}},
               {ProcessEnd::Kind::stopped, 0, "the file breaks off"});
    }

  private:
    void read_suite(const json& suite) {
        if (!suite.is_object()) return diagnose_.add(0, "a test suite that is no object; skipped");
        const std::string name = string_at(suite, "name");
        const json& tests = child_at(suite, "testsuite");
        std::int64_t seen = 0;
        for (const json& test : tests) {
            if (!test.is_object()) {
                diagnose_.add(0, "a test of " + name + " that is no object; skipped");
                continue;
            }
            seen += read_test(name, test);
        }
        const std::int64_t told = integer_at(suite, "tests", seen);
        // A row for what failed outside of its tests may be among those that it counts.
        if (told > seen + 1 || told < seen)
            diagnose_.add(0, fmt::format("{} counts {} tests and holds {}", name, told, seen));
    }

    // Whether it is a test. What failed outside of any has no name.
    bool read_test(const std::string& suite, const json& test) {
        std::vector<GoogletestPart> parts;
        add_parts(child_at(test, "failures"), "failure", "Failure", parts);
        const std::string name = string_at(test, "name");
        if (name.empty()) {
            const bool of_suite = suite != "NonTestSuiteFailure";
            push(googletest_fixture(record_.path, of_suite ? suite : std::string(),
                                    of_suite ? Phase::class_setup : Phase::module_setup,
                                    std::move(parts)));
            return false;
        }
        ++tests_;
        add_parts(child_at(test, "skipped"), "message", "Skipped", parts);
        CaseRecord row;
        row.name = fmt::format("{}.{}", suite, name);
        row.id = fmt::format("{}::{}::{}", record_.path, suite, name);
        row.location = location_at(test);
        row.duration_s = seconds_of(string_at(test, "time"));
        const std::string status = string_at(test, "status");
        row.started = status == "RUN";
        disabled_that_ran_ += row.started && is_disabled(row.name);
        if (row.started) {
            const bool failed = !child_at(test, "failures").empty();
            const bool skipped = string_at(test, "result") == "SKIPPED";
            set_googletest_result(row,
                                  failed    ? State::failed
                                  : skipped ? State::skipped
                                            : State::passed,
                                  std::move(parts));
        } else if (status == "NOTRUN") {
            set_googletest_disabled(row);
        } else {
            row.reason = "the file does not say what became of it";
            diagnose_.add(0, fmt::format("{} has the status \"{}\"", row.name, status));
        }
        push(std::move(row));
        return true;
    }

    void push(CaseRecord row) {
        row.id = ids_.unique(row.id);
        record_.cases.push_back(std::move(row));
        progress_.push_back(Progress::ended);
    }

    // Of those that ran, the file counts what failed and not what was skipped.
    void close(std::int64_t tests, std::int64_t disabled, std::int64_t failures) {
        if (tests < 0) return diagnose_.add(0, "the file does not count its tests");
        const auto skipped = std::count_if(
            record_.cases.begin(), record_.cases.end(),
            [](const CaseRecord& c) { return c.started && c.state == State::skipped; });
        const std::int64_t ran =
            std::max<std::int64_t>(0, tests - std::max<std::int64_t>(0, disabled));
        const std::int64_t passed = ran - std::clamp<std::int64_t>(failures, 0, ran) - skipped;
        record_.closing = Closing{
            .text = fmt::format("tests: {}, failures: {}, disabled: {}", tests, failures, disabled),
            .ran = ran,
            .counts = {{"passed", passed}, {"skipped", skipped}, {"failed", failures}}};
    }

    ModuleRecord& record_;
    Diagnoser diagnose_;
    std::vector<Progress> progress_;
    CaseIds ids_;
    std::int64_t tests_ = 0;              // rows that are tests
    std::int64_t disabled_that_ran_ = 0;  // they were asked for, and the file counts them all
};

}  // namespace

std::vector<Diagnostic> read_googletest_json(const ForeignFile& file, const SeePart& see) {
    const JsonDocument document = read_json(file.bytes);
    if (!document.value.is_object())
        return {{"log", static_cast<std::int64_t>(document.end), "the file is no JSON object"}};
    ModuleRecord record;
    DocumentReader(file, record).read(document);
    see(std::move(record));
    return {};
}

int googletest_json_likeness(std::string_view beginning, std::string_view /*end*/) {
    if (!trimmed(beginning.substr(0, 1000)).starts_with('{')) return 0;
    constexpr std::array<std::string_view, 4> kSigns{"\"testsuites\"", "\"testsuite\"",
                                                     "\"disabled\"", "\"failures\""};
    return std::count_if(kSigns.begin(), kSigns.end(),
                         [&](const auto& sign) {
                             return beginning.find(sign) != std::string_view::npos;
                         }) >= 2
               ? kCertain
               : 0;
}

}  // namespace compat::parsers

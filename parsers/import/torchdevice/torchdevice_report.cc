#include "parsers/import/torchdevice/torchdevice_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <unordered_set>

#include "parsers/import/case_ids.h"
#include "parsers/import/gtest/googletest.h"
#include "parsers/import/torchdevice/torchdevice.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

// The rows of the report's first table.
struct Totals {
    std::optional<std::int64_t> modules, modules_passed, modules_broken;
    std::optional<std::int64_t> passed, broken, skipped, tests;
};
struct TotalRow {
    std::string_view words;
    std::optional<std::int64_t> Totals::*at;
};
constexpr std::array<TotalRow, 7> kTotalRows{
    {{"Modules Processed", &Totals::modules},
     {"Modules Passed", &Totals::modules_passed},
     {"Modules with Failures/Errors", &Totals::modules_broken},
     {"Passed Tests", &Totals::passed},
     {"Failed/Errored Tests", &Totals::broken},
     {"Skipped Tests", &Totals::skipped},
     {"Total Tests (from log summaries)", &Totals::tests}}};

// Without the blanks and stars around it.
std::string_view cell(std::string_view text) {
    const size_t begin = text.find_first_not_of(" *\t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" *\t") - begin + 1);
}

// The text between two marks; nothing where they are not both there.
std::optional<std::string_view> between(std::string_view text, std::string_view from,
                                        std::string_view to) {
    const size_t begin = text.find(from);
    if (begin == std::string_view::npos) return std::nullopt;
    text.remove_prefix(begin + from.size());
    const size_t end = text.find(to);
    if (end == std::string_view::npos) return std::nullopt;
    return text.substr(0, end);
}

// The last fenced block of an entry, without the two blanks before each line.
std::string traceback_in(std::string_view entry) {
    constexpr std::string_view kSnippet = "- **Traceback / Log Snippet:**";
    constexpr std::string_view kFence = "  ```";
    std::string text;
    const size_t snippet = entry.find(kSnippet);
    if (snippet == std::string_view::npos) return text;
    Lines lines(entry, snippet);
    size_t begin = 0;
    while (begin == 0 && lines.next())
        if (lines.line().starts_with(kFence)) begin = lines.after();
    const size_t end = entry.rfind(kFence);
    if (begin == 0 || end == std::string_view::npos || end < begin) return text;
    for (Lines body(entry.substr(begin, end - begin)); body.next();) {
        std::string_view line = body.line();
        if (line.starts_with("  ")) line.remove_prefix(2);
        text.append(line).push_back('\n');
    }
    return text;
}

// Of two counts, which may be as great as a number can be.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - std::max(a, b);
    return std::min(a, b) > room ? std::numeric_limits<std::int64_t>::max() : a + b;
}

class Report {
  public:
    Report(const ForeignFile& file, ModuleRecord& record)
        : file_(file), record_(record), diagnose_("log", record.diagnostics) {
        record_.framework = name_of(Framework::unittest);
        record_.from_text = record_.ready = true;
    }

    // Whether there is anything of a report in the file.
    bool read() {
        std::optional<size_t> entry;
        const auto finish = [&](size_t end) {
            if (entry) read_failure(file_.bytes.substr(*entry, end - *entry), *entry);
            entry.reset();
        };
        for (Lines lines(file_.bytes); lines.next();) {
            const std::string_view line = lines.line();
            const bool heading = line.starts_with("#### ");
            if (heading || line.starts_with("### ") || line.starts_with("## ") ||
                line.starts_with("<a id="))
                finish(lines.offset());
            if (heading && line.find(". Failure in `") != std::string_view::npos)
                entry = lines.offset();
            else if (!entry && line.starts_with("| "))
                read_total(line);
            else if (!entry && line.starts_with("- `"))
                read_passed(line, lines.offset());
        }
        finish(file_.bytes.size());
        if (!totals_.tests && record_.cases.empty() && counted_.empty()) return false;
        close();
        return true;
    }

  private:
    struct Counted {
        std::string path;
        std::int64_t passed, skipped;
    };

    void read_total(std::string_view line) {
        const size_t first = line.find('|', 1);
        if (first == std::string_view::npos) return;
        const std::string_view rest = line.substr(first + 1);
        const auto count = number_of(cell(rest.substr(0, rest.find('|'))));
        const std::string_view words = cell(line.substr(1, first - 1));
        for (const TotalRow& row : kTotalRows)
            if (row.words == words && count && !(totals_.*row.at)) totals_.*row.at = count;
    }

    // "#### 1. Failure in `test_x` (Module: `tests.test_a`)" and what follows it.
    void read_failure(std::string_view entry, size_t offset) {
        const std::string_view heading = entry.substr(0, entry.find('\n'));
        const auto method = between(heading, "Failure in `", "` (Module: `");
        const auto module = between(heading, "` (Module: `", "`)");
        const auto word = between(entry, "- **Status:** `", "`");
        const auto state = word ? torchdevice_state(*word) : std::nullopt;
        if (!method || !module || !state)
            return diagnose_.add(offset, "a failure without its test, its module or its status");
        const std::string path = torchdevice_path(*module);
        const auto key_line = between(entry, "- **Key Error Line:** `", "`\n");
        CaseRecord row = torchdevice_case(path, {}, *method, *state, traceback_in(entry),
                                          key_line.value_or(std::string_view()));
        row.id = ids_.unique(row.id);
        broken_modules_.insert(path);
        fixtures_ += !row.started;
        record_.cases.push_back(std::move(row));
    }

    // "- `tests/test_a.py` (Parsed Summary - Passed: 10, Skipped: 0, Total: 10)".
    void read_passed(std::string_view line, size_t offset) {
        const auto path = between(line, "- `", "` (");
        const auto passed = between(line, "Passed: ", ",");
        const auto skipped = between(line, "Skipped: ", ",");
        const auto total = between(line, "Total: ", ")");
        if (!path || !passed || !skipped || !total) return;
        const auto n_passed = number_of(*passed);
        const auto n_skipped = number_of(*skipped);
        const auto n_total = number_of(*total);
        constexpr std::int64_t kPlausible = 1'000'000'000;
        if (!n_passed || !n_skipped || !n_total || *n_passed > kPlausible ||
            *n_skipped > kPlausible)
            return diagnose_.add(offset, "a module whose totals are no numbers");
        // What passed is the rest, and never less than 0: skips of fixtures are no tests.
        if (*n_passed != std::max<std::int64_t>(0, *n_total - *n_skipped))
            diagnose_.add(offset, fmt::format("the totals of {} do not add up", valid_utf8(*path)));
        counted_.push_back({valid_utf8(*path), *n_passed, *n_skipped});
    }

    [[nodiscard]] std::int64_t named(State state) const {
        return std::count_if(record_.cases.begin(), record_.cases.end(),
                             [&](const CaseRecord& c) { return c.state == state; });
    }

    void close() {
        const std::int64_t failed = named(State::failed);
        const std::int64_t errored = named(State::errored);
        check_modules();
        add_unnamed();
        record_.collected = static_cast<std::int64_t>(record_.cases.size());
        record_.finished = totals_.tests.has_value();
        if (!totals_.tests) {
            diagnose_.add(file_.bytes.size(), "the report has no total of its tests");
            return;
        }
        // It counts what failed and what errored together.
        const std::int64_t broken = totals_.broken.value_or(failed + errored);
        const std::int64_t others = sum_of(broken, totals_.skipped.value_or(0));
        const std::int64_t sum = sum_of(totals_.passed.value_or(0), others);
        record_.closing =
            Closing{.text = fmt::format("{} tests: {} passed, {} failed or errored, {} skipped",
                                        *totals_.tests, totals_.passed.value_or(0), broken,
                                        totals_.skipped.value_or(0)),
                    .ran = totals_.tests,
                    .counts = {{"failures", failed},
                               {"errors", broken - failed},
                               {"skipped", totals_.skipped.value_or(0)}}};
        if (sum != *totals_.tests)
            diagnose_.add(0, fmt::format("the report's totals do not add up: {} tests, {} by state",
                                         *totals_.tests, sum));
    }

    void check_modules() {
        const auto check = [&](std::string_view words, std::optional<std::int64_t> theirs,
                               size_t ours) {
            if (theirs && *theirs != static_cast<std::int64_t>(ours))
                diagnose_.add(0, fmt::format("{}: {} by the report's table, {} of them named",
                                             words, *theirs, ours));
        };
        check("modules processed", totals_.modules, broken_modules_.size() + counted_.size());
        check("modules passed", totals_.modules_passed, counted_.size());
        check("modules with failures", totals_.modules_broken, broken_modules_.size());
    }

    // As the table has it. A fixture that broke is subtracted there from the tests that ran, of
    // which it is none.
    [[nodiscard]] std::int64_t tests_passed() const {
        const std::int64_t told = totals_.passed.value_or(0);
        const auto broken = static_cast<std::int64_t>(record_.cases.size()) - fixtures_;
        const std::int64_t others = sum_of(broken, totals_.skipped.value_or(0));
        const std::int64_t rest = totals_.tests.value_or(0) - others;
        return std::max(told, std::min(sum_of(told, fixtures_), rest));
    }

    void add_unnamed() {
        Unnamed::Room room;
        Unnamed unnamed(record_, room);
        const std::int64_t all_passed = tests_passed();
        CaseRecord passed;
        passed.state = State::passed;
        passed.started = true;
        CaseRecord skipped = passed;
        skipped.state = State::skipped;
        std::int64_t n_passed = 0;
        std::int64_t n_skipped = 0;
        for (const Counted& module : counted_) {
            unnamed.add(module.path, module.passed, passed);
            unnamed.add(module.path, module.skipped, skipped);
            n_passed += module.passed;
            n_skipped += module.skipped;
        }
        const std::string rest = valid_utf8(stem_of(file_.name));
        unnamed.add(rest, all_passed - n_passed, passed);
        unnamed.add(rest, totals_.skipped.value_or(0) - n_skipped, skipped);
        unnamed.tell(0);
    }

    const ForeignFile& file_;
    ModuleRecord& record_;
    Diagnoser diagnose_;
    Totals totals_;
    std::vector<Counted> counted_;
    std::unordered_set<std::string> broken_modules_;
    CaseIds ids_;
    std::int64_t fixtures_ = 0;
};

}  // namespace

std::vector<Diagnostic> read_torchdevice_report(const ForeignFile& file, const SeePart& see) {
    ModuleRecord record;
    if (!Report(file, record).read()) return {{"log", 0, "the file holds no report of tests"}};
    see(std::move(record));
    return {};
}

int torchdevice_report_likeness(std::string_view beginning, std::string_view /*end*/) {
    const std::string_view top = beginning.substr(0, 4000);
    const bool begins = top.find("## I. Executive Summary") != std::string_view::npos &&
                        top.find("| Modules Processed ") != std::string_view::npos;
    return begins ? kCertain : 0;
}

}  // namespace compat::parsers

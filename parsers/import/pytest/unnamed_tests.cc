#include "parsers/import/pytest/unnamed_tests.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "parsers/closing.h"
#include "parsers/import/foreign.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

size_t index_of(State state) { return static_cast<size_t>(state); }

class UnnamedPytest {
  public:
    UnnamedPytest(const PytestFacts& facts, const PytestEnd& end, ModuleRecord& record,
                  Unnamed::Room& room)
        : facts_(facts), end_(end), record_(record), unnamed_(record, room) {}

    void add_counted();
    void add_missing(std::vector<Progress>& progress);
    void tell() const {
        if (unnamed_.left_out() > 0) unnamed_.tell(facts_.begin);
    }

  private:
    void add(std::string_view path, State state, std::int64_t count, std::string reason = {});
    void add_skips(std::int64_t& left);
    [[nodiscard]] std::int64_t unnamed_subtests(std::int64_t failed) const;
    void add_subtests(std::int64_t count);
    void mark_modules(std::int64_t more);
    [[nodiscard]] std::int64_t skips_beyond_tests() const;

    const PytestFacts& facts_;
    const PytestEnd& end_;
    ModuleRecord& record_;
    Unnamed unnamed_;
    std::unordered_map<std::string, OutcomeCounts> by_file_;  // of tests with a row
};

void UnnamedPytest::add(std::string_view path, State state, std::int64_t count,
                        std::string reason) {
    CaseRecord like;
    like.state = state;
    like.started = state != State::not_run;
    like.reason = std::move(reason);
    unnamed_.add(path.empty() ? end_.fallback : path, count, like);
}

// Skipped tests have their reasons in the summary, by place.
void UnnamedPytest::add_skips(std::int64_t& left) {
    for (const PytestFacts::Summary& summary : facts_.summaries) {
        const std::int64_t count = std::min(summary.count, left);
        if (count <= 0) continue;
        const size_t colon = summary.text.find(": ");
        const std::string path = valid_utf8(
            std::string_view(summary.text).substr(0, colon).substr(0, summary.text.find(':')));
        add(path, State::skipped, count,
            colon == std::string::npos ? std::string()
                                       : valid_utf8(summary.text.substr(colon + 2)));
        by_file_[path][index_of(State::skipped)] += count;
        left -= count;
    }
}

// Of `failed` outcomes without a name, those that have no character of a test.
std::int64_t UnnamedPytest::unnamed_subtests(std::int64_t failed) const {
    if (facts_.subtest_characters == 0 || !end_.closing) return 0;
    const std::int64_t beyond =
        count_in(*end_.closing, "failed") - facts_.counts[index_of(State::failed)];
    return std::clamp<std::int64_t>(beyond, 0, failed);
}

// They are of a test that failed.
void UnnamedPytest::add_subtests(std::int64_t count) {
    const auto parent = std::find_if(
        record_.cases.begin(), record_.cases.end(),
        [](const CaseRecord& c) { return c.state == State::failed && c.subcases.empty(); });
    if (parent == record_.cases.end()) return;
    for (std::int64_t n = 1; n <= std::min(count, Unnamed::kMost); ++n)
        parent->subcases.push_back({"<unnamed " + std::to_string(n) + ">", State::failed, {}, {}});
}

void UnnamedPytest::add_counted() {
    OutcomeCounts left = facts_.counts;
    if (end_.closing)
        for (const CountedWord& known : counted_words(record_.framework))
            left[index_of(known.state)] =
                std::min(count_in(*end_.closing, known.word), kGreatestCount);
    OutcomeCounts named{};
    for (const CaseRecord& c : record_.cases) {
        add_outcomes(named, c, record_.framework);
        if (!facts_.verbose)
            add_outcomes(by_file_[std::string(module_of(c))], c, record_.framework);
    }
    for (size_t n = 0; n < left.size(); ++n)
        left[n] = std::max<std::int64_t>(left[n] - named[n], 0);
    std::int64_t& skips = left[index_of(State::skipped)];
    const bool subtests =
        facts_.selected && end_.closing && count_in(*end_.closing, "subtests passed") > 0;
    const std::int64_t beyond = std::min(skips, skips_beyond_tests());
    const std::int64_t modules = subtests ? std::min(beyond, facts_.skipped_modules) : beyond;
    // Verbose, each test has its line: one that is missing shows in the totals.
    const std::int64_t subskips = end_.sure ? std::min(skips - beyond, facts_.skipped_subtests) : 0;
    const std::int64_t rows = facts_.verbose ? modules : skips - beyond - subskips + modules;
    if (facts_.verbose) left = {};
    skips = rows;
    const std::int64_t subs = unnamed_subtests(left[index_of(State::failed)]);
    left[index_of(State::failed)] -= subs;
    add_skips(left[index_of(State::skipped)]);
    for (const PytestFacts::Characters& file : facts_.characters) {
        if (file.file.empty()) continue;
        OutcomeCounts& had = by_file_[file.file];
        for (size_t n = 0; n < left.size(); ++n) {
            const std::int64_t used = std::min(had[n], file.counts[n]);
            const std::int64_t count = std::min(file.counts[n] - used, left[n]);
            had[n] -= used;
            add(file.file, static_cast<State>(n), count);
            left[n] -= count;
        }
    }
    for (const CountedWord& known : counted_words(record_.framework))
        add({}, known.state, left[index_of(known.state)]);
    mark_modules(modules);
    if (subs > 0) add_subtests(subs);
}

// What is counted as skipped and has neither a line nor a character: modules that skip as a whole,
// and sub-tests, where the closing counts any.
std::int64_t UnnamedPytest::skips_beyond_tests() const {
    if (!end_.closing || !end_.sure) return 0;
    const std::int64_t tests = facts_.counts[index_of(State::skipped)] + facts_.skipped_subtests;
    return std::max<std::int64_t>(count_in(*end_.closing, "skipped") - tests, 0);
}

void UnnamedPytest::mark_modules(std::int64_t more) {
    std::vector<CaseRecord>& cases = record_.cases;
    for (size_t i = cases.size(); i-- > 0 && more > 0;) {
        if (cases[i].state != State::skipped || !cases[i].name.starts_with("<unnamed ")) continue;
        cases[i].pseudo = true;
        cases[i].started = false;
        cases[i].phase = Phase::load;
        --more;
    }
}

// Of tests that were collected nothing else is said: the session stopped, or its process died.
void UnnamedPytest::add_missing(std::vector<Progress>& progress) {
    const bool died = (facts_.timed_out || end_.died) && !end_.closing;
    const bool in_test = died && !facts_.verbose && facts_.in_order && !facts_.all_ran;
    if (in_test)
        add(facts_.characters.empty() ? std::string_view() : facts_.characters.back().file,
            State::not_run, 1);
    progress.resize(record_.cases.size(), Progress::ended);
    if (in_test) {
        progress.back() = Progress::started;
        record_.cases.back().started = true;
    }
    if (facts_.selected) {
        const auto tests = std::count_if(record_.cases.begin(), record_.cases.end(),
                                         [](const CaseRecord& c) { return !c.pseudo; });
        const std::string why = !facts_.stopped.empty() ? facts_.stopped
                                : end_.closing          ? "the session stopped before it ran"
                                : died                  ? ""
                                                        : "the log breaks off";
        add({}, State::not_run, *facts_.selected - tests, why);
        progress.resize(record_.cases.size(), died ? Progress::announced : Progress::ended);
        return;
    }
    if (facts_.verbose || facts_.stopped.empty() || facts_.all_ran || !end_.closing ||
        !facts_.internal_error.empty())
        return;
    CaseRecord session;
    session.id = std::string(end_.fallback) + "::<session>";
    session.name = "<session>";
    session.state = State::not_run;
    session.pseudo = true;
    session.phase = Phase::load;
    session.reason = facts_.stopped + "; the log does not say how many tests were left";
    record_.cases.push_back(std::move(session));
    progress.push_back(Progress::ended);
}

}  // namespace

void add_unnamed_pytest(const PytestFacts& facts, const PytestEnd& end, ModuleRecord& record,
                        std::vector<Progress>& progress, Unnamed::Room& room) {
    UnnamedPytest unnamed(facts, end, record, room);
    unnamed.add_counted();
    unnamed.add_missing(progress);
    unnamed.tell();
}

}  // namespace compat::parsers

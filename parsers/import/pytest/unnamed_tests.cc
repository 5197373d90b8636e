// The tests of a session that only characters and totals speak of. Not for tests that have a name
// in the log (finish.cc).
#include <algorithm>
#include <string>
#include <unordered_map>

#include "parsers/framework_summary.h"
#include "parsers/import/importers.h"
#include "parsers/import/pytest/session.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

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
    void add(std::string_view path, State state, std::int64_t count, std::string reason = {}) {
        unnamed_.add(path.empty() ? end_.fallback : path, count, state, std::move(reason));
    }
    void add_skips(std::int64_t& left);
    void add_subtests(std::int64_t count);
    void mark_modules(std::int64_t more);
    [[nodiscard]] std::int64_t seen(State state) const { return facts_.counts[state]; }
    [[nodiscard]] std::int64_t counted(std::string_view word) const {
        return end_.closing ? std::min(count_in(*end_.closing, word), kGreatestCount) : 0;
    }

    const PytestFacts& facts_;
    const PytestEnd& end_;
    ModuleRecord& record_;
    Unnamed unnamed_;
    std::unordered_map<std::string, OutcomeCounts> by_file_;  // of tests with a row
};

// Skipped tests have their reasons in the summary, by place: "tests/test_a.py:4: why".
void UnnamedPytest::add_skips(std::int64_t& left) {
    for (const PytestSummary& summary : facts_.summaries) {
        const std::int64_t count = std::min(summary.count, left);
        if (count <= 0) continue;
        const std::string text = valid_utf8(summary.text);
        const size_t colon = std::min(text.find(": "), text.size());
        const std::string path = text.substr(0, text.find(':'));
        add(path, State::skipped, count, text.substr(std::min(colon + 2, text.size())));
        by_file_[path][State::skipped] += count;
        left -= count;
    }
}

// They are of a test that failed.
void UnnamedPytest::add_subtests(std::int64_t count) {
    const auto parent = std::find_if(
        record_.cases.begin(), record_.cases.end(),
        [](const CaseRecord& c) { return c.state == State::failed && c.subcases.empty(); });
    if (parent == record_.cases.end()) return;
    const std::int64_t fitting = unnamed_.take_room(count);
    for (std::int64_t n = 1; n <= fitting; ++n)
        parent->subcases.push_back({"<unnamed " + std::to_string(n) + ">", State::failed, {}, {}});
}

// As many in each state as the closing counts beyond those with a name, else as there are
// characters.
void UnnamedPytest::add_counted() {
    OutcomeCounts left = facts_.counts;
    OutcomeCounts named{};
    for (const CaseRecord& c : record_.cases) {
        add_outcomes(named, c, record_.framework);
        if (!facts_.verbose)
            add_outcomes(by_file_[std::string(module_of(c))], c, record_.framework);
    }
    for (const CountedWord& known : counted_words(record_.framework)) {
        if (end_.closing) left[known.state] = counted(known.word);
        left[known.state] = std::max<std::int64_t>(left[known.state] - named[known.state], 0);
    }
    // Skips that are counted and have neither a line nor a character are modules that skip as a
    // whole, and sub-tests, where the closing counts any.
    const std::int64_t skips = left[State::skipped];
    const std::int64_t beyond =
        end_.sure
            ? std::clamp<std::int64_t>(
                  counted("skipped") - seen(State::skipped) - facts_.skipped_subtests, 0, skips)
            : 0;
    const bool subtests = facts_.selected && counted("subtests passed") > 0;
    const std::int64_t modules = subtests ? std::min(beyond, facts_.skipped_modules) : beyond;
    const std::int64_t subskips = end_.sure ? std::min(skips - beyond, facts_.skipped_subtests) : 0;
    // Verbose, each test has its line: one that is missing shows in the totals.
    if (facts_.verbose) left = {};
    left[State::skipped] = modules + (facts_.verbose ? 0 : skips - beyond - subskips);
    // Failures without a character are sub-tests.
    const std::int64_t subs =
        facts_.subtest_characters == 0
            ? 0
            : std::clamp<std::int64_t>(counted("failed") - seen(State::failed), 0,
                                       left[State::failed]);
    left[State::failed] -= subs;
    add_skips(left[State::skipped]);
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
        add({}, known.state, left[known.state]);
    mark_modules(modules);
    add_subtests(subs);
}

void UnnamedPytest::mark_modules(std::int64_t more) {
    for (auto c = record_.cases.rbegin(); c != record_.cases.rend() && more > 0; ++c) {
        if (c->state != State::skipped || !c->name.starts_with("<unnamed ")) continue;
        c->pseudo = true;
        c->started = false;
        c->phase = Phase::load;
        --more;
    }
}

// Adds tests that were collected and have no result: the session stopped, or its process died.
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
    } else if (!facts_.verbose && !facts_.stopped.empty() && !facts_.all_ran && end_.closing &&
               facts_.internal_error.empty()) {
        CaseRecord session = session_row(end_.fallback);
        session.reason = facts_.stopped + "; the log does not say how many tests were left";
        record_.cases.push_back(std::move(session));
        progress.push_back(Progress::ended);
    }
}

}  // namespace

CaseRecord session_row(std::string_view path) {
    CaseRecord c;
    c.id = std::string(path) + "::<session>";
    c.name = "<session>";
    c.pseudo = true;
    c.phase = Phase::load;
    return c;
}

void add_unnamed_pytest(const PytestFacts& facts, const PytestEnd& end, ModuleRecord& record,
                        std::vector<Progress>& progress, Unnamed::Room& room) {
    UnnamedPytest unnamed(facts, end, record, room);
    unnamed.add_counted();
    unnamed.add_missing(progress);
    unnamed.tell();
}

}  // namespace compat::parsers

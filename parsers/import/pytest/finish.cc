// The end of a session of pytest's: a record with one state for each test (session.h).
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "parsers/diagnosis/traceback.h"
#include "parsers/framework_summary.h"
#include "parsers/import/doubt.h"
#include "parsers/import/importers.h"
#include "parsers/import/lines.h"
#include "parsers/import/pattern.h"
#include "parsers/import/printed_end.h"
#include "parsers/import/pytest/failure.h"
#include "parsers/import/pytest/session.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kPytestAdvice =
    "import JUnit XML (--junit-xml), or run again with -v and without -s";

// "AssertionError: 1 != 2" of the summary: all there is where no section tells more.
Failure summarised(std::string_view why, State counted) {
    static const Pattern typed(R"(([^ \[(:]+): (.*))");
    Failure failure;
    failure.counted = counted;
    failure.phase = counted == State::failed ? Phase::call : Phase::setup;
    const auto found = typed.match(why);
    if (found) failure.type = valid_utf8((*found)[1]);
    failure.message = valid_utf8(found ? (*found)[2] : why);
    return failure;
}

class PytestFinish {
  public:
    PytestFinish(PytestFacts& facts, const PytestEnd& end) : facts_(facts), end_(end) {}

    // All that is said of tests, onto their cases.
    void add_all(std::vector<Diagnostic>& diagnostics) {
        add_summaries();
        add_sections();
        add_summarised();
        add_crashes();
        if (!facts_.module.empty() && facts_.skipped_modules > 0)
            facts_.outcomes[module_case(facts_.module)].call = State::skipped;
        add_internal_error(diagnostics);
    }
    // Gives case `i` its state where it ended.
    [[nodiscard]] Progress resolve(size_t i);
    // If the session is not verbose: finds the outcomes of calls whose tear-downs broke, and
    // what nothing tells.
    void resolve_quiet();
    // Why the states may be wrong though the totals agree; empty: they are not.
    [[nodiscard]] std::string_view doubt() const { return doubt_; }

  private:
    void add_summaries();
    void add_sections();
    void add_section(const PytestFacts::Section& section, PytestHeadings& headings,
                     PytestOwner owner);
    // Failures, their types and sub-tests that no section tells of.
    void add_summarised();
    void add_crashes();
    void add_internal_error(std::vector<Diagnostic>& diagnostics);
    size_t module_case(std::string_view path);
    size_t test_headed(PytestHeadings& headings, std::string_view name, const Failure& failure);
    [[nodiscard]] SummaryText split(const PytestSummary& summary);
    [[nodiscard]] Failure failure_in(size_t begin, size_t end) const;
    void excuse(CaseRecord& c) const;

    PytestFacts& facts_;
    const PytestEnd& end_;
    std::set<std::string, std::less<>> headings_;  // of sections
    std::vector<size_t> errors_;                   // cases with a section of an error, in order
    std::string_view doubt_;
};

size_t PytestFinish::module_case(std::string_view path) {
    const std::string name(facts_.module.empty() ? valid_utf8(path) : facts_.module);
    const auto known = facts_.find(name);
    const size_t i = known.value_or(facts_.cases.size());
    if (known) return i;
    CaseRecord& c = facts_.cases.emplace_back();
    c.id = name + "::<module>";
    c.name = name;
    c.pseudo = true;
    c.phase = Phase::load;
    facts_.outcomes.emplace_back();
    return i;
}

// A test with a line or a section of its own is known.
SummaryText PytestFinish::split(const PytestSummary& summary) {
    return split_summary(summary, [&](std::string_view node) {
        const size_t names = node.find("::");
        return facts_.find(node) ||
               (names != std::string_view::npos &&
                headings_.contains(section_heading_of(node.substr(names + 2))));
    });
}

// The summary says how tests without a line of their own ended, if it names them; of one with
// a line, that it failed in spite of what it printed (-s), or that its line is lost.
void PytestFinish::add_summaries() {
    for (const PytestFacts::Section& section : facts_.sections) headings_.insert(section.heading);
    for (const PytestSummary& summary : facts_.summaries) {
        if (summary.count > 0) continue;
        if (facts_.verbose && (!is_failure(summary.state) || summary.of_subtest)) continue;
        const SummaryText text = split(summary);
        if (text.node.find("::") == std::string_view::npos) continue;
        const size_t i = facts_.place_of(text.node);
        if (summary.of_subtest) continue;
        PytestOutcomes& outcomes = facts_.outcomes[i];
        if (facts_.verbose && outcomes.any()) {
            if (summary.state != State::failed || outcomes.errored ||
                outcomes.call == State::failed)
                continue;
            outcomes = {};
        }
        if (summary.state == State::errored)
            outcomes.errored = true;
        else if (outcomes.call && summary.state == State::xfailed)
            outcomes.excused = true;
        else if (!outcomes.call)
            outcomes.call = summary.state;
        if (summary.state == State::xfailed || summary.state == State::xpassed)
            facts_.cases[i].reason = valid_utf8(text.why);
    }
}

// For a test that nothing else names: its file is that of its first line of source.
size_t PytestFinish::test_headed(PytestHeadings& headings, std::string_view name,
                                 const Failure& failure) {
    if (const auto known = headings.find(name)) return *known;
    doubt_ = "no summary names the tests that failed";
    std::string path = failure.frames.empty() ? end_.fallback : failure.frames.front().file;
    if (!facts_.root.empty() && path.starts_with(facts_.root + "/"))
        path.erase(0, facts_.root.size() + 1);
    std::string tail(name);
    for (size_t dot = tail.find('.'); dot < tail.find('['); dot = tail.find('.', dot))
        tail.replace(dot, 1, "::");
    const size_t i = facts_.place_of(fmt::format("{}::{}", path, tail));
    headings.add(facts_.cases[i].name, i);
    return i;
}

// "[gw0] linux -- Python 3.11.7 /python" of pytest-xdist may stand in front.
Failure PytestFinish::failure_in(size_t begin, size_t end) const {
    std::string plain;
    std::string_view body = unwrapped(facts_.text.substr(begin, end - begin), plain);
    const size_t first = std::min(body.find('\n'), body.size() - !body.empty());
    if (body.starts_with("[gw") && body.substr(0, first).find(" -- Python ") < first)
        body.remove_prefix(first + 1);
    return parse_pytest_failure(body.substr(0, body.find_last_not_of('\n') + 1), facts_.root);
}

void PytestFinish::add_sections() {
    // In a verbose session, each has its owner.
    static const std::vector<CaseRecord> none;
    PytestHeadings headings(facts_.verbose ? none : facts_.cases);
    for (const PytestFacts::Section& section : facts_.sections)
        add_section(
            section, headings,
            facts_.verbose ? section.owner : headings.owner_of(section.heading, facts_.outcomes));
}

void PytestFinish::add_section(const PytestFacts::Section& section, PytestHeadings& headings,
                               PytestOwner owner) {
    Failure failure = failure_in(section.body, section.end);
    failure.phase = owner.phase;
    failure.counted = owner.phase == Phase::call ? State::failed : State::errored;
    if (owner.kind == PytestOwner::Kind::module) {
        const size_t i = module_case(owner.name);
        facts_.outcomes[i].errored = true;
        return keep_failure(facts_.cases[i], std::move(failure));
    }
    if (owner.kind == PytestOwner::Kind::unknown) {
        // The summary has named all that failed: a test has printed the heading, or a plugin.
        if (std::any_of(facts_.summaries.begin(), facts_.summaries.end(),
                        [&](const PytestSummary& s) { return s.state == failure.counted; }))
            return;
        // The label of a sub-test stands behind the name's brackets.
        static const Pattern labelled(R"(([^ \[]+(?:\[.*?\])?) ([\[(].*))");
        const bool may_be = owner.phase == Phase::call &&
                            (facts_.subtest_characters > 0 || !facts_.first_character);
        const std::string name = owner.name;
        const auto found = may_be ? labelled.match(name) : std::nullopt;
        if (found) owner.label = (*found)[2];
        owner.test = test_headed(headings, found ? (*found)[1] : name, failure);
    }
    if (owner.phase != Phase::call) errors_.push_back(owner.test);
    CaseRecord& c = facts_.cases[owner.test];
    if (!owner.label.empty()) {
        c.subcases.push_back({valid_utf8(owner.label), State::failed, {}, std::move(failure)});
        return;
    }
    // If no line tells of the test, its section does.
    PytestOutcomes& outcomes = facts_.outcomes[owner.test];
    if (owner.phase != Phase::call && !outcomes.any()) outcomes.errored = true;
    if (owner.phase == Phase::call && !outcomes.call) outcomes.call = State::failed;
    keep_failure(c, std::move(failure));
}

void PytestFinish::add_summarised() {
    std::set<std::pair<size_t, std::string>> told;
    for (size_t i = 0; i < facts_.cases.size(); ++i)
        for (const SubCase& sub : facts_.cases[i].subcases) told.emplace(i, sub.label);
    for (const PytestSummary& summary : facts_.summaries) {
        if (!is_failure(summary.state) || summary.count > 0) continue;
        const SummaryText text = split(summary);
        const bool of_test = text.node.find("::") != std::string_view::npos;
        if (!of_test && summary.state == State::failed) continue;
        const size_t i = of_test ? facts_.place_of(text.node) : module_case(text.node);
        CaseRecord& c = facts_.cases[i];
        Failure failure = summarised(text.why, summary.state);
        if (summary.of_subtest) {
            const std::string label = valid_utf8(summary.label);
            if (told.emplace(i, label).second) c.subcases.push_back({label, State::failed, {}, {}});
        } else if (!has_failure(c, summary.state)) {
            facts_.outcomes[i].errored = facts_.outcomes[i].errored || !of_test;
            keep_failure(c, std::move(failure));
        } else if (c.failure->type.empty() && !failure.message.empty() &&
                   c.failure->message.starts_with(failure.message)) {
            c.failure->type = failure.type;
        }
    }
}

void PytestFinish::add_crashes() {
    for (const PytestFacts::Crash& crash : facts_.crashes) {
        const size_t i = facts_.place_of(crash.node);
        CaseRecord& c = facts_.cases[i];
        facts_.outcomes[i] = {};
        facts_.outcomes[i].call = State::crashed;
        c.reason = crash.message;
        if (!c.failure) c.failure.emplace();
        c.failure->message = crash.message;
        c.failure->counted = State::failed;
    }
}

// pytest itself broke, or there is no session.
void PytestFinish::add_internal_error(std::vector<Diagnostic>& diagnostics) {
    if (facts_.internal_error.empty() && !facts_.conftest) return;
    CaseRecord c = session_row(facts_.module.empty() ? end_.fallback : facts_.module);
    const size_t at = facts_.conftest.value_or(facts_.internal_at);
    c.failure = facts_.conftest ? failure_in(at, std::max(at, end_.end))
                                : parse_traceback(facts_.internal_error);
    c.failure->phase = Phase::load;
    diagnostics.push_back(
        {"log", static_cast<std::int64_t>(at), "pytest broke: " + c.failure->first_line()});
    facts_.cases.push_back(std::move(c));
    facts_.outcomes.emplace_back().errored = true;
}

// Its tear-down broke, as was expected: pytest counts that beside what the call came to.
void PytestFinish::excuse(CaseRecord& c) const {
    if (c.state == State::passed || c.state == State::skipped) {
        c.call_state = c.state;
        c.state = State::xfailed;
        c.phase = Phase::teardown;
    }
    Failure failure;
    failure.message = "its tear-down broke, as expected";
    failure.phase = Phase::teardown;
    failure.counted = State::xfailed;
    keep_failure(c, std::move(failure));
}

Progress PytestFinish::resolve(size_t i) {
    CaseRecord& c = facts_.cases[i];
    PytestOutcomes& outcomes = facts_.outcomes[i];
    if (!outcomes.any() && outcomes.unsure) {
        doubt_ = "an outcome may be part of a name, or printed";
        outcomes.call = outcomes.unsure;
    }
    // That it is only of sub-tests that something is said: its call went well.
    if (!outcomes.any() && !c.subcases.empty()) outcomes.call = State::passed;
    if (!outcomes.any()) return Progress::started;
    c.state = outcomes.call.value_or(State::errored);
    if (outcomes.excused) excuse(c);
    if (c.pseudo) return Progress::ended;
    if (c.state == State::errored) {
        c.phase = Phase::setup;
        // Its call went well: nothing else is said of it.
        if (c.failure && c.failure->phase == Phase::teardown) {
            c.phase = Phase::teardown;
            c.call_state = State::passed;
        }
    } else if (c.state != State::failed && (outcomes.errored || !c.subcases.empty())) {
        c.call_state = c.state;
        c.state = outcomes.errored ? State::errored : State::failed;
        if (outcomes.errored) c.phase = Phase::teardown;
    }
    return Progress::ended;
}

void PytestFinish::resolve_quiet() {
    if (facts_.verbose) return;
    const auto counted = [&](std::string_view word) {
        return end_.closing ? count_in(*end_.closing, word) : 0;
    };
    const bool told = facts_.in_order && facts_.before_errors.size() == errors_.size();
    const bool others = counted("skipped") + counted("xfailed") + counted("xpassed") > 0;
    for (size_t k = 0; k < errors_.size(); ++k) {
        CaseRecord& c = facts_.cases[errors_[k]];
        if (c.phase != Phase::teardown || c.call_state != State::passed) continue;
        if (!told && others) doubt_ = "no line tells what tests came to whose tear-down broke";
        if (told && !is_failure(facts_.before_errors[k])) c.call_state = facts_.before_errors[k];
    }
    const auto failed =
        std::count_if(facts_.summaries.begin(), facts_.summaries.end(),
                      [](const PytestSummary& summary) { return summary.state == State::failed; });
    if (failed > 0 && end_.closing && failed != counted("failed"))
        doubt_ = "the summary does not name as many tests as failed";
    for (const CaseRecord& c : facts_.cases)
        if (c.state == State::errored && !c.pseudo && !c.call_state &&
            (!c.failure || c.failure->traceback.empty()))
            doubt_ = "no section tells whether set-ups or tear-downs broke";
}

// How the process ended of which only its log is known.
ProcessEnd end_of(const PytestFacts& facts, const PytestEnd& end, bool finished) {
    if (finished) return kInOrder;
    if (facts.timed_out)
        return {.kind = ProcessEnd::Kind::timed_out, .detail = "by pytest-timeout"};
    return end.died.value_or(kBrokenOff);
}

// Says why the counts do not add up; the reason that explains most comes first.
void add_doubts(const PytestFacts& facts, const PytestEnd& end, std::string_view doubt,
                std::int64_t tests, ModuleRecord& record) {
    const auto add_if = [&](bool holds, size_t offset, std::string_view why) {
        if (holds) add_doubt(record, offset, why, kPytestAdvice);
    };
    const bool missing = std::any_of(record.cases.begin(), record.cases.end(),
                                     [](const CaseRecord& c) { return c.state == State::not_run; });
    add_if(!doubt.empty(), facts.begin, doubt);
    add_if(facts.selected && tests > *facts.selected, end.end,
           "more tests have a result than were collected");
    add_if(facts.verbose && facts.stopped.empty() && record.closing && missing, end.end,
           "tests that were collected have no line");
    add_if(record.closing && !end.sure, end.end,
           "the closing line counts other tests than the lines before it show");
    if (record.closing && end.sure) check_totals(record, end.end, kPytestAdvice);
    // No doubt: it is rare, and nothing tells.
    if (!facts.verbose && !facts.selected && record.closing &&
        count_in(*record.closing, "xfailed") > 0)
        record.diagnostics.push_back({"log", static_cast<std::int64_t>(end.end),
                                      "with -q, a tear-down that broke as xfail expects counts as "
                                      "one more xfailed test"});
}

}  // namespace

FinishedPytestSession finish_pytest_session(PytestSession session, const PytestEnd& end,
                                            Unnamed::Room& room) {
    PytestFacts& facts = session.facts();
    FinishedPytestSession finished;
    ModuleRecord& record = finished.record;
    record.from_text = true;
    record.framework = name_of(Framework::pytest);
    record.framework_version = facts.version;
    record.python_version = facts.python;
    PytestFinish finish(facts, end);
    finish.add_all(record.diagnostics);
    for (size_t i = 0; i < facts.cases.size(); ++i) finished.progress.push_back(finish.resolve(i));
    finish.resolve_quiet();
    record.cases = std::move(facts.cases);
    number_repeated_ids(record.cases);
    record.closing = end.closing;
    // With -qq nothing is its closing.
    const bool broke = facts.counts[State::failed] + facts.counts[State::errored] > 0;
    const bool ended = !facts.started && !end.died && facts.internal_error.empty() &&
                       (facts.all_ran || !facts.stopped.empty()) && (!broke || end.summarised);
    finished.course.finished = end.closing || ended;
    finished.course.ready = facts.selected || !record.cases.empty();
    finished.end = end_of(facts, end, finished.course.finished);
    add_unnamed_pytest(facts, end, record, finished.progress, room);
    const auto pseudo = std::count_if(record.cases.begin(), record.cases.end(),
                                      [](const CaseRecord& c) { return c.pseudo; });
    const auto rows = static_cast<std::int64_t>(record.cases.size());
    record.collected = facts.selected ? *facts.selected + pseudo : rows;
    record.path = record.cases.empty() ? end.fallback : common_module(record.cases);
    add_doubts(facts, end, finish.doubt(), rows - pseudo, record);
    if (!record.closing && ended)
        record.diagnostics.push_back(
            {"log", static_cast<std::int64_t>(end.end), "no closing line counts what ran (-qq)"});
    return finished;
}

}  // namespace compat::parsers

#include "parsers/import/pytest/finish.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "parsers/closing.h"
#include "parsers/diagnosis/traceback.h"
#include "parsers/import/doubt.h"
#include "parsers/import/foreign.h"
#include "parsers/import/lines.h"
#include "parsers/import/own_log.h"
#include "parsers/import/pytest/failure.h"
#include "parsers/import/pytest/unnamed_tests.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kPytestAdvice =
    "import JUnit XML (--junit-xml), or run again with -v, without -s and without -p no:terminal";

bool is_failed(State state) { return state == State::failed || state == State::errored; }

bool has_failure(const CaseRecord& c, State counted) {
    const auto is_it = [&](const Failure& f) { return f.counted == counted; };
    return (c.failure && is_it(*c.failure)) || std::any_of(c.also.begin(), c.also.end(), is_it);
}

// "[gw0] linux -- Python 3.11.7 /python" of pytest-xdist, in front of each section's text.
std::string_view without_worker(std::string_view body) {
    if (!body.starts_with("[gw")) return body;
    const size_t end = std::min(body.find('\n'), body.size());
    if (body.substr(0, end).find(" -- Python ") == std::string_view::npos) return body;
    return body.substr(std::min(end + 1, body.size()));
}

// "AssertionError: 1 != 2" of the summary: all there is where no section tells more.
Failure summarised(std::string_view why, State counted) {
    Failure failure;
    failure.counted = counted;
    failure.phase = counted == State::failed ? Phase::call : Phase::setup;
    const size_t colon = why.find(": ");
    const bool typed = colon != std::string_view::npos &&
                       why.substr(0, colon).find_first_of(" [(") == std::string_view::npos;
    if (typed) failure.type = valid_utf8(why.substr(0, colon));
    failure.message = valid_utf8(typed ? why.substr(colon + 2) : why);
    return failure;
}

class PytestFinish {
  public:
    PytestFinish(PytestFacts& facts, const PytestEnd& end) : facts_(facts), end_(end) {}

    void add_summaries();
    void add_sections();
    // Failures, their types and sub-tests that no section tells of.
    void add_summarised();
    void add_crashes();
    // Where all tests are of one module.
    void add_skipped_module();
    void add_internal_error(std::vector<Diagnostic>& diagnostics);
    void resolve(std::vector<Progress>& progress);
    // Of a session that is not verbose: what the calls of tests came to whose tear-downs broke, and
    // what nothing tells.
    void settle_quiet(const std::optional<Closing>& closing);
    // Why the states may be wrong though the totals agree; empty: they are not.
    [[nodiscard]] std::string_view doubt() const { return doubt_; }

  private:
    size_t add(CaseRecord c);
    size_t module_case(const std::string& path);
    size_t test_headed(PytestHeadings& headings, const std::string& name, const Failure& failure);
    void add_section(const PytestFacts::Section& section, PytestHeadings& headings,
                     PytestOwner owner);
    [[nodiscard]] SummaryText split(const PytestFacts::Summary& summary);
    [[nodiscard]] Progress resolve(size_t i);
    void excuse(CaseRecord& c) const;

    PytestFacts& facts_;
    const PytestEnd& end_;
    std::map<std::string, size_t> modules_;
    std::set<std::string, std::less<>> headings_;  // of sections
    std::vector<size_t> errors_;                   // cases with a section of an error, in order
    std::string_view doubt_;
};

size_t PytestFinish::add(CaseRecord c) {
    facts_.said.emplace_back();
    return facts_.cases.add(std::move(c));
}

size_t PytestFinish::module_case(const std::string& path) {
    const auto [at, is_new] = modules_.emplace(path, 0);
    if (!is_new) return at->second;
    CaseRecord c;
    c.id = path + "::<module>";
    c.name = path;
    c.pseudo = true;
    c.phase = Phase::load;
    return at->second = add(std::move(c));
}

// A test with a line or a section of its own is known.
SummaryText PytestFinish::split(const PytestFacts::Summary& summary) {
    return split_summary(summary.state, summary.text, [&](std::string_view node) {
        if (facts_.cases.find(valid_utf8(node))) return true;
        const size_t names = node.find("::");
        return names != std::string_view::npos &&
               headings_.contains(section_heading_of(node.substr(names + 2)));
    });
}

// Of tests without a line of their own the summary says how those that it names ended; of one with
// a line, that it failed in spite of what it printed (-s), or that its line is lost.
void PytestFinish::add_summaries() {
    for (const PytestFacts::Section& section : facts_.sections) headings_.insert(section.heading);
    for (const PytestFacts::Summary& summary : facts_.summaries) {
        if (summary.count > 0) continue;
        const bool broken = is_failed(summary.state);
        if (facts_.verbose && (!broken || summary.of_subtest)) continue;
        const SummaryText text = split(summary);
        if (text.node.find("::") == std::string_view::npos) continue;
        const size_t i = place_of_test(facts_, text.node);
        if (summary.of_subtest) continue;
        PytestSaid& said = facts_.said[i];
        if (facts_.verbose && said.any()) {
            if (summary.state != State::failed || said.errored || said.call == State::failed)
                continue;
            said = {};
        }
        said.add(summary.state);
        if (summary.state == State::xfailed || summary.state == State::xpassed)
            facts_.cases[i].reason = valid_utf8(text.why);
    }
}

// Of a test that nothing else names: its file is the one that its first line of source is in.
size_t PytestFinish::test_headed(PytestHeadings& headings, const std::string& name,
                                 const Failure& failure) {
    if (const auto known = headings.find(name)) return *known;
    doubt_ = "no summary names the tests that failed";
    std::string path =
        failure.frames.empty() ? std::string(end_.fallback) : failure.frames.front().file;
    if (!facts_.root.empty() && path.starts_with(facts_.root + "/"))
        path.erase(0, facts_.root.size() + 1);
    std::string tail;
    const size_t bracket = std::min(name.find('['), name.size());
    for (const char c : name.substr(0, bracket)) tail += c == '.' ? "::" : std::string(1, c);
    const size_t i =
        place_of_test(facts_, fmt::format("{}::{}{}", path, tail, name.substr(bracket)));
    headings.add(facts_.cases[i].name, i);
    return i;
}

void PytestFinish::add_sections() {
    PytestHeadings headings(facts_.cases);
    for (const PytestFacts::Section& section : facts_.sections)
        add_section(
            section, headings,
            facts_.verbose ? section.owner : headings.owner_of(section.heading, facts_.said));
}

void PytestFinish::add_section(const PytestFacts::Section& section, PytestHeadings& headings,
                               PytestOwner owner) {
    std::string plain;
    std::string_view body = without_worker(
        unwrapped(facts_.text.substr(section.body, section.end - section.body), plain));
    body = body.substr(0, body.find_last_not_of('\n') + 1);
    Failure failure = parse_pytest_failure(body, facts_.root);
    failure.phase = owner.phase;
    failure.counted = owner.phase == Phase::call ? State::failed : State::errored;
    if (owner.kind == PytestOwner::Kind::module) {
        const size_t i =
            module_case(valid_utf8(facts_.module.empty() ? owner.name : facts_.module));
        facts_.said[i].errored = true;
        keep_failure(facts_.cases[i], std::move(failure));
        return;
    }
    if (owner.kind == PytestOwner::Kind::unknown) {
        // The summary has named all that failed: a test has printed the heading, or a plugin.
        const bool named = std::any_of(
            facts_.summaries.begin(), facts_.summaries.end(),
            [&](const PytestFacts::Summary& summary) { return summary.state == failure.counted; });
        if (named) return;
        const bool may_be = owner.phase == Phase::call &&
                            (facts_.subtest_characters > 0 || !facts_.first_character);
        const size_t labelled = may_be ? subtest_label(owner.name) : owner.name.size();
        owner.label = trimmed(std::string_view(owner.name).substr(labelled));
        owner.test = test_headed(headings, owner.name.substr(0, labelled), failure);
    }
    if (owner.phase != Phase::call) errors_.push_back(owner.test);
    CaseRecord& c = facts_.cases[owner.test];
    if (!owner.label.empty()) {
        c.subcases.push_back({valid_utf8(owner.label), State::failed, {}, std::move(failure)});
        return;
    }
    // Of a test without any other word its section alone tells.
    PytestSaid& said = facts_.said[owner.test];
    if (!said.any() || (owner.phase == Phase::call && !said.call)) said.add(*failure.counted);
    keep_failure(c, std::move(failure));
}

void PytestFinish::add_summarised() {
    std::set<std::pair<size_t, std::string>> told;
    for (size_t i = 0; i < facts_.cases.size(); ++i)
        for (const SubCase& sub : facts_.cases[i].subcases) told.emplace(i, sub.label);
    for (const PytestFacts::Summary& summary : facts_.summaries) {
        if (!is_failed(summary.state) || summary.count > 0) continue;
        const SummaryText text = split(summary);
        const bool of_test = text.node.find("::") != std::string_view::npos;
        if (!of_test && summary.state == State::failed) continue;
        const size_t i =
            of_test ? place_of_test(facts_, text.node)
                    : module_case(valid_utf8(facts_.module.empty() ? text.node : facts_.module));
        CaseRecord& c = facts_.cases[i];
        if (summary.of_subtest) {
            const std::string label = valid_utf8(summary.label);
            if (told.emplace(i, label).second) c.subcases.push_back({label, State::failed, {}, {}});
        } else if (!has_failure(c, summary.state)) {
            if (!of_test) facts_.said[i].errored = true;
            keep_failure(c, summarised(text.why, summary.state));
        } else if (const size_t colon = text.why.find(": ");
                   c.failure->type.empty() && colon != std::string_view::npos &&
                   c.failure->message.starts_with(text.why.substr(colon + 2))) {
            c.failure->type = valid_utf8(text.why.substr(0, colon));
        }
    }
}

void PytestFinish::add_crashes() {
    for (const PytestFacts::Crash& crash : facts_.crashes) {
        const size_t i = place_of_test(facts_, crash.node);
        CaseRecord& c = facts_.cases[i];
        facts_.said[i] = {};
        facts_.said[i].add(State::crashed);
        c.reason = crash.message;
        if (!c.failure) c.failure.emplace();
        c.failure->message = crash.message;
        c.failure->counted = State::failed;
    }
}

void PytestFinish::add_skipped_module() {
    if (facts_.module.empty() || facts_.skipped_modules == 0) return;
    facts_.said[module_case(facts_.module)].add(State::skipped);
}

// pytest itself broke, or there is no session.
void PytestFinish::add_internal_error(std::vector<Diagnostic>& diagnostics) {
    if (facts_.internal_error.empty() && !facts_.conftest) return;
    CaseRecord c;
    c.id = (facts_.module.empty() ? std::string(end_.fallback) : facts_.module) + "::<session>";
    c.name = "<session>";
    c.pseudo = true;
    c.phase = Phase::load;
    std::string plain;
    const size_t at = facts_.conftest.value_or(facts_.internal_at);
    c.failure =
        facts_.conftest
            ? parse_pytest_failure(
                  unwrapped(facts_.text.substr(at, end_.end - std::min(at, end_.end)), plain),
                  facts_.root)
            : parse_traceback(facts_.internal_error);
    c.failure->phase = Phase::load;
    diagnostics.push_back(
        {"log", static_cast<std::int64_t>(at), "pytest broke: " + c.failure->first_line()});
    facts_.said[add(std::move(c))].errored = true;
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
    PytestSaid& said = facts_.said[i];
    if (!said.any() && said.unsure) {
        doubt_ = "an outcome may be part of a name, or printed";
        said.add(said.unsure->state);
        c.reason = said.unsure->reason;
    }
    // That it is only of sub-tests that something is said: its call went well.
    if (!said.any() && !c.subcases.empty()) said.add(State::passed);
    if (!said.any()) return Progress::started;
    c.state = said.call.value_or(State::errored);
    if (said.excused) excuse(c);
    if (c.pseudo) return Progress::ended;
    if (c.state == State::errored) {
        c.phase = Phase::setup;
        // Its call went well: nothing else is said of it.
        if (c.failure && c.failure->phase == Phase::teardown) {
            c.phase = Phase::teardown;
            c.call_state = State::passed;
        }
    } else if (said.errored && c.state != State::failed) {
        c.call_state = c.state;
        c.state = State::errored;
        c.phase = Phase::teardown;
    } else if (!c.subcases.empty() && c.state != State::failed) {
        c.call_state = c.state;
        c.state = State::failed;
    }
    return Progress::ended;
}

void PytestFinish::settle_quiet(const std::optional<Closing>& closing) {
    if (facts_.verbose) return;
    const bool told = facts_.in_order && facts_.before_errors.size() == errors_.size();
    const bool others = closing && count_in(*closing, "skipped") + count_in(*closing, "xfailed") +
                                           count_in(*closing, "xpassed") >
                                       0;
    for (size_t k = 0; k < errors_.size(); ++k) {
        CaseRecord& c = facts_.cases[errors_[k]];
        if (c.phase != Phase::teardown || c.call_state != State::passed) continue;
        if (!told && others) doubt_ = "no line tells what tests came to whose tear-down broke";
        if (told && !is_failed(facts_.before_errors[k])) c.call_state = facts_.before_errors[k];
    }
    const auto failed = std::count_if(
        facts_.summaries.begin(), facts_.summaries.end(),
        [](const PytestFacts::Summary& summary) { return summary.state == State::failed; });
    if (failed > 0 && closing && failed != count_in(*closing, "failed"))
        doubt_ = "the summary does not name as many tests as failed";
    for (size_t i = 0; i < facts_.cases.size(); ++i) {
        const CaseRecord& c = facts_.cases[i];
        if (c.state == State::errored && !c.pseudo && !c.call_state &&
            (!c.failure || c.failure->traceback.empty()))
            doubt_ = "no section tells whether set-ups or tear-downs broke";
    }
}

void PytestFinish::resolve(std::vector<Progress>& progress) {
    for (size_t i = 0; i < facts_.cases.size(); ++i) progress.push_back(resolve(i));
}

// How the process ended of which only its log is known.
ProcessEnd end_of(const PytestFacts& facts, const PytestEnd& end, bool finished) {
    if (finished) return kInOrder;
    if (facts.timed_out)
        return {.kind = ProcessEnd::Kind::timed_out, .detail = "by pytest-timeout"};
    return end.died.value_or(kBrokenOff);
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
    finish.add_summaries();
    finish.add_sections();
    finish.add_summarised();
    finish.add_crashes();
    finish.add_skipped_module();
    finish.add_internal_error(record.diagnostics);
    finish.resolve(finished.progress);
    finish.settle_quiet(end.closing);
    record.cases = std::move(facts.cases.all());
    record.closing = end.closing;
    // With -qq nothing is its closing.
    const bool broke = facts.counts[static_cast<size_t>(State::failed)] +
                           facts.counts[static_cast<size_t>(State::errored)] >
                       0;
    const bool ended = !facts.started && !end.died && facts.internal_error.empty() &&
                       (facts.all_ran || !facts.stopped.empty()) && (!broke || end.summarised);
    finished.course.finished = end.closing || ended;
    finished.course.ready = facts.selected || !record.cases.empty();
    finished.end = end_of(facts, end, finished.course.finished);
    add_unnamed_pytest(facts, end, record, finished.progress, room);
    const auto pseudo = std::count_if(record.cases.begin(), record.cases.end(),
                                      [](const CaseRecord& c) { return c.pseudo; });
    record.collected =
        facts.selected ? *facts.selected + pseudo : static_cast<std::int64_t>(record.cases.size());
    record.path = record.cases.empty() ? std::string(end.fallback) : common_module(record.cases);
    if (!finish.doubt().empty()) add_doubt(record, facts.begin, finish.doubt(), kPytestAdvice);
    const auto tests = static_cast<std::int64_t>(record.cases.size()) - pseudo;
    if (facts.selected && tests > *facts.selected)
        add_doubt(record, end.end, "more tests have a result than were collected", kPytestAdvice);
    const bool ran_all = facts.verbose && facts.stopped.empty() && record.closing;
    if (ran_all && std::any_of(record.cases.begin(), record.cases.end(),
                               [](const CaseRecord& c) { return c.state == State::not_run; }))
        add_doubt(record, end.end, "tests that were collected have no line", kPytestAdvice);
    if (!record.closing) {
        if (ended)
            record.diagnostics.push_back({"log", static_cast<std::int64_t>(end.end),
                                          "no closing line counts what ran (-qq)"});
        return finished;
    }
    if (!end.sure)
        add_doubt(record, end.end, "the closing line is not of what stands before it",
                  kPytestAdvice);
    else
        check_totals(record, end.end, kPytestAdvice);
    return finished;
}

}  // namespace compat::parsers

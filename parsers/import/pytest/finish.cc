// The end of a session of pytest's: a record with one state for each test (session.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "parsers/diagnosis/traceback.h"
#include "parsers/framework_summary.h"
#include "parsers/import/doubt.h"
#include "parsers/import/importers.h"
#include "parsers/import/lines.h"
#include "parsers/import/printed_end.h"
#include "parsers/import/pytest/session.h"
#include "parsers/import/pytest_failure.h"
#include "parsers/import/unnamed.h"
#include "parsers/pattern.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kPytestAdvice =
    "import JUnit XML (--junit-xml), or run again with -v and without -s";
constexpr std::string_view kPytestNamesAdvice = "import JUnit XML (--junit-xml)";

// The words with which a section's heading says where a test broke.
struct HeadingWord {
    std::string_view prefix;
    Phase phase;
};
constexpr std::array<HeadingWord, 4> kHeadings{{
    {"ERROR at setup of ", Phase::setup},
    {"ERROR at teardown of ", Phase::teardown},
    {"ERROR collecting ", Phase::load},
    {"[doctest] ", Phase::call},
}};

// Every blank of a sub-test's heading is tried.
constexpr size_t kLongestHeading = 2000;

struct PytestOwner {
    enum class Kind { unknown, test, subtest, module };
    Kind kind = Kind::unknown;
    size_t test = 0;
    Phase phase = Phase::call;
    std::string name;   // of the test or module in the heading
    std::string label;  // subtest
};

// "A::test_x[p::q]" as a section's heading has it: "A.test_x[p::q]".
std::string section_heading_of(std::string_view tail) {
    std::string out(tail);
    for (size_t at = out.find("::"); at < out.find('['); at = out.find("::", at))
        out.replace(at, 2, ".");
    return out;
}

// The tests by the headings of their sections.
class PytestHeadings {
  public:
    explicit PytestHeadings(const std::vector<CaseRecord>& cases) {
        for (size_t i = 0; i < cases.size(); ++i) add(cases[i].name, i);
    }

    void add(std::string_view name, size_t test) {
        const size_t names = name.find("::");
        if (names != std::string_view::npos)
            by_heading_[section_heading_of(name.substr(names + 2))].cases.push_back(test);
    }

    // The last test with the name in a heading.
    std::optional<size_t> find(std::string_view name) const {
        const auto it = by_heading_.find(std::string(name));
        return it == by_heading_.end() ? std::nullopt : std::optional(it->second.cases.back());
    }

    // Each failure of a test has one section: of several tests with the heading it is of the next
    // that broke there.
    PytestOwner owner_of(std::string_view heading, const std::vector<PytestOutcomes>& outcomes) {
        PytestOwner owner;
        for (const HeadingWord& known : kHeadings)
            if (heading.starts_with(known.prefix)) {
                owner.phase = known.phase;
                heading.remove_prefix(known.prefix.size());
                break;
            }
        owner.name = heading;
        const bool in_call = owner.phase == Phase::call;
        if (owner.phase == Phase::load) {
            owner.kind = PytestOwner::Kind::module;
        } else if (const auto it = by_heading_.find(owner.name); it != by_heading_.end()) {
            Headed& headed = it->second;
            size_t& next = in_call ? headed.next_failed : headed.next_errored;
            const auto broke_there = [&](size_t i) {
                return !outcomes[i].any() ||
                       (in_call ? outcomes[i].call == State::failed : outcomes[i].errored);
            };
            while (next < headed.cases.size() && !broke_there(headed.cases[next])) ++next;
            if (next == headed.cases.size()) return owner;
            owner.kind = PytestOwner::Kind::test;
            owner.test = headed.cases[next++];
        } else if (in_call && heading.size() <= kLongestHeading) {
            // A sub-test: its test's name, a blank, its label.
            for (size_t blank = heading.find(' '); blank < heading.size();
                 blank = heading.find(' ', blank + 1)) {
                const auto test = find(heading.substr(0, blank));
                if (!test) continue;
                owner.kind = PytestOwner::Kind::subtest;
                owner.test = *test;
                owner.label = heading.substr(blank + 1);
                break;
            }
        }
        return owner;
    }

  private:
    struct Headed {
        std::vector<size_t> cases;
        size_t next_failed = 0;
        size_t next_errored = 0;
    };
    std::unordered_map<std::string, Headed> by_heading_;
};

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
    explicit PytestFinish(PytestSession& facts) : facts_(facts) {}

    // All that is said of tests, onto their cases.
    void add_all(std::vector<Diagnostic>& diagnostics) {
        add_summaries();
        PytestHeadings headings(facts_.cases);
        for (const PytestSession::Section& section : facts_.sections)
            add_section(section, headings, headings.owner_of(section.heading, facts_.outcomes));
        add_summarised();
        if (!facts_.module.empty() && facts_.skipped_modules > 0)
            facts_.outcomes[module_case(facts_.module)].call = State::skipped;
        add_internal_error(diagnostics);
    }

    // Gives case `i` its state where it ended.
    Progress resolve(size_t i) {
        CaseRecord& c = facts_.cases[i];
        PytestOutcomes& outcomes = facts_.outcomes[i];
        const bool sub_failed = std::ranges::any_of(
            c.subcases, [](const SubCase& sub) { return sub.state == State::failed; });
        // Only sub-tests of it are named: its call went well.
        if (!outcomes.call && sub_failed && (!facts_.verbose || facts_.closing))
            outcomes.call = State::passed;
        if (!outcomes.any()) return Progress::started;
        c.state = outcomes.call.value_or(State::errored);
        if (c.pseudo) return Progress::ended;
        if (c.state == State::errored) {
            const bool in_teardown = c.failure && c.failure->phase == Phase::teardown;
            c.phase = in_teardown ? Phase::teardown : Phase::setup;
            // Where tests have lines, or no test came to anything else, its call went well.
            if (in_teardown && (facts_.verbose || only_passed()))
                c.call_state = State::passed;
            else if (in_teardown)
                ++untold_calls;
        } else if (c.state != State::failed && c.state != State::crashed &&
                   (outcomes.errored || sub_failed)) {
            c.call_state = std::exchange(c.state, sub_failed ? State::failed : State::errored);
            if (!sub_failed) c.phase = Phase::teardown;
        }
        return Progress::ended;
    }

    // Why the states may be wrong though the totals agree; empty: they are not.
    std::string_view doubt;
    // How many tests have a broken tear-down and a call whose outcome is unknown.
    std::int64_t untold_calls = 0;

  private:
    [[nodiscard]] bool only_passed() const {
        return !facts_.closing || count_in(*facts_.closing, "skipped") +
                                          count_in(*facts_.closing, "xfailed") +
                                          count_in(*facts_.closing, "xpassed") ==
                                      0;
    }

    // The summary says how tests without a line of their own ended, if it names them; of one with
    // a line, that it failed in spite of what it printed (-s), or that its line is lost.
    void add_summaries() {
        for (const PytestSummary& summary : facts_.summaries) {
            if (facts_.verbose && (!is_failure(summary.state) || summary.of_subtest)) continue;
            const SummaryText text = split(summary);
            if (text.node.find("::") == std::string_view::npos) continue;
            const size_t i = facts_.place_of(text.node);
            if (summary.of_subtest) continue;
            PytestOutcomes& outcomes = facts_.outcomes[i];
            if (facts_.verbose && outcomes.any()) continue;
            if (summary.state == State::errored)
                outcomes.errored = true;
            else if (!outcomes.call || summary.state == State::failed)
                outcomes.call = summary.state;
            if (summary.state == State::xfailed || summary.state == State::xpassed)
                facts_.cases[i].reason = valid_utf8(text.why);
        }
    }

    void add_section(const PytestSession::Section& section, PytestHeadings& headings,
                     PytestOwner owner) {
        Failure failure = failure_in(section.body, section.end);
        failure.phase = owner.phase;
        failure.counted = owner.phase == Phase::call ? State::failed : State::errored;
        // A worker of pytest-xdist's, whose heading names no test, or a process of pytest-forked's.
        const auto died = pytest_death(failure.message);
        if (died && (!died->test.empty() || owner.kind == PytestOwner::Kind::test)) {
            if (!died->test.empty()) owner.test = facts_.place_of(died->test);
            CaseRecord& c = facts_.cases[owner.test];
            c.reason = died->words;
            failure.message = c.reason;
            c.failure = std::move(failure);
            facts_.outcomes[owner.test] = {.call = State::crashed};
            return;
        }
        if (owner.kind == PytestOwner::Kind::module) {
            const size_t i = module_case(owner.name);
            facts_.outcomes[i].errored = true;
            return keep_failure(facts_.cases[i], std::move(failure));
        }
        if (owner.kind == PytestOwner::Kind::unknown) {
            // Each test has its line, or the summary has named all that failed: a test has printed
            // the heading, or a plugin.
            if (facts_.verbose ||
                std::any_of(facts_.summaries.begin(), facts_.summaries.end(),
                            [&](const PytestSummary& s) { return s.state == failure.counted; }))
                return;
            owner.test = test_headed(headings, owner.name, failure);
        }
        CaseRecord& c = facts_.cases[owner.test];
        PytestOutcomes& outcomes = facts_.outcomes[owner.test];
        if (!owner.label.empty())
            return add_subtest(c, outcomes.told, owner.label, std::move(failure));
        // If no line tells of the test, its section does.
        if (owner.phase != Phase::call && !outcomes.any()) outcomes.errored = true;
        if (owner.phase == Phase::call && !outcomes.call) outcomes.call = State::failed;
        keep_failure(c, std::move(failure));
    }

    // `from`: behind the one that was told of last. Sections and summaries have the order of lines.
    static void add_subtest(CaseRecord& c, size_t& from, std::string_view label,
                            std::optional<Failure> failure) {
        const std::string name = valid_utf8(label);
        auto at = std::find_if(c.subcases.begin() + from, c.subcases.end(), [&](const SubCase& s) {
            return s.state == State::failed && s.label == name;
        });
        if (at == c.subcases.end()) at = c.subcases.insert(at, {name, State::failed, {}, {}});
        if (failure) at->failure = std::move(failure);
        from = at - c.subcases.begin() + 1;
    }

    void add_summarised() {
        for (const PytestSummary& summary : facts_.summaries) {
            if (!is_failure(summary.state)) continue;
            const SummaryText text = split(summary);
            const bool of_test = text.node.find("::") != std::string_view::npos;
            if (!of_test && summary.state == State::failed) continue;
            const size_t i = of_test ? facts_.place_of(text.node) : module_case(text.node);
            CaseRecord& c = facts_.cases[i];
            Failure failure = summarised(text.why, summary.state);
            if (summary.of_subtest) {
                add_subtest(c, facts_.outcomes[i].summarised, summary.label, std::nullopt);
            } else if (!has_failure(c, summary.state)) {
                facts_.outcomes[i].errored = facts_.outcomes[i].errored || !of_test;
                keep_failure(c, std::move(failure));
            } else if (c.failure->type.empty() && !failure.message.empty() &&
                       c.failure->message.starts_with(failure.message)) {
                c.failure->type = failure.type;
            }
        }
    }

    // pytest itself broke, or there is no session.
    void add_internal_error(std::vector<Diagnostic>& diagnostics) {
        if (facts_.internal_error.empty() && !facts_.conftest) return;
        const std::string& path = facts_.module.empty() ? facts_.fallback : facts_.module;
        CaseRecord& c = add_pseudo(path + "::<session>", "<session>");
        const size_t at = facts_.conftest.value_or(facts_.internal_at);
        c.failure = facts_.conftest ? failure_in(at, std::max(at, facts_.end))
                                    : parse_traceback(facts_.internal_error);
        c.failure->phase = Phase::load;
        diagnostics.push_back(
            {"log", static_cast<std::int64_t>(at), "pytest broke: " + c.failure->first_line()});
        facts_.outcomes.back().errored = true;
    }

    CaseRecord& add_pseudo(std::string id, std::string name) {
        CaseRecord& c = facts_.cases.emplace_back();
        c.id = std::move(id);
        c.name = std::move(name);
        c.pseudo = true;
        c.phase = Phase::load;
        facts_.outcomes.emplace_back();
        return c;
    }

    size_t module_case(std::string_view path) {
        const std::string name(facts_.module.empty() ? valid_utf8(path) : facts_.module);
        const auto known = facts_.find(name);
        if (!known) add_pseudo(name + "::<module>", name);
        return known.value_or(facts_.cases.size() - 1);
    }

    // For a test that nothing else names: its file is that of its first line of source.
    size_t test_headed(PytestHeadings& headings, std::string_view name, const Failure& failure) {
        if (const auto known = headings.find(name)) return *known;
        doubt = "no summary names the tests that failed";
        std::string path = failure.frames.empty() ? facts_.fallback : failure.frames.front().file;
        if (!facts_.root.empty() && path.starts_with(facts_.root + "/"))
            path.erase(0, facts_.root.size() + 1);
        std::string tail(name);
        for (size_t dot = tail.find('.'); dot < tail.find('['); dot = tail.find('.', dot))
            tail.replace(dot, 1, "::");
        const size_t i = facts_.place_of(fmt::format("{}::{}", path, tail));
        headings.add(facts_.cases[i].name, i);
        return i;
    }

    SummaryText split(const PytestSummary& summary) {
        return split_summary(summary,
                             [&](std::string_view node) { return facts_.find(node).has_value(); });
    }

    // "[gw0] linux -- Python 3.11.7 /python" of pytest-xdist may stand in front.
    Failure failure_in(size_t begin, size_t end) const {
        std::string plain;
        std::string_view body = unwrapped(facts_.text.substr(begin, end - begin), plain);
        const size_t first = std::min(body.find('\n'), body.size() - !body.empty());
        if (body.starts_with("[gw") && body.substr(0, first).find(" -- Python ") < first)
            body.remove_prefix(first + 1);
        return parse_pytest_failure(body.substr(0, body.find_last_not_of('\n') + 1), facts_.root);
    }

    PytestSession& facts_;
};

// The tests that the session counts and does not name. Where tests have lines, only modules that
// skip have none.
UnnamedTests unnamed_tests(const PytestSession& facts, const ModuleRecord& record,
                           const OutcomeCounts& beyond, std::int64_t untold_calls) {
    UnnamedTests unnamed{.counts = beyond,
                         .reason = !facts.stopped.empty() ? facts.stopped : "the log breaks off",
                         .pseudo = facts.verbose};
    std::int64_t tests = std::ranges::count(record.cases, false, &CaseRecord::pseudo);
    std::int64_t& skipped = unnamed.counts[State::skipped];
    if (facts.verbose) {
        // Workers do not say how many. Others are sub-tests, or tear-downs that xfail expects.
        if (facts.in_order && (facts.selected || facts.subtests != OutcomeCounts{}))
            skipped = std::min(skipped, facts.module.empty() ? facts.skipped_modules : 0);
        unnamed.counts[State::xfailed] = 0;
    } else {
        for (const std::int64_t count : unnamed.counts) tests += count;
        tests -= untold_calls + std::min(skipped, facts.skipped_modules);
    }
    if (!facts.selected || *facts.selected <= tests) return unnamed;
    unnamed.counts[State::not_run] = *facts.selected - tests;
    return unnamed;
}

// Says why the counts do not add up; the reason that explains most comes first.
void add_doubts(const PytestSession& facts, std::string_view doubt, const UnnamedTests& unnamed,
                const OutcomeCounts& beyond, ModuleRecord& record) {
    const auto add_if = [&](bool holds, size_t offset, std::string_view why) {
        if (holds) add_doubt(record, offset, why, kPytestAdvice);
    };
    const auto tests = std::ranges::count(record.cases, false, &CaseRecord::pseudo);
    add_if(!doubt.empty(), facts.begin, doubt);
    add_if(facts.two_outcomes, facts.end, "after XPASS a test has XFAIL: its own, or its tear-down's");
    add_if(facts.selected && tests > *facts.selected, facts.end,
           "more tests have a result than were collected");
    add_if(facts.stopped.empty() && record.closing && unnamed.counts[State::not_run] > 0, facts.end,
           "tests that were collected have no result");
    add_if(record.closing && !facts.sure, facts.end,
           "the closing line counts other tests than the lines before it show");
    if (record.closing && facts.sure) check_totals(record, beyond, facts.end, kPytestAdvice);
}

// Notes on counts that may be of outcomes rather than tests. No doubt: they are rare.
void add_notes(const PytestSession& facts, std::int64_t untold_calls, ModuleRecord& record) {
    const auto note = [&](std::string text) {
        record.diagnostics.push_back(
            {"log", static_cast<std::int64_t>(facts.end), std::move(text)});
    };
    if (facts.verbose || !facts.closing) return;
    const auto counts = [&](std::string_view word) { return count_in(*facts.closing, word) > 0; };
    if (untold_calls > 0 || std::ranges::any_of(record.cases, [](const CaseRecord& c) {
            return c.state == State::errored && c.failure && c.failure->traceback.empty();
        }))
        note("a test whose tear-down broke counts as one more: nothing tells what its call was");
    if (counts("xfailed"))
        note("a tear-down that broke as xfail expects counts as one more xfailed test");
    if (counts("subtests passed") && (counts("skipped") || counts("xfailed")))
        note("a sub-test that is skipped or xfailed counts as one more such test");
    if (counts("rerun"))
        note("a test whose tear-down passed at a rerun counts as one more passed test");
    if (!facts.stopped.empty() && !facts.selected)
        note(facts.stopped + "; the log does not say how many tests were left");
}

}  // namespace

FinishedRun finish_pytest_session(PytestSession facts) {
    FinishedRun finished;
    ModuleRecord& record = finished.record;
    record.from_text = true;
    record.framework = name_of(Framework::pytest);
    record.framework_version = facts.version;
    record.python_version = facts.python;
    PytestFinish finish(facts);
    finish.add_all(record.diagnostics);
    for (size_t i = 0; i < facts.cases.size(); ++i) finished.progress.push_back(finish.resolve(i));
    record.cases = std::move(facts.cases);
    number_repeated_ids(record.cases);
    record.closing = facts.closing;
    finished.course.finished = facts.closing.has_value();
    finished.course.ready = facts.selected || !record.cases.empty();
    finished.end = facts.closing ? kInOrder : facts.how_died.value_or(kBrokenOff);
    record.path = record.cases.empty() ? facts.fallback : common_module(record.cases);
    OutcomeCounts beyond = counts_beyond_cases(record, facts.verbose);
    UnnamedTests unnamed = unnamed_tests(facts, record, beyond, finish.untold_calls);
    for (size_t i = 0; i < beyond.size(); ++i) beyond[i] = std::max(beyond[i], facts.replaced[i]);
    add_doubts(facts, finish.doubt, unnamed, beyond, record);
    const std::string& path = record.path.empty() ? facts.fallback : record.path;
    if (facts.how_died && !facts.verbose && facts.in_order) {
        record.cases.push_back(unnamed_row(path));
        finished.progress.push_back(Progress::started);
        if (unnamed.counts[State::not_run] > 0) --unnamed.counts[State::not_run];
    }
    add_unnamed(record, path, unnamed, facts.closing ? facts.end : facts.begin, kPytestNamesAdvice);
    finished.progress.resize(record.cases.size(), Progress::ended);
    add_notes(facts, finish.untold_calls, record);
    record.collected = tests_in(record.cases);
    return finished;
}

}  // namespace compat::parsers

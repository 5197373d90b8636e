#include "parsers/import/junit/junit_pytest.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "parsers/diagnosis/traceback.h"
#include "parsers/import/importers.h"
#include "parsers/import/junit/junit_case.h"
#include "parsers/import/pytest_failure.h"
#include "parsers/outcomes.h"
#include "parsers/python_repr.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using pugi::xml_node;

constexpr std::string_view kPytest = name_of(Framework::pytest);

// pytest's own words for a sub-test without a name.
constexpr std::string_view kNamelessSubtest = "(<subtest>)";

struct PytestWords {
    std::string_view begin;
    Phase phase;
};
constexpr std::array<PytestWords, 6> kPytestElements{{
    {"failed on setup with ", Phase::setup},
    {"failed on teardown with ", Phase::teardown},
    {"test setup failure", Phase::setup},
    {"test teardown failure", Phase::teardown},
    {"collection failure", Phase::load},
    {"collection skipped", Phase::load},
}};

// With --tb=no and the like only the attribute tells: 'failed on setup with "ValueError: bad"', of
// as many lines as there are.
Failure pytest_failure(std::string_view text, std::string_view attribute_text) {
    Failure failure = parse_pytest_failure(text, "");
    if (!failure.type.empty()) return failure;
    static const RE2 kQuoted(R"((?s)failed on [^"]*["](.*)["])", RE2::Latin1);
    std::string message;
    if (!RE2::FullMatch(attribute_text, kQuoted, &message)) message = attribute_text;
    if (!message.empty() && !pytest_phase(message)) name_by_message(failure, message);
    return failure;
}

std::string pytest_reason(xml_node skipped) {
    const std::string_view message = junit_attribute(skipped, "message");
    // "('/suite/test_a.py', 3, 'Skipped: not on this host')"
    static const RE2 kTuple(R"((?s)\(.*?, (?:\d+|None), (['"].*['"])\)\s*)");
    std::string quoted;
    if (message != "collection skipped" || !RE2::FullMatch(junit_text(skipped), kTuple, &quoted))
        return junit_reason(skipped);
    std::string reason = unquoted_python(quoted);
    if (reason.starts_with("Skipped: ")) reason.erase(0, 9);
    return valid_utf8(reason);
}

bool is_expected_failure(xml_node skipped) {
    return junit_attribute(skipped, "type") == "pytest.xfail" ||
           junit_attribute(skipped, "message") == "expected test failure";
}

// The outcomes of one element by where they are from.
struct PytestOutcomesInXml {
    std::vector<SubCase> call;    // in order: the last is the test's own
    std::vector<Failure> broken;  // set-up, tear-down, the import of a module
    std::vector<CaseRecord> reruns;
};

// An attempt that was not the last, as PyTorch's conftest.py writes it; no total counts it.
CaseRecord pytest_rerun(xml_node rerun) {
    CaseRecord attempt;
    attempt.state = State::failed;
    attempt.call_state = State::passed;
    attempt.started = true;
    attempt.failure = pytest_failure(junit_text(rerun), junit_attribute(rerun, "message"));
    attempt.failure->counted = State::passed;
    return attempt;
}

PytestOutcomesInXml outcomes_in(xml_node testcase, const CaseRecord& test) {
    PytestOutcomesInXml found;
    for (const xml_node child : testcase) {
        const std::string_view kind = child.name();
        SubCase outcome{std::string(kNamelessSubtest), State::skipped, {}, {}};
        if (kind == "skipped") {
            outcome.reason = pytest_reason(child);
            if (is_expected_failure(child)) outcome.state = State::xfailed;
        } else if (kind == "failure" || kind == "error") {
            const std::string_view message = junit_attribute(child, "message");
            outcome.state = kind == "failure" ? State::failed : State::errored;
            Failure failure = pytest_failure(junit_text(child), message);
            failure.counted = outcome.state;
            if (test.pseudo)
                failure.phase = test.phase;
            else if (kind == "error")
                failure.phase = pytest_phase(message).value_or(Phase::call);
            if (failure.phase != Phase::call) {
                found.broken.push_back(std::move(failure));
                continue;
            }
            outcome.failure = std::move(failure);
        } else {
            if (kind == "rerun") found.reruns.push_back(pytest_rerun(child));
            continue;
        }
        found.call.push_back(std::move(outcome));
    }
    return found;
}

// The total `tests` by the tests; of the two ways of counting, by the one that fits `stated`.
std::int64_t tests_in_xml(const std::vector<CaseRecord>& cases, std::int64_t stated) {
    OutcomeCounts counts{};
    LeftOutTearDowns left_out;
    const auto count = [&](const CaseRecord& test, bool is_earlier) {
        add_pytest_xml_outcomes(counts, test, is_earlier);
        add_left_out(left_out, test);
    };
    for (const CaseRecord& test : cases) {
        for (const CaseRecord& attempt : test.earlier) count(attempt, true);
        count(test, false);
    }
    const auto all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    const auto [few, many] = std::minmax({left_out.after_failure, left_out.after_other});
    return all - few <= stated ? all - few : all - many;
}

// An attempt that was not the last failed, whatever its element shows.
void set_failed(CaseRecord& attempt) {
    if (is_broken(attempt.state)) return;
    attempt.call_state = attempt.state;
    attempt.state = State::failed;
    attempt.reason = "it was run again; pytest's file does not say why";
}

// Each attempt as a test of its own.
void unfold_attempts(std::vector<CaseRecord>& cases) {
    std::vector<CaseRecord> all;
    for (CaseRecord& test : cases) {
        for (CaseRecord& attempt : std::exchange(test.earlier, {}))
            all.push_back(std::move(attempt));
        all.push_back(std::move(test));
    }
    cases = std::move(all);
}

// Whether all tests of a module have as many elements, as if the module had run several times.
bool modules_repeat(const std::vector<CaseRecord>& cases) {
    std::map<std::string_view, std::vector<size_t>> attempts;
    for (const CaseRecord& test : cases) attempts[module_of(test)].push_back(test.earlier.size());
    return std::all_of(attempts.begin(), attempts.end(), [](const auto& module) {
        const auto [least, most] = std::minmax_element(module.second.begin(), module.second.end());
        return *least == *most && (*most == 0 || module.second.size() > 1);
    });
}

// Whether a failure in an earlier element may well be a sub-test's.
bool has_subtests(const CaseRecord& test) {
    const auto tells = [](const CaseRecord& one) {
        return !one.subcases.empty() ||
               (one.failure && one.failure->message.find(" failed subtest") != std::string::npos);
    };
    return tells(test) || std::any_of(test.earlier.begin(), test.earlier.end(), tells);
}

// pytest-rerunfailures writes no failure of an attempt that was run again, but for sub-tests and
// tear-downs.
bool failed_by_itself(const CaseRecord& attempt) {
    return attempt.failure && attempt.failure->phase != Phase::teardown &&
           attempt.failure->counted != State::passed;
}

// All outcomes of the call are skips, of which the last may be a sub-test's.
template <class Test>
bool is_skipped(const Test& test) {
    return test.state == State::skipped || test.state == State::xfailed;
}
bool may_have_passed(const CaseRecord& test) {
    return !test.subcases.empty() && is_skipped(test) &&
           std::all_of(test.subcases.begin(), test.subcases.end(), is_skipped<SubCase>);
}

void set_passed(CaseRecord& test) {
    test.subcases.push_back(
        {std::string(kNamelessSubtest), test.state, std::exchange(test.reason, {}), std::nullopt});
    test.state = State::passed;
}

}  // namespace

bool is_pytest_suite(xml_node suite) {
    // In this order; no other known writer has it.
    constexpr std::array<std::string_view, 8> kAttributes{
        "name", "errors", "failures", "skipped", "tests", "time", "timestamp", "hostname"};
    const auto attributes = suite.attributes();
    if (junit_attribute(suite, "name") == kPytest ||
        junit_attribute(suite.parent(), "name") == "pytest tests" ||
        std::equal(attributes.begin(), attributes.end(), kAttributes.begin(), kAttributes.end(),
                   [](const auto& a, std::string_view name) { return a.name() == name; }))
        return true;
    for (const xml_node testcase : suite.children("testcase"))
        for (const xml_node child : testcase)
            if (junit_attribute(child, "type").starts_with("pytest.") ||
                pytest_phase(junit_attribute(child, "message")))
                return true;
    return false;
}

std::optional<Phase> pytest_phase(std::string_view message) {
    for (const PytestWords& known : kPytestElements)
        if (message.starts_with(known.begin)) return known.phase;
    return std::nullopt;
}

bool read_pytest_outcomes(xml_node testcase, CaseRecord& test) {
    auto [call, broken, reruns] = outcomes_in(testcase, test);
    test.earlier = std::move(reruns);
    if (!call.empty()) {
        SubCase own = std::move(call.back());
        call.pop_back();
        test.state = own.state;
        test.reason = std::move(own.reason);
        test.failure = std::move(own.failure);
        test.subcases = std::move(call);
    }
    const bool sub_failed = std::any_of(test.subcases.begin(), test.subcases.end(),
                                        [](const SubCase& sub) { return is_failure(sub.state); });
    if (sub_failed && !is_broken(test.state))
        test.call_state = std::exchange(test.state, State::failed);
    const bool only_teardown = test.state == State::passed && !broken.empty() &&
                               std::all_of(broken.begin(), broken.end(), [](const Failure& f) {
                                   return f.phase == Phase::teardown;
                               });
    for (Failure& failure : broken) {
        if (test.failure) {
            test.also.push_back(std::move(failure));
            continue;
        }
        if (failure.phase == Phase::teardown && !sub_failed) test.call_state = test.state;
        test.state = *failure.counted;
        test.phase = failure.phase;
        test.failure = std::move(failure);
    }
    if (!test.failure) return only_teardown;
    test.failure->traceback += junit_output(testcase);
    const auto death = pytest_death(test.failure->message);
    if (death && test.failure->phase == Phase::setup) {
        test.call_state = std::exchange(test.state, State::crashed);
        test.phase = test.failure->phase = Phase::call;
        test.reason = death->words;
        test.failure->message = test.reason;
    }
    return only_teardown;
}

void add_pytest_element(CaseRecord& test, CaseRecord more, bool only_teardown) {
    const bool is_teardown = only_teardown && test.state == State::failed &&
                             std::none_of(test.also.begin(), test.also.end(), [](const Failure& f) {
                                 return f.phase == Phase::teardown;
                             });
    if (is_teardown) {
        test.duration_s += more.duration_s;
        auto& first = test.failure ? test.also.emplace_back() : test.failure.emplace();
        first = std::move(*more.failure);
        std::move(more.also.begin(), more.also.end(), std::back_inserter(test.also));
        return;
    }
    auto earlier = std::exchange(test.earlier, {});
    earlier.push_back(std::exchange(test, std::move(more)));
    std::move(test.earlier.begin(), test.earlier.end(), std::back_inserter(earlier));
    test.earlier = std::move(earlier);
}

std::vector<std::string> settle_pytest_tests(std::vector<CaseRecord>& cases,
                                             std::optional<std::int64_t> stated_tests) {
    std::int64_t unnamed = stated_tests ? *stated_tests - tests_in_xml(cases, *stated_tests) : 0;
    std::int64_t look_passed = 0, sub_skipped = 0, failed = 0;
    bool with_subtests = false;
    for (const CaseRecord& test : cases) {
        failed += std::ranges::count_if(test.earlier, failed_by_itself);
        with_subtests = with_subtests || has_subtests(test);
        look_passed += std::count_if(test.earlier.begin(), test.earlier.end(),
                                     [](const auto& c) { return c.state == State::passed; });
        sub_skipped += may_have_passed(test);
    }
    std::vector<std::string> said;
    // A sub-test that failed and passed in the next attempt is counted there, and has no element.
    const bool some_failed = failed > 0 && !with_subtests;
    if (unnamed == look_passed && (look_passed > 0 || some_failed)) {
        // As of pytest-xdist's --dist=each, or of attempts whose tear-down alone broke.
        const bool are_tests = look_passed == 0 || modules_repeat(cases);
        said.push_back(fmt::format(
            "its totals count each of several elements of one test: {}",
            are_tests ? "each has a row of its own" : "they are read as attempts at it"));
        if (are_tests) {
            unfold_attempts(cases);
            return said;
        }
    }
    for (CaseRecord& test : cases)
        for (CaseRecord& attempt : test.earlier) set_failed(attempt);
    if (sub_skipped > 0 && unnamed >= sub_skipped) {
        unnamed -= sub_skipped;
        for (CaseRecord& test : cases)
            if (may_have_passed(test)) set_passed(test);
    }
    // An attempt whose tear-down alone broke passed by the totals.
    unnamed -= std::clamp(unnamed, std::int64_t{0}, look_passed);
    if (unnamed > 0)
        said.push_back(fmt::format(
            "its totals count {} more than it names: sub-tests that passed, which pytest does not "
            "write, or tests that are missing{}",
            unnamed,
            std::any_of(cases.begin(), cases.end(), is_skipped<CaseRecord>)
                ? "; a test with one skip may have passed, if that was a sub-test's"
                : ""));
    return said;
}

}  // namespace compat::parsers

#include "parsers/import/junit/junit_writer.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "parsers/outcomes.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using pugi::xml_node;

std::string_view value_of(xml_node node, const char* name) {
    return node.attribute(name).as_string();
}

xml_node root_of(xml_node suite) {
    return value_of(suite.parent(), "name").empty() && !suite.parent().attribute("tests")
               ? xml_node()
               : suite.parent();
}

xml_node first_test(xml_node suite) {
    for (xml_node at = suite; at;) {
        if (const xml_node found = at.child("testcase")) return found;
        at = at.child("testsuite");
    }
    return {};
}

bool is_absl(xml_node suite) {
    const xml_node test = first_test(suite);
    return test.attribute("status") && test.attribute("result") &&
           value_of(test, "classname").ends_with(fmt::format(".{}", value_of(suite, "name")));
}

std::string attribute_names(xml_node node) {
    std::string names;
    for (const auto& attribute : node.attributes()) names.append(attribute.name()) += ' ';
    return names;
}

bool is_boost(xml_node suite) {
    return attribute_names(suite).starts_with("tests skipped errors failures id name ") &&
           first_test(suite).attribute("assertions");
}

bool is_catch2(xml_node suite) { return value_of(suite, "hostname") == "tbd"; }

bool is_doctest(xml_node suite) { return static_cast<bool>(suite.attribute("doctest_version")); }

bool is_go(xml_node suite) {
    const xml_node property = suite.child("properties").child("property");
    return value_of(property, "name") == "go.version";
}

// jest-junit's names are all templates. The order of its attributes is not.
bool is_jest(xml_node suite) {
    return attribute_names(suite) == "name errors failures skipped timestamp time tests ";
}

// mocha's own reporter writes no root, and a date with a weekday.
bool is_mocha_xunit(xml_node suite) {
    return !root_of(suite) && value_of(suite, "timestamp").ends_with(" GMT");
}

bool is_mocha(xml_node suite) {
    return value_of(root_of(suite), "name").starts_with("Mocha Tests");
}

// The root has no attributes, and may have tests without a suite.
bool is_node(xml_node suite) {
    const std::string_view class_name = value_of(first_test(suite), "classname");
    return (class_name == "test" || class_name == "suite") &&
           (attribute_names(suite).empty() ||
            attribute_names(suite) == "name time disabled errors tests failures skipped hostname ");
}

bool is_nose2(xml_node suite) { return value_of(suite, "name") == "nose2-junit"; }

// How far a total is held to the tests.
enum class Held { equal, at_most, not_at_all };

struct WriterForm {
    JunitWriter writer;
    bool (*is)(xml_node suite);
    Held tests;   // at_most: some elements are no tests, or are not counted
    Held broken;  // failures and errors together
    Held skipped;
};
constexpr std::array kForms{
    WriterForm{JunitWriter::absl, is_absl, Held::equal, Held::equal, Held::equal},
    WriterForm{JunitWriter::boost, is_boost, Held::at_most, Held::equal, Held::at_most},
    WriterForm{JunitWriter::catch2, is_catch2, Held::not_at_all, Held::equal, Held::equal},
    WriterForm{JunitWriter::doctest, is_doctest, Held::not_at_all, Held::equal, Held::equal},
    WriterForm{JunitWriter::go, is_go, Held::at_most, Held::at_most, Held::equal},
    WriterForm{JunitWriter::jest, is_jest, Held::at_most, Held::at_most, Held::equal},
    WriterForm{JunitWriter::mocha_xunit, is_mocha_xunit, Held::at_most, Held::equal,
               Held::not_at_all},
    WriterForm{JunitWriter::mocha, is_mocha, Held::not_at_all, Held::equal, Held::not_at_all},
    WriterForm{JunitWriter::node, is_node, Held::at_most, Held::at_most, Held::not_at_all},
    WriterForm{JunitWriter::nose2, is_nose2, Held::at_most, Held::equal, Held::equal},
};

const WriterForm* form_of(JunitWriter writer) {
    const auto* const it = std::find_if(kForms.begin(), kForms.end(),
                                        [&](const WriterForm& form) { return form.writer == writer; });
    return it == kForms.end() ? nullptr : it;
}

// A test case of Boost's that failed has words on its standard error; an assertion that broke in
// another one was expected to.
bool is_expected_by_boost(xml_node testcase) {
    const std::string_view said = testcase.child_value("system-err");
    const std::string_view why = testcase.child_value("failure");
    return said.find("Failures detected in:") == said.npos &&
           why.find("ASSERTION FAILURE:") != why.npos && why.find("- file   :") != why.npos;
}

// Whether it may be a failure that was allowed, as far as its element tells.
bool may_be_allowed(JunitWriter writer, xml_node testcase) {
    if (writer == JunitWriter::boost && is_expected_by_boost(testcase)) return true;
    // An error beside a skip may be a tear-down's where nothing is known of the writer.
    return testcase.child("skipped") && (writer != JunitWriter::other || !testcase.child("error"));
}

// Whether it was allowed, whatever the totals count.
bool is_surely_allowed(JunitWriter writer, xml_node testcase) {
    // PHPUnit's, up to 9: a test without an assertion, which fails no run.
    return value_of(testcase.child("error"), "type").starts_with("PHPUnit\\Framework\\Risky") ||
           (writer == JunitWriter::node && value_of(testcase.child("skipped"), "type") == "todo");
}

std::optional<std::int64_t> stated_broken(xml_node suite) {
    const auto failures = suite.attribute("failures"), errors = suite.attribute("errors");
    if (!failures && !errors) return {};
    return std::int64_t{failures.as_int()} + errors.as_int();
}

// The failures and errors of a suite that were not allowed. Its suites' are as these state them.
std::int64_t broken_in(JunitWriter writer, xml_node suite) {
    std::int64_t broken = 0;
    for (std::vector<xml_node> open{suite}; !open.empty();) {
        const xml_node around = open.back();
        open.pop_back();
        for (const xml_node nested : around.children("testsuite"))
            if (const auto stated = stated_broken(nested))
                broken += *stated;
            else
                open.push_back(nested);
        for (const xml_node test : around.children("testcase")) {
            if (may_be_allowed(writer, test)) continue;
            std::int64_t elements = 0;
            for (const char* kind : {"failure", "error"})
                for (const xml_node child : test.children(kind)) elements += child ? 1 : 0;
            // Catch2 counts assertions.
            broken +=
                writer == JunitWriter::catch2 ? elements : std::min<std::int64_t>(elements, 1);
        }
    }
    return broken;
}

// A failure that leaves its test as good as before.
void allow_failure(CaseRecord& test) {
    const std::string why = test.failure->first_line();
    test.reason += test.reason.empty() || why.empty() ? why : ": " + why;
    test.state = State::xfailed;
    test.failure.reset();
    test.also.clear();
    test.call_state.reset();
}

void settle_absl(xml_node testcase, CaseRecord& test) {
    const xml_node error = testcase.child("error");
    if (value_of(testcase, "result") == "suppressed") {
        test.state = State::skipped;
        test.reason.clear();
        test.started = true;
    } else if (error && value_of(error, "message").empty() && value_of(error, "type").empty()) {
        test.state = State::xpassed;
        test.failure.reset();
    }
}

// A test that was aborted is an error in the totals.
void settle_boost(xml_node testcase, CaseRecord& test) {
    for (const xml_node failure : testcase.children("failure"))
        if (value_of(failure, "type") == "fatal error") test.state = State::errored;
    if (testcase.child("error")) test.state = State::errored;
    static const RE2 kMessage(R"((?m)^- message: (.*)$)", RE2::Latin1);
    std::string message;
    if (test.failure && RE2::PartialMatch(test.failure->traceback, kMessage, &message))
        test.failure->message = valid_utf8(message);
    const std::string_view why = testcase.child_value("system-out");
    constexpr std::string_view kReason = "- reason: '";
    const size_t at = why.rfind(kReason);
    if (test.state == State::skipped && at != why.npos)
        test.reason = valid_utf8(why.substr(at + kReason.size(),
                                            why.rfind('\'') - at - kReason.size()));
}

// A file of tests that could not be loaded.
void settle_jest(xml_node testcase, CaseRecord& test) {
    if (value_of(testcase, "classname") != "Test suite failed to run") return;
    test.id = test.name = "<module>";
    test.pseudo = true;
    test.phase = Phase::load;
    test.state = State::errored;
    if (test.failure) test.failure->phase = Phase::load;
}

void settle_nose2(xml_node testcase, CaseRecord& test) {
    const std::string_view message = value_of(testcase.child("skipped"), "message");
    if (message == "expected test failure") test.state = State::xfailed;
    if (message == "test passes unexpectedly") test.state = State::xpassed;
}

struct Range {
    std::int64_t least, most;
};

bool is_within(const std::optional<std::int64_t>& stated, Range range, Held held) {
    if (!stated || held == Held::not_at_all) return true;
    return *stated <= range.most && (held == Held::at_most || *stated >= range.least);
}

}  // namespace

std::string_view framework_of(JunitWriter writer) {
    switch (writer) {
        case JunitWriter::pytest:
            return name_of(Framework::pytest);
        case JunitWriter::googletest:
            return name_of(Framework::gtest);
        case JunitWriter::ctest:
            return name_of(Framework::ctest);
        case JunitWriter::unittest:
        case JunitWriter::absl:
        case JunitWriter::nose2:
            return name_of(Framework::unittest);
        default:
            return "junit";
    }
}

std::optional<JunitWriter> writer_by_form(xml_node suite) {
    const auto* const it = std::find_if(kForms.begin(), kForms.end(),
                                        [&](const WriterForm& form) { return form.is(suite); });
    return it == kForms.end() ? std::nullopt : std::optional(it->writer);
}

bool CountedFailures::counts(JunitWriter writer, xml_node testcase) {
    constexpr int kOutermost = 16;  // hostile files nest deeper
    xml_node suite = testcase.parent();
    for (int i = 0; i < kOutermost && !stated_broken(suite); ++i) suite = suite.parent();
    const auto stated = stated_broken(suite);
    if (!stated) return false;
    const auto [known, is_new] = by_suite_.try_emplace(suite.hash_value());
    if (is_new) known->second = *stated > broken_in(writer, suite);
    return known->second;
}

void settle_by_writer(JunitWriter writer, xml_node testcase, CountedFailures& counted,
                      CaseRecord& test) {
    // node's for a skip without a reason.
    if (writer == JunitWriter::node && test.reason == "true") test.reason.clear();
    if (test.failure && (is_surely_allowed(writer, testcase) ||
                         (may_be_allowed(writer, testcase) && !counted.counts(writer, testcase))))
        allow_failure(test);
    if (writer == JunitWriter::absl) settle_absl(testcase, test);
    if (writer == JunitWriter::boost) settle_boost(testcase, test);
    if (writer == JunitWriter::jest) settle_jest(testcase, test);
    if (writer == JunitWriter::nose2) settle_nose2(testcase, test);
}

std::optional<CaseRecord> unloaded_file(xml_node suite) {
    const auto has_error = [](xml_node node) { return node.attribute("errors").as_int() > 0; };
    const auto nested = suite.children("testsuite");
    if (!has_error(suite) || value_of(suite, "tests") != "0" || suite.child("testcase") ||
        std::any_of(nested.begin(), nested.end(), has_error))
        return {};
    CaseRecord row;
    row.name = "<module>";
    row.id = fmt::format("{}::{}", value_of(suite, "name"), row.name);
    row.state = State::errored;
    row.phase = Phase::load;
    row.pseudo = row.started = true;
    row.failure = Failure{.message = "its suite has an error and no test", .phase = row.phase};
    row.failure->traceback = valid_utf8(suite.child_value("system-err"));
    return row;
}

bool totals_agree(JunitWriter writer, const JunitTotals& stated,
                  const std::vector<CaseRecord>& cases) {
    const WriterForm* const form = form_of(writer);
    if (form == nullptr) return false;
    OutcomeCounts by_outcome{};
    Range tests{0, static_cast<std::int64_t>(cases.size())}, broken{}, skipped{};
    for (const CaseRecord& c : cases) {
        const std::int64_t one = c.pseudo ? 0 : 1;
        tests.least += one;
        add_outcomes(by_outcome, c, framework_of(writer));
        if (is_failure(c.state)) broken.least += one;
        if (c.state == State::skipped) ++skipped.least;
    }
    // A failure that was allowed may be counted as any of them.
    const std::int64_t allowed = by_outcome[State::xfailed] + by_outcome[State::xpassed];
    broken.most = by_outcome[State::failed] + by_outcome[State::errored] + allowed;
    skipped.most = skipped.least + allowed;
    std::optional<std::int64_t> stated_broken;
    if (stated[1] || stated[2]) stated_broken = stated[1].value_or(0) + stated[2].value_or(0);
    return is_within(stated[0], tests, form->tests) &&
           is_within(stated_broken, broken, form->broken) &&
           is_within(stated[3], skipped, form->skipped);
}

}  // namespace compat::parsers

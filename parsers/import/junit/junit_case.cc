#include "parsers/import/junit/junit_case.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "parsers/import/foreign.h"
#include "parsers/import/gtest/googletest.h"
#include "parsers/import/junit/junit_failure.h"
#include "parsers/python_repr.h"
#include "parsers/text.h"
#include "parsers/import/unittest/header.h"

namespace compat::parsers {

namespace {

using pugi::xml_node;
constexpr auto attribute = junit_attribute;
constexpr auto text_in = junit_text;

// What a failing or skipping child of a testcase is. Those that do not decide the test's state are
// attempts at it that were not the last.
struct Element {
    std::string_view name;
    State state;
    bool decides;
    bool counted;  // by the totals
};
constexpr std::array<Element, 8> kElements{{
    {"failure", State::failed, true, true},
    {"error", State::errored, true, true},
    {"skipped", State::skipped, true, true},
    {"rerunFailure", State::failed, false, true},
    {"rerunError", State::errored, false, true},
    {"flakyFailure", State::failed, false, true},
    {"flakyError", State::errored, false, true},
    {"rerun", State::failed, false, false},
}};
constexpr std::string_view kOwnXpassed = "[[PROPERTY|state=xpassed]]";
constexpr std::array<std::string_view, 3> kNotResults{"properties", "system-out", "system-err"};

// "1,234.5"; what is no time is none, nor is what a sum could not hold.
double seconds(std::string_view text) {
    std::string digits(text.substr(0, 40));
    std::erase(digits, ',');
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    constexpr double kMost = 1e9;
    return error == std::errc{} && value > 0 && value < kMost ? value : 0;
}

std::string with_slashes(std::string_view dotted) {
    std::string path(dotted);
    std::replace(path.begin(), path.end(), '.', '/');
    return path + ".py";
}

// Of a dotted class by the file in which the test is defined, where that is the module's; else by
// its words. pytest's names of functions are of a module alone.
ClassPlace class_place(JunitWriter writer, std::string_view dotted, std::string_view file) {
    std::string path(file);
    std::replace(path.begin(), path.end(), '\\', '/');
    if (path.ends_with(".py") && !path.starts_with('/')) {
        std::string module = path.substr(0, path.size() - 3);
        std::replace(module.begin(), module.end(), '/', '.');
        if (dotted == module) return {path, {}};
        if (dotted.starts_with(module + "."))
            return {path, std::string(dotted.substr(module.size() + 1))};
    }
    ClassPlace place = place_of_class(dotted);
    if (writer == JunitWriter::pytest && !dotted.empty() &&
        place_of_class(std::string(dotted) + ".T").classes == "T")
        return {with_slashes(dotted), {}};
    // Run as a script, a module is named by its file alone.
    if (place.path.empty()) place.path = path.substr(path.rfind('/') + 1);
    return place;
}

class CaseReader {
  public:
    CaseReader(JunitWriter writer, xml_node node,
               const std::function<void(size_t, std::string)>& diagnose)
        : writer_(writer),
          node_(node),
          name_(attribute(node, "name")),
          class_name_(attribute(node, "classname")),
          file_(attribute(node, "file")),
          diagnose_(diagnose) {}

    JunitCase read() {
        CaseRecord& test = out_.test;
        test.started = true;
        test.state = State::passed;
        test.duration_s = seconds(attribute(node_, "time"));
        locate();
        switch (writer_) {
            case JunitWriter::pytest:
            case JunitWriter::unittest:
                if (!name_pseudo()) name_python();
                break;
            case JunitWriter::googletest:
                name_googletest();
                break;
            case JunitWriter::ctest:
                name(name_, name_);
                break;
            case JunitWriter::other:
                name_other();
                break;
            case JunitWriter::runner:
                name_own();
        }
        if (writer_ == JunitWriter::googletest)
            read_googletest();
        else if (writer_ == JunitWriter::ctest)
            read_ctest();
        else
            read_results();
        if (writer_ == JunitWriter::runner) read_own_state();
        return std::move(out_);
    }

  private:
    void locate() {
        const auto line = number_of(attribute(node_, "line"));
        // pytest counts from 0.
        const std::int64_t first = writer_ == JunitWriter::pytest ? 1 : 0;
        if (file_.empty() || !line || *line > 1'000'000'000) return;
        out_.test.location = {valid_utf8(file_), static_cast<int>(*line + first)};
    }

    void name(std::string_view id, std::string_view own) {
        out_.test.id = valid_utf8(id.empty() ? "<nameless>" : id);
        out_.test.name = valid_utf8(own);
    }

    void pseudo(std::string_view path, std::string_view id, Phase phase) {
        out_.path = valid_utf8(path);
        name(id, id);
        out_.test.pseudo = true;
        out_.test.phase = phase;
        out_.test.location = {};
    }

    // A row for a module, a class or a session that broke, where the element is of one.
    bool name_pseudo() {
        if (writer_ == JunitWriter::pytest) {
            const xml_node child = node_.first_child();
            const JunitPytestWords* const words = junit_pytest_words(attribute(child, "message"));
            if (words != nullptr && words->phase == Phase::load) {
                const std::string_view module = class_name_.empty() ? name_ : class_name_;
                pseudo(file_.empty() ? with_slashes(module) : file_, "<module>", Phase::load);
                return true;
            }
            if (class_name_ == "pytest" && name_ == "internal" &&
                attribute(child, "message") == "internal error") {
                pseudo("", "<session>", Phase::load);
                return true;
            }
            return false;
        }
        if (class_name_.starts_with("unittest.loader.")) {
            pseudo(with_slashes(name_), "<module>", Phase::load);
            return true;
        }
        const auto header = header_of(name_);
        if (!header || !class_name_.empty()) return false;
        const UnittestFixture* const fixture = unittest_fixture_of(header->method);
        if (fixture == nullptr) return false;
        if (fixture->of_class) {
            const ClassPlace place = class_place(writer_, header->qualified, {});
            pseudo(place.path, fmt::format("{}::{}", place.classes, fixture->pseudo),
                   fixture->phase);
        } else {
            pseudo(with_slashes(header->qualified), fixture->pseudo, fixture->phase);
        }
        return true;
    }

    // unittest-xml-reporting's folder has skipped sub-tests in a document of their own, apart from
    // their test: what became of that only the other document knows.
    [[nodiscard]] bool is_document_of_subtests() const {
        const xml_node suite = node_.parent();
        return writer_ == JunitWriter::unittest && !out_.subtest.empty() &&
               attribute(suite, "name").starts_with("unittest.case._SubTest") &&
               suite.parent().name() != std::string_view("testsuites");
    }

    void name_python() {
        const ClassPlace place = class_place(writer_, class_name_, file_);
        out_.path = valid_utf8(place.path);
        std::string_view test = name_;
        if (writer_ == JunitWriter::unittest) {
            const size_t end = std::min(name_.find(' '), name_.size());
            test = name_.substr(0, end);
            out_.subtest = valid_utf8(trimmed(name_.substr(end)));
        }
        std::string id =
            place.classes.empty() ? std::string(test) : fmt::format("{}::{}", place.classes, test);
        if (is_document_of_subtests()) id += "::<sub-tests>";
        name(id, writer_ == JunitWriter::pytest ? fmt::format("{}::{}", place.path, id)
                                                : fmt::format("{}.{}", class_name_, test));
    }

    void name_googletest() {
        if (!name_.empty())
            return name(fmt::format("{}::{}", class_name_, name_),
                        fmt::format("{}.{}", class_name_, name_));
        // What failed outside of any test, in a suite's own set-up or in none.
        const std::string_view suite = attribute(node_.parent(), "name");
        const bool of_suite = suite != "NonTestSuiteFailure";
        pseudo("", of_suite ? fmt::format("{}::<TestSuite>", suite) : "<Environment>",
               of_suite ? Phase::class_setup : Phase::module_setup);
    }

    void name_other() {
        const std::string_view suite = attribute(node_.parent(), "name");
        if (!file_.empty()) {
            const ClassPlace place = class_place(writer_, class_name_, file_);
            const bool python = place.path == file_;
            out_.path = valid_utf8(file_);
            const std::string_view classes = python ? std::string_view(place.classes) : class_name_;
            name(classes.empty() ? std::string(name_) : fmt::format("{}::{}", classes, name_),
                 name_);
        } else {
            out_.path = valid_utf8(suite.empty() ? class_name_ : suite);
            const bool same = class_name_.empty() || class_name_ == suite || suite.empty();
            name(same ? std::string(name_) : fmt::format("{}::{}", class_name_, name_), name_);
        }
        if (!class_name_.empty())
            out_.test.name = valid_utf8(fmt::format("{}.{}", class_name_, name_));
    }

    // The suite is the module; the class name is the module's with dots, and then the classes.
    void name_own() {
        const std::string_view module = attribute(node_.parent(), "name");
        std::string_view dotted = module;
        if (dotted.ends_with(".py")) dotted.remove_suffix(3);
        std::string_view classes = class_name_.substr(std::min(dotted.size(), class_name_.size()));
        if (classes.starts_with('.')) classes.remove_prefix(1);
        out_.path = valid_utf8(module);
        name(classes.empty() ? std::string(name_) : fmt::format("{}::{}", classes, name_), name_);
        out_.test.pseudo = name_.starts_with('<') && name_.ends_with('>');
    }

    // Elements have fewer kinds than we have states: their types say more.
    void read_own_state() {
        CaseRecord& test = out_.test;
        std::string_view type;
        for (const xml_node child : node_.children()) {
            const Element* const element = element_of(child);
            if (element == nullptr || !element->decides) continue;
            type = attribute(child, "type");
            if (!test.failure) continue;
            test.failure->type = valid_utf8(type);
            test.failure->message = valid_utf8(attribute(child, "message"));
        }
        if (test.state == State::passed && output().find(kOwnXpassed) != std::string::npos)
            test.state = State::xpassed;
        // Elsewhere such a file's attempts that did not decide are counted.
        for (Failure& other : test.also) other.counted = State::passed;
        const auto state = state_of(type);
        if (!state || *state == test.state) return;
        test.call_state = test.state;  // as the totals count it
        test.state = *state;
        if (test.failure) test.reason = test.failure->message;
        if (*state == State::not_run) test.started = false;
        if (*state == State::xpassed || *state == State::passed) test.failure.reset();
    }

    // Results.

    [[nodiscard]] const Element* element_of(xml_node child) const {
        const std::string_view name = child.name();
        const auto* const it =
            std::find_if(kElements.begin(), kElements.end(),
                         [&](const Element& known) { return known.name == name; });
        if (it != kElements.end()) return it;
        const bool known =
            child.type() != pugi::node_element ||
            std::find(kNotResults.begin(), kNotResults.end(), name) != kNotResults.end();
        if (!known)
            diagnose_(static_cast<size_t>(std::max<std::ptrdiff_t>(child.offset_debug(), 0)),
                      fmt::format("an element of no known kind: <{}>", valid_utf8(name)));
        return nullptr;
    }

    // What the test printed, which a failure's text is not complete without.
    std::string output() const {
        std::string text;
        for (const auto& [element, title] :
             {std::pair{"system-out", "stdout"}, std::pair{"system-err", "stderr"}})
            for (const xml_node child : node_.children(element))
                if (const std::string part = text_in(child); !trimmed(part).empty())
                    text += fmt::format("\n--- Captured {} ---\n{}", title, part);
        return text;
    }

    void read_results() {
        CaseRecord& test = out_.test;
        std::optional<State> good;  // skipped, xfailed, xpassed
        std::vector<Failure> others;
        bool in_call = false;
        bool in_teardown = false;
        for (const xml_node child : node_.children()) {
            const Element* const element = element_of(child);
            if (element == nullptr) continue;
            ++out_.outcomes;
            if (const auto state = good_state(*element, child)) {
                good = state;
                if (*state != State::xpassed) test.reason = reason_of(child);
                continue;
            }
            Failure failure = junit_failure(child, writer_ == JunitWriter::pytest);
            failure.counted = element->counted ? element->state : State::passed;
            failure.phase = test.pseudo ? test.phase : phase_of_error(*element, child);
            if (!element->decides) {
                others.push_back(std::move(failure));
                continue;
            }
            in_teardown = in_teardown || failure.phase == Phase::teardown;
            in_call = in_call || failure.phase != Phase::teardown;
            if (!test.failure) {
                test.state = element->state;
                test.phase = failure.phase;
                test.failure = std::move(failure);
            } else {
                test.also.push_back(std::move(failure));
            }
        }
        std::move(others.begin(), others.end(), std::back_inserter(test.also));
        if (test.failure) {
            test.failure->traceback += valid_utf8(output());
            if (good) test.call_state = good;
            if (!good && in_teardown && !in_call) test.call_state = State::passed;
        } else if (good) {
            test.state = *good;
        } else {
            read_status();
        }
        out_.only_teardown = in_teardown && !in_call && !good;
        if (test.state == State::passed || (test.call_state == State::passed && test.failure))
            ++out_.outcomes;
    }

    // Of a test without any element that says how it ended.
    void read_status() {
        const std::string_view status = attribute(node_, "status");
        if (status != "notrun" && status != "disabled") return;
        out_.test.state = State::not_run;
        out_.test.reason = valid_utf8(status);
        out_.test.started = false;
    }

    // What an element says that is no failure, though it may stand in an <error>.
    std::optional<State> good_state(const Element& element, xml_node child) const {
        const std::string_view type = attribute(child, "type");
        const std::string_view message = attribute(child, "message");
        if (element.state == State::skipped) {
            const bool expected =
                type == "pytest.xfail" || type == "XFAIL" ||
                (writer_ == JunitWriter::pytest && message == "expected test failure");
            return expected ? State::xfailed : State::skipped;
        }
        if (writer_ == JunitWriter::unittest && type == "UnexpectedSuccess") return State::xpassed;
        return std::nullopt;
    }

    std::string reason_of(xml_node child) const {
        const std::string_view message = attribute(child, "message");
        if (message != "collection skipped")
            return valid_utf8(message.empty() ? std::string(trimmed(text_in(child)))
                                              : std::string(message));
        // "('/suite/test_a.py', 3, 'Skipped: not on this host')"
        const std::string text = text_in(child);
        static const RE2 kTuple(R"((?s)\(.*?, (?:\d+|None), (['"].*['"])\)\s*)");
        std::string quoted;
        if (!RE2::FullMatch(text, kTuple, &quoted)) return valid_utf8(text);
        std::string reason = unquoted_python(quoted);
        constexpr std::string_view kSkipped = "Skipped: ";
        if (reason.starts_with(kSkipped)) reason.erase(0, kSkipped.size());
        return valid_utf8(reason);
    }

    [[nodiscard]] Phase phase_of_error(const Element& element, xml_node child) const {
        if (writer_ != JunitWriter::pytest || element.state != State::errored) return Phase::call;
        const JunitPytestWords* const words = junit_pytest_words(attribute(child, "message"));
        return words == nullptr ? Phase::call : words->phase;
    }

    std::vector<Failure> parts(const char* element, bool skipped) const {
        std::vector<Failure> all;
        for (const xml_node child : node_.children(element)) {
            const std::string text = text_in(child);
            all.push_back(
                googletest_failure(text.empty() ? attribute(child, "message") : text, skipped));
        }
        return all;
    }

    void read_googletest() {
        CaseRecord& test = out_.test;
        for (const xml_node child : node_.children()) static_cast<void>(element_of(child));
        auto failures = parts("failure", false);
        if (test.pseudo) {
            test = googletest_fixture(attribute(node_.parent(), "name"), std::move(failures));
            test.id = test.name;
        } else if (attribute(node_, "status") == "notrun" ||
                   attribute(node_, "result") == "suppressed") {
            set_googletest_disabled(test);
        } else if (!failures.empty()) {
            set_googletest_result(test, State::failed, std::move(failures));
        } else if (attribute(node_, "result") == "skipped" || node_.child("skipped")) {
            set_googletest_result(test, State::skipped, parts("skipped", true));
        }
        if (test.failure) test.failure->traceback += valid_utf8(output());
    }

    // CTest does not write why a test failed: what it printed last is all that tells.
    void read_ctest() {
        CaseRecord& test = out_.test;
        const std::string_view status = attribute(node_, "status");
        const xml_node failure = node_.child("failure");
        const xml_node skipped = node_.child("skipped");
        for (const xml_node child : node_.children()) static_cast<void>(element_of(child));
        if (failure || status == "fail") {
            test.state = State::failed;
            test.failure = ctest_failure("Failed", attribute(failure, "message"));
        } else if (status == "disabled") {
            test.state = State::skipped;
            test.phase = Phase::setup;
            test.reason = "DISABLED";
            test.started = false;
        } else if (skipped) {
            read_ctest_skip(attribute(skipped, "message"));
        } else if (status != "run") {
            read_status();
        }
    }

    void read_ctest_skip(std::string_view message) {
        CaseRecord& test = out_.test;
        constexpr std::string_view kByCode = "SKIP_RETURN_CODE=";
        if (message.starts_with("SKIP_")) {
            test.state = State::skipped;
            test.reason = last_line();
            if (test.reason.empty() && message.starts_with(kByCode))
                test.reason =
                    valid_utf8(fmt::format("exit code {}", message.substr(kByCode.size())));
            return;
        }
        // Its program or its fixture is missing: CTest's own summary has it among the failed.
        test.state = State::errored;
        test.phase = Phase::setup;
        test.started = false;
        const std::string said = last_line();
        test.failure = ctest_failure("NotRun", said.empty() ? message : std::string_view(said));
        test.failure->phase = Phase::setup;
    }

    Failure ctest_failure(std::string_view type, std::string_view message) const {
        Failure failure;
        failure.message = message.empty() ? last_line() : valid_utf8(trimmed(message));
        if (!failure.message.empty()) failure.type = type;
        failure.traceback = valid_utf8(text_in(node_.child("system-out")));
        return failure;
    }

    std::string last_line() const {
        const std::string text = text_in(node_.child("system-out"));
        const std::string_view rest = trimmed(text);
        return valid_utf8(trimmed(rest.substr(rest.rfind('\n') + 1)));
    }

    JunitWriter writer_;
    xml_node node_;
    std::string_view name_;
    std::string_view class_name_;
    std::string_view file_;
    const std::function<void(size_t, std::string)>& diagnose_;
    JunitCase out_;
};

bool is_pytest_result(xml_node testcase) {
    return std::any_of(testcase.begin(), testcase.end(), [](xml_node child) {
        return attribute(child, "type").starts_with("pytest.") ||
               junit_pytest_words(attribute(child, "message")) != nullptr;
    });
}

}  // namespace

JunitWriter writer_of(xml_node suite) {
    const std::string_view name = attribute(suite, "name");
    const std::string_view root = attribute(suite.parent(), "name");
    const xml_node first = suite.child("testcase");
    const xml_node generator = suite.child("properties").child("property");
    if (attribute(generator, "name") == "generator" &&
        attribute(generator, "value").starts_with("runner "))
        return JunitWriter::runner;
    const bool with_status = first.attribute("status");
    if (root == "AllTests" || (with_status && first.attribute("result")))
        return JunitWriter::googletest;
    if (suite.attribute("disabled") && !suite.attribute("errors") && (with_status || !first))
        return JunitWriter::ctest;
    if (name == "pytest" || root == "pytest tests") return JunitWriter::pytest;
    static const RE2 kDated(R"(.*-\d{14})");
    if (attribute(suite, "file").ends_with(".py") || RE2::FullMatch(name, kDated))
        return JunitWriter::unittest;
    for (const xml_node testcase : suite.children("testcase"))
        if (is_pytest_result(testcase)) return JunitWriter::pytest;
    return JunitWriter::other;
}

JunitCase junit_case(JunitWriter writer, xml_node testcase,
                     const std::function<void(size_t, std::string)>& diagnose) {
    return CaseReader(writer, testcase, diagnose).read();
}

}  // namespace compat::parsers

#include "parsers/import/junit/junit_case.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "parsers/diagnosis/traceback.h"
#include "parsers/import/fields.h"
#include "parsers/import/gtest/googletest.h"
#include "parsers/import/gtest/unwritten.h"
#include "parsers/import/importers.h"
#include "parsers/import/junit/junit_pytest.h"
#include "parsers/text.h"
#include "parsers/unittest_header.h"

namespace compat::parsers {

namespace {

using pugi::xml_node;
constexpr auto attribute = junit_attribute;

// The kind of a testcase's child: a failure or skip, or (`State::passed`) no result. Those that do
// not decide the test's state are attempts at it that were not the last.
struct Element {
    std::string_view name;
    State state;
    bool decides = true;
};
constexpr std::array<Element, 11> kElements{{
    {"failure", State::failed},
    {"error", State::errored},
    {"skipped", State::skipped},
    {"rerunFailure", State::failed, false},
    {"rerunError", State::errored, false},
    {"flakyFailure", State::failed, false},
    {"flakyError", State::errored, false},
    {"rerun", State::failed, false},
    {"properties", State::passed},
    {"system-out", State::passed},
    {"system-err", State::passed},
}};
const Element* element_named(std::string_view name) {
    const auto* const it = std::find_if(kElements.begin(), kElements.end(),
                                        [&](const Element& known) { return known.name == name; });
    return it == kElements.end() ? nullptr : it;
}

// Its phase and how it is counted are left to the caller.
Failure failure_in(xml_node element) {
    const xml_node trace = element.child("stackTrace");
    const std::string text = junit_text(trace ? trace : element);
    const std::string_view message = attribute(element, "message");
    static const RE2 kPython(
        R"((?m)^(?:  \+ Exception Group )?Traceback \(most recent call last\):$)");
    Failure failure;
    if (RE2::PartialMatch(text, kPython)) failure = parse_traceback(text);
    failure.traceback = valid_utf8(text);
    if (!failure.type.empty()) return failure;
    failure.type = valid_utf8(attribute(element, "type"));
    failure.message =
        valid_utf8(message.empty() ? trimmed(text).substr(0, trimmed(text).find('\n')) : message);
    return failure;
}

std::string with_slashes(std::string_view dotted) {
    std::string path(dotted);
    std::replace(path.begin(), path.end(), '.', '/');
    return path + ".py";
}

// "Class::test", or what of it there is.
std::string joined(std::string_view classes, std::string_view test) {
    return classes.empty() ? std::string(test) : fmt::format("{}::{}", classes, test);
}

// The place of a dotted class by the test's file, where that is the module's; else by
// its words. pytest's names of functions are of a module alone.
ClassPlace class_place(JunitWriter writer, std::string_view dotted, std::string_view file) {
    std::string path(file);
    std::replace(path.begin(), path.end(), '\\', '/');
    if (!path.empty() && !path.starts_with('/')) {
        std::string module = path.substr(0, path.size() - (path.ends_with(".py") ? 3 : 0));
        std::replace(module.begin(), module.end(), '/', '.');
        if (dotted == module) return {path, {}};
        if (dotted.starts_with(module + "."))
            return {path, std::string(dotted.substr(module.size() + 1))};
    }
    if (writer == JunitWriter::pytest && !dotted.empty() &&
        place_of_class(std::string(dotted) + ".T").classes == "T")
        return {with_slashes(dotted), {}};
    ClassPlace place = place_of_class(dotted);
    // Run as a script, a module is named by its file alone.
    if (place.path.empty()) place.path = path.substr(path.rfind('/') + 1);
    return place;
}

class CaseReader {
  public:
    CaseReader(JunitWriter writer, xml_node node, CountedFailures& counted)
        : writer_(writer),
          node_(node),
          counted_(counted),
          suite_(attribute(node.parent(), "name")),
          name_(attribute(node, "name")),
          class_name_(attribute(node, "classname")),
          file_(attribute(node, "file")) {}

    JunitCase read() {
        CaseRecord& test = out_.test;
        test.started = true;
        test.state = State::passed;
        test.duration_s = file_seconds(attribute(node_, "time"));
        // pytest counts from 0.
        const int first = writer_ == JunitWriter::pytest ? 1 : 0;
        if (const auto line = number_of(attribute(node_, "line"));
            !file_.empty() && line && *line < 1'000'000'000)
            test.location = {valid_utf8(file_), static_cast<int>(*line) + first};
        switch (writer_) {
            case JunitWriter::pytest:
                if (!name_pseudo()) name_python();
                out_.only_teardown = read_pytest_outcomes(node_, test);
                break;
            case JunitWriter::unittest:
                if (!name_pseudo()) name_python();
                read_results();
                break;
            case JunitWriter::googletest:
                if (class_name_.empty()) class_name_ = suite_;
                name("", joined(class_name_, name_), fmt::format("{}.{}", class_name_, name_));
                read_googletest();
                break;
            case JunitWriter::ctest:
                name("", name_, name_);
                read_ctest();
                break;
            case JunitWriter::runner:
                name_own();
                read_results();
                read_own_state();
                break;
            default:
                if (writer_ == JunitWriter::absl)
                    name("", joined(class_name_, name_), fmt::format("{}.{}", class_name_, name_));
                else
                    name_other();
                read_results();
                settle_by_writer(writer_, node_, counted_, out_.test);
        }
        return std::move(out_);
    }

  private:
    void name(std::string_view path, std::string_view id, std::string_view own) {
        out_.path = valid_utf8(path);
        out_.test.id = valid_utf8(id.empty() ? "<nameless>" : id);
        out_.test.name = valid_utf8(own);
    }

    bool pseudo(std::string_view path, std::string_view id, Phase phase) {
        name(path, id, id);
        out_.test.pseudo = true;
        out_.test.phase = phase;
        out_.test.location = {};
        return true;
    }

    // A row for a module, a class or a session that broke, where the element is of one.
    bool name_pseudo() {
        const std::string_view message = attribute(node_.first_child(), "message");
        if (writer_ == JunitWriter::pytest) {
            const std::string_view module = class_name_.empty() ? name_ : class_name_;
            if (pytest_phase(message) == Phase::load)
                return pseudo(file_.empty() ? with_slashes(module) : file_, "<module>",
                              Phase::load);
            return class_name_ == "pytest" && name_ == "internal" && message == "internal error" &&
                   pseudo("", "<session>", Phase::load);
        }
        if (class_name_.starts_with("unittest.loader."))
            return pseudo(with_slashes(name_), "<module>", Phase::load);
        const auto header = header_of(name_);
        const auto* const fixture = header ? unittest_fixture_of(header->method) : nullptr;
        if (fixture == nullptr || !class_name_.empty()) return false;
        if (!fixture->of_class)
            return pseudo(with_slashes(header->qualified), fixture->pseudo, fixture->phase);
        const ClassPlace place = class_place(writer_, header->qualified, {});
        return pseudo(place.path, joined(place.classes, fixture->pseudo), fixture->phase);
    }

    void name_python() {
        ClassPlace place = class_place(writer_, class_name_, file_);
        if (writer_ == JunitWriter::pytest) {
            // As in pytest's node ids. The own name comes after the module's.
            static const RE2 kDot("[.]");
            RE2::GlobalReplace(&place.classes, kDot, "::");
            return name(place.path, joined(place.classes, name_), {});
        }
        const size_t end = std::min(name_.find(' '), name_.size());
        std::string id = joined(place.classes, name_.substr(0, end));
        out_.subtest = valid_utf8(trimmed(name_.substr(end)));
        // unittest-xml-reporting's folder has skipped sub-tests in a document of their own: what
        // became of their test only the other document knows.
        if (!out_.subtest.empty() && suite_.starts_with("unittest.case._SubTest") &&
            node_.parent().parent().name() != std::string_view("testsuites"))
            id += "::<sub-tests>";
        name(place.path, id, fmt::format("{}.{}", class_name_, name_.substr(0, end)));
    }

    void name_other() {
        const std::string full =
            class_name_.empty() ? std::string(name_) : fmt::format("{}.{}", class_name_, name_);
        if (file_.empty()) {
            const bool same = class_name_ == suite_ || suite_.empty();
            return name(suite_.empty() ? class_name_ : suite_,
                        joined(same ? "" : class_name_, name_), full);
        }
        const ClassPlace place = class_place(writer_, class_name_, file_);
        name(file_, joined(place.path == file_ ? place.classes : class_name_, name_), full);
    }

    // The suite is the module; the class name is the module's with dots, and then the classes.
    void name_own() {
        name(suite_, joined(class_place(writer_, class_name_, suite_).classes, name_), name_);
        out_.test.pseudo = name_.starts_with('<') && name_.ends_with('>');
    }

    void read_results() {
        CaseRecord& test = out_.test;
        std::optional<State> good;  // skipped, xfailed, xpassed
        for (const xml_node child : node_.children()) {
            const Element* const element = element_named(child.name());
            if (element == nullptr || element->state == State::passed) continue;
            if (const auto state = good_state(*element, child)) {
                good = state;
                if (*state != State::xpassed) test.reason = junit_reason(child);
                continue;
            }
            Failure failure = failure_in(child);
            failure.counted = element->state;
            if (test.pseudo) failure.phase = test.phase;
            if (!element->decides) {
                test.earlier.push_back(attempt_in(child, std::move(failure)));
                continue;
            }
            if (test.failure) {
                test.also.push_back(std::move(failure));
                continue;
            }
            test.state = element->state;
            test.phase = failure.phase;
            test.failure = std::move(failure);
        }
        if (!test.failure) return good ? void(test.state = *good) : read_status();
        test.failure->traceback += junit_output(node_);
        if (good) test.call_state = good;
    }

    // An attempt that does not decide. Surefire's and nextest's first one is the <failure>.
    static CaseRecord attempt_in(xml_node element, Failure failure) {
        CaseRecord attempt;
        // Our own file names the state.
        attempt.state = state_of(attribute(element, "type")).value_or(*failure.counted);
        attempt.started = true;
        attempt.duration_s = file_seconds(attribute(element, "time"));
        attempt.failure = std::move(failure);
        attempt.failure->traceback += junit_output(element);
        return attempt;
    }

    // For a test without any element that says how it ended.
    void read_status() {
        const std::string_view status = attribute(node_, "status");
        if (status != "notrun" && status != "disabled") return;
        out_.test.state = State::not_run;
        out_.test.reason = status;
        out_.test.started = false;
    }

    // The state of an element that is no failure, though it may stand in an <error>.
    std::optional<State> good_state(const Element& element, xml_node child) const {
        const std::string_view type = attribute(child, "type");
        if (element.state == State::skipped)
            return type == "XFAIL" ? State::xfailed : State::skipped;
        if (writer_ == JunitWriter::unittest && type == "UnexpectedSuccess") return State::xpassed;
        return std::nullopt;
    }

    // Elements have fewer kinds than we have states: their types say more.
    void read_own_state() {
        CaseRecord& test = out_.test;
        const xml_node result = node_.find_child([](xml_node child) {
            const Element* const element = element_named(child.name());
            return element != nullptr && element->decides && element->state != State::passed;
        });
        const std::string type = valid_utf8(attribute(result, "type"));
        if (test.failure) {
            test.failure->type = type;
            test.failure->message = valid_utf8(attribute(result, "message"));
        }
        if (!result && junit_output(node_).find("[[PROPERTY|state=xpassed]]") != std::string::npos)
            test.state = State::xpassed;
        // Elsewhere such a file's attempts that did not decide are counted.
        for (CaseRecord& attempt : test.earlier) {
            if (state_of(attempt.failure->type)) attempt.failure->type.clear();
            attempt.failure->counted = State::passed;
        }
        const auto state = state_of(type);
        if (!state || *state == test.state) return;
        test.call_state = test.state;  // as the totals count it
        test.state = *state;
        if (test.failure) test.reason = test.failure->message;
        if (*state == State::not_run) test.started = false;
        if (*state == State::xpassed || *state == State::passed) test.failure.reset();
    }

    void read_googletest() {
        CaseRecord& test = out_.test;
        const auto all = [&](const char* element, bool skipped) {
            std::vector<Failure> failures;
            for (const xml_node child : node_.children(element)) {
                const std::string text = junit_text(child);
                failures.push_back(
                    googletest_failure(text.empty() ? attribute(child, "message") : text, skipped));
            }
            return failures;
        };
        std::vector<Failure> failures = all("failure", false);
        const std::string_view status = attribute(node_, "status");
        const std::string_view result = attribute(node_, "result");
        if (name_.empty()) {  // what failed outside of any test
            test = googletest_fixture(suite_, std::move(failures));
            test.id = test.name;
        } else if (status == "notrun" || result == "suppressed") {
            set_googletest_disabled(test);
        } else if (status != "run") {
            test.state = State::not_run;
            test.reason = "the file does not say what became of it";
            test.started = false;
        } else if (!failures.empty()) {
            set_googletest_result(test, State::failed, std::move(failures));
        } else if (result == "skipped" || node_.child("skipped")) {
            set_googletest_result(test, State::skipped, all("skipped", true));
        } else if (!googletest_began(node_)) {
            test.state = State::skipped;
            test.reason = "a global set-up kept it from beginning";
            test.started = false;
            test.phase = Phase::module_setup;
        }
        if (test.failure) test.failure->traceback += junit_output(node_);
    }

    // CTest does not write why a test failed: what it printed last is all that tells.
    void read_ctest() {
        CaseRecord& test = out_.test;
        const std::string_view status = attribute(node_, "status");
        const xml_node failure = node_.child("failure");
        const xml_node skipped = node_.child("skipped");
        const std::string_view message = attribute(failure ? failure : skipped, "message");
        const std::string printed = junit_text(node_.child("system-out"));
        const std::string_view rest = trimmed(printed);
        const std::string_view last = trimmed(rest.substr(rest.rfind('\n') + 1));
        const auto fail = [&](State state, std::string_view type, std::string_view why) {
            test.state = state;
            test.failure.emplace().message = valid_utf8(trimmed(why));
            test.failure->traceback = valid_utf8(printed);
            if (!why.empty()) test.failure->type = type;
        };
        if (failure || status == "fail") {
            fail(State::failed, "Failed", message.empty() ? last : message);
        } else if (status == "disabled") {
            set_googletest_disabled(test);
            test.reason = "DISABLED";
        } else if (message.starts_with("SKIP_")) {
            test.state = State::skipped;
            test.reason = valid_utf8(last.empty() ? message : last);
        } else if (skipped) {
            // Its program or its fixture is missing: CTest's own summary has it among the failed.
            fail(State::errored, "NotRun", last.empty() ? message : last);
            test.failure->phase = test.phase = Phase::setup;
            test.started = false;
        } else if (status != "run") {
            read_status();
        }
    }

    JunitWriter writer_;
    xml_node node_;
    CountedFailures& counted_;
    std::string_view suite_, name_, class_name_, file_;
    JunitCase out_;
};

}  // namespace

JunitWriter writer_of(xml_node suite) {
    const std::string_view root = attribute(suite.parent(), "name");
    const xml_node first = suite.child("testcase");
    const xml_node generator = suite.child("properties").child("property");
    if (attribute(generator, "name") == "generator" &&
        attribute(generator, "value").starts_with("runner "))
        return JunitWriter::runner;
    if (const auto known = writer_by_form(suite)) return *known;
    const bool with_status = first.attribute("status");
    if (root == "AllTests" || (with_status && first.attribute("result")))
        return JunitWriter::googletest;
    if (suite.attribute("disabled") && !suite.attribute("errors") && (with_status || !first))
        return JunitWriter::ctest;
    const std::string name(attribute(suite, "name"));
    if (is_pytest_suite(suite)) return JunitWriter::pytest;
    static const RE2 kDated(R"(.*-\d{14})");
    if (attribute(suite, "file").ends_with(".py") || RE2::FullMatch(name, kDated))
        return JunitWriter::unittest;
    return JunitWriter::other;
}

JunitCase junit_case(JunitWriter writer, xml_node testcase, CountedFailures& counted) {
    return CaseReader(writer, testcase, counted).read();
}

std::string junit_text(xml_node node) {
    std::string text;
    for (const xml_node child : node)
        if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata)
            text += child.value();
    return text;
}

std::string junit_output(xml_node node) {
    std::string text;
    for (const auto& [element, title] :
         {std::pair{"system-out", "stdout"}, std::pair{"system-err", "stderr"}})
        for (const xml_node child : node.children(element))
            if (const std::string part = junit_text(child); !trimmed(part).empty())
                text += fmt::format("\n--- Captured {} ---\n{}", title, part);
    return valid_utf8(text);
}

std::string junit_reason(xml_node skipped) {
    const std::string_view message = attribute(skipped, "message");
    const std::string text = junit_text(skipped);
    return valid_utf8(message.empty() ? trimmed(text) : message);
}

bool is_junit_child(std::string_view name) { return element_named(name) != nullptr; }

}  // namespace compat::parsers

#include "reports/ci/junit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <pugixml.hpp>

#include "parsers/text.h"
#include "reports/ci/outcome.h"
#include "runner/base/clock.h"
#include "runner/base/names.h"
#include "runner/base/text.h"

namespace compat::reports {

namespace {

using parsers::State;
using pugi::xml_node;

constexpr unsigned kWriting = pugi::format_indent | pugi::format_no_declaration;
constexpr std::string_view kEndOfSuite = "</testsuite>\n";

class ToSink : public pugi::xml_writer {
  public:
    explicit ToSink(const Sink& sink) : sink_(sink) {}
    void write(const void* data, size_t size) override {
        sink_({static_cast<const char*>(data), size});
    }

  private:
    const Sink& sink_;
};

std::string to_text(xml_node node, unsigned depth) {
    std::string text;
    const Sink sink = [&](std::string_view bytes) { text += bytes; };
    ToSink writer(sink);
    node.print(writer, " ", kWriting, pugi::encoding_utf8, depth);
    return text;
}

void set(xml_node node, const char* name, std::string_view value) {
    node.append_attribute(name).set_value(xml_text(value).c_str());
}

void set_text(xml_node node, std::string_view value) {
    node.append_child(pugi::node_pcdata).set_value(xml_text(value).c_str());
}

std::string junit_time(double value) { return fmt::format("{:.3f}", std::max(value, 0.0)); }

void set_counts(xml_node node, const CiCounts& counts) {
    set(node, "tests", fmt::format("{}", counts.all()));
    set(node, "failures", fmt::format("{}", counts.failed));
    set(node, "errors", fmt::format("{}", counts.errored));
}

// "tests/ops/test_a.py" and "A" as pytest writes them: "tests.ops.test_a.A".
std::string class_name(const IdParts& parts) {
    std::string name = parts.module;
    if (name.ends_with(".py")) name.resize(name.size() - 3);
    std::replace(name.begin(), name.end(), '/', '.');
    return parts.classes.empty() ? name : name + "." + parts.classes;
}

// An exception's type where there is one; a state that is not the element's own otherwise.
std::string type_of(const CaseView& test) {
    const FailureView* const failure = failure_of(test);
    const bool own = (test.state == State::failed || test.state == State::errored) &&
                     !fails_as_expected(test.expectation);
    if (own && failure != nullptr && !failure->type.empty()) return failure->type;
    return std::string(name_of(test.state));
}

void add_result(xml_node testcase, const CaseView& test, CiOutcome outcome) {
    if (outcome == CiOutcome::passed) return;
    const bool skipped = outcome == CiOutcome::skipped || outcome == CiOutcome::not_run;
    xml_node result = testcase.append_child(skipped                        ? "skipped"
                                            : outcome == CiOutcome::failed ? "failure"
                                                                           : "error");
    set(result, "type", type_of(test));
    const FailureView* const failure = failure_of(test);
    const bool typed =
        failure != nullptr && !failure->type.empty() && type_of(test) == failure->type;
    set(result, "message", typed ? failure->message : ci_message_of(test));
    if (const std::string details = ci_details_of(test); !skipped && !details.empty())
        set_text(result, details);
}

// Attempts that broke and did not decide, in Surefire's words.
void add_attempts(xml_node testcase, const CaseView& test) {
    if (test.attempts.empty()) return;
    const std::string_view before = needs_attention(test.state) ? "rerun" : "flaky";
    for (size_t i = 0; i + 1 < test.attempts.size(); ++i) {
        const AttemptView& attempt = test.attempts[i];
        if (!needs_attention(attempt.state)) continue;
        const std::string name =
            fmt::format("{}{}", before, attempt.state == State::failed ? "Failure" : "Error");
        xml_node element = testcase.append_child(name.c_str());
        set(element, "message", attempt.key_line);
        set(element, "type", name_of(attempt.state));
        if (!attempt.traceback.empty())
            set_text(element.append_child("stackTrace"), attempt.traceback);
    }
}

// Facts without a place in the schema, in the form that Testmo, GitLab and Jenkins read.
void add_output(xml_node testcase, const CaseView& test, CiOutcome outcome) {
    std::string text;
    if (!test.marks.empty())
        text += fmt::format("[[PROPERTY|marks={}]]\n", fmt::join(test.marks, ","));
    const bool hides_state = (outcome == CiOutcome::passed && test.state != State::passed) ||
                             fails_as_expected(test.expectation);
    if (hides_state) text += fmt::format("[[PROPERTY|state={}]]\n", name_of(test.state));
    if (!test.log.empty()) text += fmt::format("[[ATTACHMENT|{}]]\n", test.log);
    if (!text.empty()) set_text(testcase.append_child("system-out"), text);
}

class JunitReport : public Renderer {
  public:
    JunitReport(const ReportModel& model, Sink sink) : run_(model.run), sink_(std::move(sink)) {
        pugi::xml_document document;
        xml_node root = document.append_child("testsuites");
        set(root, "name", run_.suite);
        set_counts(root, ci_counts_of(model));
        set(root, "time", junit_time(run_.duration_s));
        std::string text = to_text(root, 0);
        // It has children to come.
        text.replace(text.rfind(" />"), std::string::npos, ">\n");
        sink_("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        sink_(text);
    }

    void add(const ModuleView& module) override {
        pugi::xml_document document;
        xml_node suite = document.append_child("testsuite");
        const CiCounts counts = ci_counts_of(module, run_.framework);
        set(suite, "name", module.path);
        set_counts(suite, counts);
        set(suite, "skipped", fmt::format("{}", counts.skipped + counts.not_run));
        set(suite, "time", junit_time(module.duration_s));
        set(suite, "timestamp", iso8601(run_.started));
        add_properties(suite, module);
        const std::string text = to_text(suite, 1);
        sink_(std::string_view(text).substr(0, text.size() - kEndOfSuite.size() - 1));
        for (const CaseView& test : module.cases) sink_(test_case(test, module.path));
        if (module.cases.empty() && !module.reason.empty()) {
            pugi::xml_document output;
            set_text(output.append_child("system-err"),
                     fmt::format("{}: {}", name_of(module.outcome), module.reason));
            sink_(to_text(output.first_child(), 2));
        }
        sink_(" ");
        sink_(kEndOfSuite);
    }

    void finish() override { sink_("</testsuites>\n"); }

  private:
    void add_properties(xml_node suite, const ModuleView& module) const {
        xml_node list = suite.append_child("properties");
        const auto add = [&](std::string_view name, std::string_view value) {
            xml_node property = list.append_child("property");
            set(property, "name", name);
            set(property, "value", value);
        };
        // First: by it `import` knows its own files.
        add("generator", fmt::format("runner {}", kVersion));
        add("run", run_.id);
        add("suite", run_.suite);
        add("framework", run_.framework);
        add("device", run_.device);
        add("simulated", run_.simulated.value_or("none"));
        add("torch", run_.torch);
        add("outcome", name_of(module.outcome));
    }

    [[nodiscard]] std::string test_case(const CaseView& test, const std::string& module) const {
        pugi::xml_document document;
        xml_node testcase = document.append_child("testcase");
        const IdParts parts = parts_of_id(test.id, module);
        const CiOutcome outcome = ci_outcome_of(test, run_.framework);
        set(testcase, "classname", class_name(parts));
        set(testcase, "name", parts.name);
        set(testcase, "time", junit_time(test.duration_s));
        add_result(testcase, test, outcome);
        add_attempts(testcase, test);
        add_output(testcase, test, outcome);
        return to_text(testcase, 2);
    }

    RunView run_;
    Sink sink_;
};

}  // namespace

std::string xml_text(std::string_view text) {
    const std::string valid = parsers::valid_utf8(parsers::without_ansi(text));
    std::string out;
    out.reserve(valid.size());
    for (size_t i = 0; i < valid.size(); ++i) {
        const auto byte = static_cast<unsigned char>(valid[i]);
        const bool is_control = byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r';
        const Character hidden = deceptive_character(std::string_view(valid).substr(i));
        if (hidden.bytes > 0) {
            out += fmt::format("#x{:04X}", static_cast<std::uint32_t>(hidden.code));
            i += hidden.bytes - 1;
        } else if (is_control) {
            out += fmt::format("#x{:02X}", byte);
        } else if (valid.compare(i, 2, "\xEF\xBF") == 0 && i + 2 < valid.size() &&
                   static_cast<unsigned char>(valid[i + 2]) >= 0xBE) {
            out += valid[i + 2] == '\xBE' ? "#xFFFE" : "#xFFFF";
            i += 2;
        } else {
            out += valid[i];
        }
    }
    return out;
}

std::unique_ptr<Renderer> junit_report(const ReportModel& model, Sink sink) {
    return std::make_unique<JunitReport>(model, std::move(sink));
}

}  // namespace compat::reports

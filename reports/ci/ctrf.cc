#include "reports/ci/ctrf.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "parsers/text.h"
#include "reports/ci/outcome.h"
#include "reports/json_parts.h"
#include "runner/base/clock.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kCtrfStatuses{"passed", "failed", "failed", "skipped",
                                                        "pending"};  // by CiOutcome

std::string_view status_of(CiOutcome outcome) {
    return kCtrfStatuses[static_cast<size_t>(outcome)];
}

std::int64_t milliseconds(double seconds) { return std::llround(std::max(seconds, 0.0) * 1000); }

// For people: without terminal escapes.
std::string plain(std::string_view text) { return parsers::without_ansi(text); }

void set_given(Json& to, const char* key, std::string value) {
    if (!value.empty()) to[key] = std::move(value);
}
void set_given(JsonText& to, std::string_view key, std::string_view value) {
    if (!value.empty()) to.member(key, value);
}

Json ctrf_attempt(const AttemptView& attempt, std::string_view framework) {
    Json out{{"attempt", attempt.number},
             {"status", status_of(ci_outcome_of(attempt.state, framework))},
             {"duration", milliseconds(attempt.duration_s)}};
    set_given(out, "message", plain(attempt.key_line));
    set_given(out, "trace", plain(attempt.traceback));
    out["extra"] = {{"rawStatus", name_of(attempt.state)}};
    return out;
}

void set_list(JsonText& to, std::string_view key, const std::vector<std::string>& values) {
    to.key(key);
    to.list(values, [&](const std::string& value) { to.value(value); });
}

void ctrf_extra(JsonText& to, const CaseView& test) {
    set_list(to, "marks", test.marks);
    to.member("pseudo", test.pseudo);
    if (test.tests != 1) to.member("tests", test.tests);
    set_given(to, "reason", test.reason);
    set_given(to, "log", test.log);
    set_given(to, "url", test.url);
    if (const FailureView* const failure = failure_of(test)) {
        set_given(to, "type", failure->type);
        set_given(to, "cause", failure->cause);
        set_given(to, "signature", failure->signature);
    }
    if (test.reproduce) to.member("reproduce", reproduce_json(test.reproduce));
    if (test.expectation)
        to.member("expectation", Json{{"fit", analysis::name_of(test.expectation->fit)},
                                      {"expect", test.expectation->expect},
                                      {"reason", test.expectation->reason},
                                      {"issue", test.expectation->issue}});
    const auto subtest = [](const SubtestView& sub) {
        Json out{{"id", sub.id}, {"state", name_of(sub.state)}};
        set_given(out, "reason", sub.reason);
        return out;
    };
    if (!test.subtests.empty()) to.member("subtests", list_of(test.subtests, subtest));
}

std::string ctrf_test(const CaseView& test, const std::string& module, std::string_view framework) {
    const IdParts parts = parts_of_id(test.id, module);
    std::vector<std::string> suite{parts.module};
    if (!parts.classes.empty()) suite.push_back(parts.classes);
    JsonText to;
    to.object([&] {
        to.member("testId", test.id);
        to.member("name", parts.name.empty() ? test.id : parts.name);
        to.member("status", status_of(ci_outcome_of(test, framework)));
        to.member("duration", milliseconds(test.duration_s));
        set_list(to, "suite", suite);
        to.member("rawStatus", name_of(test.state));
        set_given(to, "message", plain(ci_message_of(test)));
        set_given(to, "trace", plain(ci_details_of(test)));
        set_given(to, "filePath", test.file);
        if (test.line > 0) to.member("line", test.line);
        if (!test.marks.empty()) set_list(to, "tags", test.marks);
        to.member("flaky", test.flaky);
        if (!test.attempts.empty()) {
            const std::size_t retries = test.attempts.size() - 1;
            to.member("retries", retries);
            // The last attempt is the test itself.
            const auto retry = [&](const AttemptView& attempt) {
                return ctrf_attempt(attempt, framework);
            };
            if (retries > 0) to.member("retryAttempts", list_of(test.attempts, retry, retries));
        }
        to.key("extra");
        to.object([&] { ctrf_extra(to, test); });
    });
    return to.take();
}

Json summary_of(const ReportModel& model) {
    const CiCounts counts = ci_counts_of(model);
    const std::int64_t start = model.run.started.time_since_epoch().count();
    const std::int64_t took = milliseconds(model.run.duration_s);
    Json extra{{"accounting_closed", model.accounting.closed},
               {"modules_without_result", model.modules_without_result}};
    for (size_t i = 0; i < parsers::kStateNames.size(); ++i)
        extra["states"][std::string(parsers::kStateNames[i])] = model.totals.states[i];
    return {{"tests", counts.all()},
            {"passed", counts.passed},
            {"failed", counts.failed + counts.errored},
            {"skipped", counts.skipped},
            {"pending", counts.not_run},
            {"other", 0},
            {"flaky", model.totals.flaky},
            {"suites", model.totals.modules},
            {"start", start},
            {"stop", start + took},
            {"duration", took},
            {"extra", extra}};
}

Json environment_of(const RunView& run) {
    Json environment{{"reportName", run.suite}, {"buildId", run.id}};
    set_given(environment, "commit", run.commit);
    environment["extra"] = {{"framework", run.framework},
                            {"device", run.device},
                            {"simulated", run.simulated ? Json(*run.simulated) : Json(nullptr)},
                            {"shim", run.shim},
                            {"torch", run.torch},
                            {"complete", run.complete}};
    return environment;
}

class CtrfReport : public Renderer {
  public:
    CtrfReport(const ReportModel& model, Sink sink)
        : framework_(model.run.framework), sink_(std::move(sink)) {
        const Json head{{"reportFormat", "CTRF"},
                        {"specVersion", kCtrfVersion},
                        {"runId", model.run.id},
                        {"timestamp", iso8601(model.run.started)},
                        {"generatedBy", fmt::format("runner {}", kVersion)}};
        const Json results{{"tool", {{"name", "runner"}, {"version", kVersion}}},
                           {"summary", summary_of(model)},
                           {"environment", environment_of(model.run)}};
        sink_(open(head) + ",\n\"results\": " + open(results) + ",\n\"tests\": [");
    }

    void add(const ModuleView& module) override {
        for (const CaseView& test : module.cases) {
            sink_((has_test_ ? ",\n" : "\n") + ctrf_test(test, module.path, framework_));
            has_test_ = true;
        }
    }

    void finish() override { sink_("\n]}}\n"); }

  private:
    // An object without its end: more members follow.
    static std::string open(const Json& object) {
        std::string text = compact(object);
        text.pop_back();
        return text;
    }

    std::string framework_;
    Sink sink_;
    bool has_test_ = false;
};

}  // namespace

std::unique_ptr<Renderer> ctrf_report(const ReportModel& model, Sink sink) {
    return std::make_unique<CtrfReport>(model, std::move(sink));
}

}  // namespace compat::reports

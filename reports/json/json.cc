#include "reports/json/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/compare/document.h"
#include "reports/gap_parts.h"
#include "reports/json_parts.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

// The members of `object` without its braces.
std::string members(const Json& object) {
    const std::string text = indented(object, 0);
    return text.substr(1, text.size() - 3);
}

class JsonReport : public Renderer {
  public:
    JsonReport(const ReportModel& model, Sink sink) : sink_(std::move(sink)) {
        sink_("{" +
              members({{"format", kReportFormat},
                       {"generator", fmt::format("runner {}", kVersion)},
                       {"run", run_json(model.run)},
                       {"totals", totals_json(model.totals)},
                       {"accounting",
                        {{"closed", model.accounting.closed},
                         {"mismatches", list_of(model.accounting.mismatches, mismatch_json)}}},
                       {"links",
                        {{"total", model.links_total}, {"unresolved", model.links_unresolved}}},
                       {"blind_spots", list_of(model.blind_spots, blind_spot_json)},
                       {"first_steps", list_of(model.first_steps, first_step_json)},
                       {"changes", model.changes ? changes_json(*model.changes, kGroupsOfChanges)
                                                 : Json(nullptr)},
                       {"history", list_of(model.history, history_point_json)},
                       {"expectations", expectations_json(model.expectations)},
                       {"causes", model.causes},
                       {"diagnoses", model.diagnoses},
                       {"attributions", model.attributions},
                       {"load_failures", list_of(model.load_failures, load_failure_json)}}) +
              ",\n \"clusters\": [");
        for (size_t i = 0; i < model.clusters.size(); ++i)
            item(i > 0, cluster_json(model.clusters[i]));
        sink_(std::string(model.clusters.empty() ? "]," : "\n ],") +
              members({{"gaps", list_of(model.gaps, gap_json)},
                       {"redirections", list_of(model.redirections, redirection_json)},
                       {"collectives", collectives_json(model.collectives)},
                       {"writes", list_of(model.run.writes, writes_json)},
                       {"hub", hub_use_json(model.run.hub_use)},
                       {"leaked_processes", list_of(model.leaked_processes, leaked_json)}}) +
              ",\n \"modules\": [");
    }

    void add(const ModuleView& view) override {
        std::string text = (has_module_ ? ",\n  " : "\n  ") + indented(module_json(view), 2);
        has_module_ = true;
        const std::string_view end = "]\n  }";
        text.resize(text.size() - end.size());
        sink_(text);
        for (size_t i = 0; i < view.cases.size(); ++i) {
            JsonText test(4);
            test.object([&] { test_members(test, view.cases[i]); });
            sink_((i > 0 ? ",\n    " : "\n    ") + test.take());
        }
        if (!view.cases.empty()) sink_("\n   ");
        sink_(end);
    }

    void finish() override { sink_(has_module_ ? "\n ]\n}\n" : "]\n}\n"); }

  private:
    // An item of a list that may be too long for one string.
    void item(bool follows, const Json& value) {
        sink_((follows ? ",\n  " : "\n  ") + indented(value, 2));
    }

    Sink sink_;
    bool has_module_ = false;
};

}  // namespace

std::unique_ptr<Renderer> json_report(const ReportModel& model, Sink sink) {
    return std::make_unique<JsonReport>(model, std::move(sink));
}

}  // namespace compat::reports

#include "runner/display/closing_summary.h"

#include <fmt/format.h>

#include "runner/base/text.h"
#include "runner/display/display.h"
#include "runner/display/output.h"

namespace compat::display {

namespace fs = std::filesystem;

void print_closing(const reports::ReportModel& model, const fs::path& report) {
    const auto& totals = model.totals;
    std::array<long, parsers::kStateNames.size()> counts{};
    std::string sum;
    for (size_t i = 0; i < counts.size(); ++i) {
        counts[i] = totals.states[i];
        if (counts[i] > 0) sum += fmt::format("{}{}", sum.empty() ? "" : " + ", counts[i]);
    }
    print("\n{}: {} in {}: {} ({})\n", printable(model.run.suite),
          counted(totals.collected, "test"), counted(totals.modules, "module"), count_words(counts),
          human(std::chrono::duration<double>(model.run.duration_s)));
    print("accounting: {} collected = {}{}\n", totals.collected, sum.empty() ? "0" : sum,
          model.accounting.closed
              ? ", closed"
              : fmt::format("; NOT closed, {} mismatch{}:", model.accounting.mismatches.size(),
                            model.accounting.mismatches.size() == 1 ? "" : "es"));
    for (const auto& mismatch : model.accounting.mismatches)
        print("    {}: {}\n", printable(mismatch.module), printable(mismatch.message));
    if (model.run.shim)
        print(
            "devices: {} exercised an accelerator (device {}), {} redirected, {} touched no "
            "device\n",
            counted(totals.device, "test"),
            model.run.simulated ? *model.run.simulated + ", simulated" : model.run.device,
            totals.redirected, totals.untouched);
    else
        print("devices: nobody looked, {}\n",
              model.run.imported ? "the results were imported" : "the shim was off");
    if (totals.flaky > 0)
        print("flaky: {} passed only in a later attempt\n", counted(totals.flaky, "test"));
    if (totals.collected == 0) print("no test was selected\n");
    print("report: {}\n", report.string());
}

}  // namespace compat::display

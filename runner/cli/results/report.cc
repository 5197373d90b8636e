// `runner report`: renders a stored run again.
#include "reports/markdown/markdown.h"
#include "reports/render.h"
#include "runner/archive/shards.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/checks.h"
#include "runner/cli/options/run_options.h"
#include "runner/cli/results.h"
#include "runner/display/output.h"
#include "runner/run/reporting/reporting.h"

namespace compat::cli {

namespace {

struct ReportRequest {
    std::string run = "latest";
    std::string formats;  // empty: the default ones
    std::string out;      // empty: the run's folder
    std::size_t max_bytes = reports::kMarkdownBytes;
    run::ExtraReports extra;
};

Expected<ExitCode> render_report(const ReportRequest& request,
                                 const config::Invocation& invocation) {
    const auto formats = TRY(request.formats.empty() ? reports::default_formats()
                                                     : reports::formats_of(request.formats));
    const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
    std::string run = request.run;
    const auto results = TRY(open_existing(invocation, run));
    return archive::find_run(results.store, results.folder, run)
        .and_then([&](const std::string& id) {
            const fs::path out = request.out.empty() ? fs::path{} : fs::absolute(request.out);
            run::ExtraReports extra = request.extra;
            extra.issue_text = settings.on(Setting::issue_text);
            extra.link = run::link_of(settings);
            return run::write_reports(results.store, results.folder, id,
                                      {out, formats, {request.max_bytes}, extra});
        })
        .map([](const run::WrittenReports& reported) {
            for (const auto& file : reported.files) print("{}\n", file.path.string());
            return ExitCode::ok;
        });
}

Action add_report(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<ReportRequest>();
    app.add_option("RUN", request->run, kRunHelp)->capture_default_str();
    app.add_option("--format", request->formats,
                   "formats to write: md, json, html, junit, ctrf, github")
        ->type_name("LIST")
        ->default_str(std::string(reports::kDefaultFormats));
    add_report_files(app, request->extra);
    add_no_issue_text(app, invocation.flags);
    app.add_option("--out", request->out, "folder to write to [the run's folder]")
        ->type_name("DIR");
    app.add_option("--max-bytes", request->max_bytes, "largest size of the Markdown report")
        ->type_name("N")
        ->check(in_range(1, std::int64_t{1} << 40))
        ->capture_default_str();
    return exits_with_code([request, &invocation] { return render_report(*request, invocation); });
}

}  // namespace

Command report_command() {
    return {"render the reports of a stored run again",
            {Setting::results, Setting::issue_text, Setting::nccl_bandwidth, Setting::nccl_latency},
            "Example:\n  runner report einops@latest --format md --max-bytes 1000000",
            add_report};
}

}  // namespace compat::cli

// `runner open`: shows a run's report in the browser.
#include <fmt/format.h>

#include "reports/links.h"
#include "runner/archive/shards.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/cli/results/opener.h"
#include "runner/display/output.h"
#include "runner/prepare/tool.h"

namespace compat::cli {

namespace {

// A program that ends sooner has failed, or has passed the file on to another one.
constexpr std::chrono::milliseconds kOpenerPatience{2000};

struct OpenRequest {
    std::string run = "latest";
    bool print_only = false;
};

// `named`: the run as the user wrote it, which may be an archive's file.
Expected<fs::path> report_in(const fs::path& folder, const std::string& id,
                             const std::string& named) {
    std::error_code error;
    for (const char* name : {"report.html", "report.md"})
        if (fs::exists(folder / name, error)) return fs::absolute(folder / name);
    return fail(ErrorKind::usage, fmt::format("{} has no report", id),
                fmt::format("`runner report {}` writes it",
                            fs::is_regular_file(named, error) ? shell_quoted(named) : id),
                folder.string());
}

void open_file(const fs::path& file, const std::string& url) {
    const Opener opener = opener_of(this_desktop(), file.string(), url);
    if (opener.argv.empty()) return print("not opened: {}\n", opener.why_not);
    const auto started = prepare::start_tool({opener.argv}, kOpenerPatience);
    if (!started && opener.reports_failure)
        print("not opened: {}\n", printable(started.error().message));
}

Expected<ExitCode> open_report(const OpenRequest& request, const config::Invocation& invocation) {
    std::string run = request.run;
    const auto results = TRY(open_existing(invocation, run));
    const auto id = TRY(archive::find_run(results.store, results.folder, run));
    const auto stored = TRY(results.store.load_run(id));
    const auto file = TRY(report_in(results.folder / stored.info.folder, id, request.run));
    const std::string url = "file://" + reports::percent_encoded(file.string());
    print("{}\n{}\n", printable(file.string()), url);
    if (!request.print_only) open_file(file, url);
    return ExitCode::ok;
}

Action add_open(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<OpenRequest>();
    app.add_option("RUN", request->run, kRunHelp)->capture_default_str();
    app.add_flag("--print", request->print_only, "only print the path and the URL");
    return exits_with_code([request, &invocation] { return open_report(*request, invocation); });
}

}  // namespace

Command open_command() {
    return {"open a run's report in the browser",
            {Setting::results},
            "The program is $BROWSER, else the system's own. Without one, over SSH and\n"
            "without a display it prints path and URL, and why.",
            add_open};
}

}  // namespace compat::cli

// `runner site`: writes static pages of all stored runs.
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/display/output.h"
#include "runner/site/write_site.h"

namespace compat::cli {

namespace {

Expected<ExitCode> write(const std::string& out, const config::Invocation& invocation) {
    return config::results_folder(invocation).and_then([&](const fs::path& results) {
        const auto beside = fs::absolute(results).parent_path() / "site";
        return site::write_site(results, out.empty() ? beside : fs::absolute(out))
            .map([](const site::WrittenSite& site) {
                print("{}\n", printable(site.index.string()));
                print("{} ({}), {} changed, {} removed\n",
                      counted(static_cast<long>(site.files), "file"), format_size(site.bytes),
                      site.changed, site.removed);
                return ExitCode::ok;
            });
    });
}

Action add_site(CLI::App& app, config::Invocation& invocation) {
    auto out = std::make_shared<std::string>();
    app.add_option("--out", *out, "folder to write to [`site` beside the results]")
        ->type_name("DIR");
    return exits_with_code([out, &invocation] { return write(*out, invocation); });
}

}  // namespace

Command site_command() {
    return {"write static pages of all stored runs, with trends and badges",
            {Setting::results},
            "The folder can be opened from disk and published as it is. Unchanged pages\n"
            "keep their bytes; pages of what is gone are removed.\n"
            "Examples:\n"
            "  runner site\n"
            "  runner site --out public --results nightly/results",
            add_site};
}

}  // namespace compat::cli

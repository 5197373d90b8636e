// `runner doctor`: checks requirements and prints the origin of each setting.
#include <cstdlib>

#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/doctor_checks.h"
#include "runner/display/device_lines.h"
#include "runner/display/output.h"
#include "runner/prepare/share.h"
#include "runner/run/ready.h"
#include "suites/load.h"

namespace compat::cli {

namespace {

// Doctor makes no environment and builds no shim: it prints what existing ones find.
void print_devices(const prepare::Environment& environment, const prepare::Share& share,
                   const prepare::Cache& cache) {
    // The device-probe is the shim's: where it does not work, the requirements say it.
    if (environment.torch_version.empty() || !prepare::check_gil(environment)) return;
    print("\ndevices that torch {} of {} finds:\n", environment.torch_version,
          environment.python.string());
    const auto library = prepare::find_shim(environment, share, cache);
    if (library && library->empty()) {
        print("  unknown until the shim is built for it, by the first run or `runner exec`\n");
        return;
    }
    const auto json = library.and_then(
        [&](const fs::path& path) { return prepare::probe_devices(environment, path); });
    if (!json) {
        print("  device-probe: {}\n", printable(to_line(json.error())));
        return;
    }
    for (const auto& line : display::device_lines(*json)) print("  {}\n", printable(line));
    const auto missing = prepare::missing_in_torch(environment, share, *library);
    if (!missing) {
        print("  the shim: {}\n", printable(to_line(missing.error())));
        return;
    }
    if (!missing->empty()) print("\nnot in this torch, so that the shim does without:\n");
    for (const auto& name : *missing) print("  {}\n", printable(name));
}

Expected<DoctorInput> input_of(const std::string& suite_name, const config::Invocation& invocation,
                               const prepare::Share& share) {
    std::optional<suites::Suite> suite;
    if (!suite_name.empty()) {
        suite = TRY(suites::load_suite(prepare::find_suite(suite_name, share),
                                       prepare::shipped_suites(share)));
    }
    auto settings = TRY(config::Settings::resolve(invocation, suite ? &*suite : nullptr));
    prepare::Options options = run::prepare_options(settings);
    // As `runner exec` finds it.
    if (const char* active = std::getenv("VIRTUAL_ENV"); options.python.empty() && !suite && active)
        options.python = active;
    DoctorInput input{std::move(settings), std::move(suite), options.python};
    const prepare::Cache cache(input.settings.text(Setting::cache));
    if (input.suite || !input.python.empty())
        input.environment =
            prepare::find_environment(input.suite.value_or(suites::Suite{}), options, share, cache);
    return input;
}

void print_settings(const config::Settings& settings) {
    print("\nsettings and their origins:\n");
    for (const auto& row : config::kSettings) {
        const auto& value = settings[row.setting];
        print("  {:<18} {:<28} {}\n", row.name, value.text.empty() ? "-" : printable(value.text),
              printable(value.origin));
    }
    for (const auto& file : settings.files())
        print("configuration file: {}\n", printable(file.string()));
    if (settings.files().empty()) print("configuration files: none\n");
}

Expected<ExitCode> check(const std::string& suite_name, const config::Invocation& invocation) {
    const auto share = TRY(prepare::find_share());
    const auto input = TRY(input_of(suite_name, invocation, share));
    print("runner {}\n\n", kVersion);
    bool well = true;
    for (const Requirement& requirement : requirements())
        for (const Finding& finding : requirement.find(requirement, input)) {
            print("{}\n", format_finding(requirement, finding));
            well = well && finding.kind != Finding::Kind::missing;
        }
    if (const auto& environment = input.environment; environment && *environment)
        print_devices(**environment, share, prepare::Cache(input.settings.text(Setting::cache)));
    print_settings(input.settings);
    return well ? ExitCode::ok : ExitCode::usage;
}

Action add_doctor(CLI::App& app, config::Invocation& invocation) {
    auto suite = std::make_shared<std::string>();
    app.add_option("SUITE", *suite, "also check what this suite needs");
    return exits_with_code([suite, &invocation] { return check(*suite, invocation); });
}

}  // namespace

Command doctor_command() {
    return {"check requirements and print the origin of each setting",
            {Setting::jobs,         Setting::timeout,
             Setting::test_timeout, Setting::retries,
             Setting::results,      Setting::shim,
             Setting::policy,       Setting::fallback,
             Setting::warm,         Setting::confirm,
             Setting::python,       Setting::root,
             Setting::framework,    Setting::name,
             Setting::progress,     Setting::color,
             Setting::device,       Setting::precision,
             Setting::simulate,     Setting::masquerade,
             Setting::isolation,    Setting::slurm_partition,
             Setting::slurm_gres,   Setting::torch_requirement},
            "Options are those of `runner run`; doctor prints the value each would have.",
            add_doctor};
}

}  // namespace compat::cli

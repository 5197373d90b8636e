// `runner doctor`: checks requirements and prints the origin of each setting.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/display/device_lines.h"
#include "runner/display/output.h"
#include "runner/prepare/share.h"
#include "runner/prepare/tool.h"
#include "runner/run/isolation/sandbox.h"
#include "runner/run/ready.h"
#include "suites/load.h"

namespace compat::cli {

namespace fs = std::filesystem;
using config::Setting;
using display::print;

namespace {

// Doctor makes no environment and builds no shim: it prints what existing ones find.
void print_devices(const prepare::Environment& environment, const prepare::Share& share,
                   const prepare::Cache& cache) {
    if (environment.torch_version.empty()) return;
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

Expected<ExitCode> check(const std::string& suite_name, const config::Invocation& invocation) {
    const auto share = prepare::find_share();
    if (!share) return tl::unexpected(share.error());
    std::optional<suites::Suite> suite;
    if (!suite_name.empty()) {
        auto loaded = suites::load_suite(prepare::find_suite(suite_name, *share),
                                         prepare::shipped_suites(*share));
        if (!loaded) return tl::unexpected(loaded.error());
        suite = std::move(*loaded);
    }
    const auto settings = config::Settings::resolve(invocation, suite ? &*suite : nullptr);
    if (!settings) return tl::unexpected(settings.error());

    bool well = true;
    const auto check_one = [&](bool good, const std::string& what, const std::string& advice) {
        print("{} {}{}\n", good ? "ok     " : "MISSING", what, good ? "" : ": " + advice);
        well = well && good;
    };
    print("runner {}\n\n", kVersion);
    const std::string& base = settings->text(Setting::base_python);
    const auto venv = prepare::output_of(
        {{base, "-c", "import venv, ensurepip, sys; print(sys.version.split()[0])"},
         prepare::kNoProject,
         {}});
    check_one(venv.has_value(),
              fmt::format("Python with venv ({}{})", base,
                          venv ? " " + venv->substr(0, venv->find('\n')) : ""),
              prepare::kPythonAdvice);
    struct NeededProgram {
        const char *name, *package, *use;
    };
    constexpr std::array<NeededProgram, 4> kPrograms{
        {{"git", "git", "fetches sources, reads the commits of checkouts"},
         {"cmake", "cmake", "builds the shim"},
         {"ninja", "ninja-build", "builds the shim"},
         {"g++", "g++", "builds the shim"}}};
    for (const auto& program : kPrograms)
        check_one(!prepare::find_program(program.name, prepare::build_path()).empty(),
                  fmt::format("{} ({})", program.name, program.use),
                  fmt::format("apt-get install {}", program.package));
    // A run asks for it, so that it is missing only for who does.
    const auto sandbox = run::check_sandbox();
    const bool wanted = settings->text(Setting::isolation) == "sandbox";
    if (sandbox || wanted)
        check_one(sandbox.has_value(), "bwrap (isolates tests: --isolate sandbox)",
                  sandbox ? "" : printable(to_line(sandbox.error())));
    else
        print("without bwrap (isolates tests: --isolate sandbox): {}\n",
              printable(to_line(sandbox.error())));
    for (const auto setting : {Setting::cache, Setting::results}) {
        fs::path folder = fs::absolute(settings->text(setting));
        std::error_code error;
        while (!fs::exists(folder, error) && folder.has_relative_path())
            folder = folder.parent_path();
        check_one(::access(folder.c_str(), W_OK | X_OK) == 0,
                  fmt::format("write access to {} ({})",
                              setting == Setting::cache ? "the cache" : "the results folder",
                              settings->text(setting)),
                  setting == Setting::cache ? "set COMPAT_CACHE to another folder"
                                            : "name another folder with --results");
    }
    if (suite) {
        for (const auto& package : prepare::missing_system_packages(suite->system_packages))
            check_one(false, fmt::format("Debian package {} (for {})", package, suite->name),
                      "apt-get install " + package);
    }
    const prepare::Cache cache(settings->text(Setting::cache));
    prepare::Options options = run::prepare_options(*settings);
    // As `runner exec` finds it.
    if (const char* active = std::getenv("VIRTUAL_ENV"); options.python.empty() && !suite && active)
        options.python = active;
    const std::string python = options.python;
    if (suite || !python.empty()) {
        const auto environment =
            prepare::find_environment(suite.value_or(suites::Suite{}), options, *share, cache);
        if (!python.empty())
            check_one(environment && !(*environment)->torch_version.empty(),
                      fmt::format("torch in {}", python),
                      environment ? prepare::kTorchAdvice : to_line(environment.error()));
        if (environment && *environment) print_devices(**environment, *share, cache);
    }
    print("\nsettings and their origins:\n");
    for (const auto& row : config::kSettings) {
        const auto& value = (*settings)[row.setting];
        print("  {:<18} {:<28} {}\n", row.name, value.text.empty() ? "-" : printable(value.text),
              printable(value.origin));
    }
    for (const auto& file : settings->files())
        print("configuration file: {}\n", printable(file.string()));
    if (settings->files().empty()) print("configuration files: none\n");
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
             Setting::slurm_gres},
            "Options are those of `runner run`; doctor prints the value each would have.",
            add_doctor};
}

}  // namespace compat::cli

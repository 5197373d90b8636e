// Commands about a suite and the machine it would run on: list, prepare, doctor.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runner/app/collect.h"
#include "runner/app/commands.h"
#include "runner/app/devices_words.h"
#include "runner/app/display.h"
#include "runner/app/output.h"
#include "runner/app/ready.h"
#include "runner/app/share.h"
#include "runner/app/summary.h"
#include "runner/base/names.h"
#include "runner/prepare/tool.h"
#include "suites/load.h"

namespace compat::app {

namespace fs = std::filesystem;

namespace {

// Words for a person go to stderr where stdout is for a program.
prepare::Say say_to(std::FILE* file) {
    return [file](std::string_view line) { print(file, "{}\n", printable(line)); };
}

}  // namespace

Expected<ExitCode> list_suite(const ListCommand& command, const Invocation& invocation) {
    auto ready = open_suite(command.suite, invocation, say_to(stderr));
    if (!ready) return tl::unexpected(ready.error());
    const Need need = command.cases ? Need::children : Need::modules;
    if (auto made = make_ready(*ready, need, say_to(stderr)); !made)
        return tl::unexpected(made.error());
    auto plan = plan_for(*ready, {command.targets, {}, {}, {}});
    if (!plan) return tl::unexpected(plan.error());
    std::sort(plan->jobs.begin(), plan->jobs.end(),
              [](const auto& a, const auto& b) { return a.module < b.module; });
    for (const auto& note : plan->notes) print(stderr, "note: {}\n", printable(note));

    std::vector<parsers::ModuleRecord> records;
    if (command.cases) {
        auto collected = collect(*ready, command.keyword, plan->jobs);
        if (!collected) return tl::unexpected(collected.error());
        records = std::move(*collected);
    }
    bool broken = false;
    auto json = nlohmann::ordered_json{
        {"format", 1}, {"suite", ready->suite.name}, {"modules", nlohmann::json::array()}};
    for (size_t i = 0; i < plan->jobs.size(); ++i) {
        const auto& job = plan->jobs[i];
        auto entry = nlohmann::ordered_json{{"path", job.module}};
        if (!command.json && !command.cases) print("{}\n", printable(job.module));
        if (command.cases) {
            entry["cases"] = nlohmann::json::array();
            for (const auto& test : records[i].cases) {
                // A pseudo-case is a module that could not be collected: say why and fail.
                broken = broken || (test.pseudo && test.state != parsers::State::skipped);
                entry["cases"].push_back(
                    {{"id", test.id}, {"file", test.location.file}, {"line", test.location.line}});
                if (!command.json) print("{}\n", printable(test.id));
                if (test.pseudo)
                    print(stderr, "{}: {}\n", printable(test.id), printable(test.why()));
            }
        }
        json["modules"].push_back(std::move(entry));
    }
    if (command.json)
        print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return broken ? ExitCode::unexpected_results : ExitCode::ok;
}

Expected<ExitCode> prepare_suite(const PrepareCommand& command, const Invocation& invocation) {
    auto ready = open_suite(command.suite, invocation, say_to(stdout));
    if (!ready) return tl::unexpected(ready.error());
    if (auto made = make_ready(*ready, Need::children, say_to(stdout)); !made)
        return tl::unexpected(made.error());
    print("{}: {}\nsource: {}{}\nenvironment: {}\n", ready->suite.name, settings_words(*ready),
          ready->child.root.string(),
          ready->prepared.source.commit.empty() ? "" : " (" + ready->prepared.source.commit + ")",
          ready->child.python.string());
    if (!ready->prepared.shim_library.empty())
        print("shim: {}\n", ready->prepared.shim_library.string());
    return ExitCode::ok;
}

namespace {

// The devices that the environment's torch finds, where both are there already: doctor makes none.
void print_devices(const prepare::Environment& environment, const prepare::Share& share,
                   const prepare::Cache& cache) {
    if (environment.torch_version.empty()) return;
    print("\ndevices that torch {} of {} finds:\n", environment.torch_version,
          environment.python.string());
    const auto library = prepare::find_shim(environment, share, cache);
    if (library && library->empty()) {
        print("  not known before the shim is built for it (`runner prepare SUITE`)\n");
        return;
    }
    const auto json = library.and_then(
        [&](const fs::path& path) { return prepare::probe_devices(environment, path); });
    if (!json) {
        print("  device-probe: {}\n", printable(to_line(json.error())));
        return;
    }
    for (const auto& line : devices_words(*json)) print("  {}\n", printable(line));
}

}  // namespace

Expected<ExitCode> doctor(const DoctorCommand& command, const Invocation& invocation) {
    const auto share = find_share();
    if (!share) return tl::unexpected(share.error());
    std::optional<suites::Suite> suite;
    if (!command.suite.empty()) {
        auto loaded = suites::load_suite(find_suite(command.suite, *share), shipped_suites(*share));
        if (!loaded) return tl::unexpected(loaded.error());
        suite = std::move(*loaded);
    }
    const auto settings = Settings::resolve(invocation.flags, suite ? &*suite : nullptr);
    if (!settings) return tl::unexpected(settings.error());

    bool well = true;
    const auto check = [&](bool good, const std::string& what, const std::string& advice) {
        print("{} {}{}\n", good ? "ok     " : "MISSING", what, good ? "" : ": " + advice);
        well = well && good;
    };
    print("runner {}\n\n", kVersion);
    const std::string& base = settings->text(Setting::base_python);
    const auto venv = prepare::output_of(
        {{base, "-c", "import venv, ensurepip, sys; print(sys.version.split()[0])"}, ".", {}});
    check(venv.has_value(),
          fmt::format("Python with venv ({}{})", base,
                      venv ? " " + venv->substr(0, venv->find('\n')) : ""),
          "apt-get install python3 python3-venv, or set COMPAT_BASE_PYTHON");
    struct Program {
        const char *name, *package, *use;
    };
    constexpr std::array<Program, 4> kPrograms{
        {{"git", "git", "sources from git, commits of checkouts"},
         {"cmake", "cmake", "building the shim"},
         {"ninja", "ninja-build", "building the shim"},
         {"g++", "g++", "building the shim"}}};
    for (const auto& program : kPrograms)
        check(!prepare::find_program(program.name).empty(),
              fmt::format("{} ({})", program.name, program.use),
              fmt::format("apt-get install {}", program.package));
    for (const auto setting : {Setting::cache, Setting::results}) {
        fs::path folder = fs::absolute(settings->text(setting));
        std::error_code error;
        while (!fs::exists(folder, error) && folder.has_relative_path())
            folder = folder.parent_path();
        check(::access(folder.c_str(), W_OK | X_OK) == 0,
              fmt::format("{} can be written ({})",
                          setting == Setting::cache ? "the cache" : "the results folder",
                          settings->text(setting)),
              setting == Setting::cache ? "set COMPAT_CACHE to another folder"
                                        : "name another by --results");
    }
    if (suite) {
        for (const auto& package : prepare::missing_system_packages(suite->system_packages))
            check(false, fmt::format("Debian package {} (for {})", package, suite->name),
                  "apt-get install " + package);
    }
    const prepare::Cache cache(settings->text(Setting::cache));
    const std::string& python = settings->text(Setting::python);
    if (suite || !python.empty()) {
        const auto environment = prepare::find_environment(
            suite.value_or(suites::Suite{}), prepare_options(*settings), *share, cache);
        if (!python.empty())
            check(environment && !(*environment)->torch_version.empty(),
                  fmt::format("torch in {}", python),
                  environment ? "install torch in it, or run with --shim off"
                              : to_line(environment.error()));
        if (environment && *environment) print_devices(**environment, *share, cache);
    }
    print("\nsettings, and where each comes from:\n");
    for (const auto& row : kSettings) {
        const auto& value = (*settings)[row.setting];
        print("  {:<18} {:<28} {}\n", row.name, value.text.empty() ? "-" : printable(value.text),
              value.origin);
    }
    return well ? ExitCode::ok : ExitCode::usage;
}

}  // namespace compat::app

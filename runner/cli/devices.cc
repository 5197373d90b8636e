// `runner devices`: the devices of this host, and which one a program gets.

#include <cstdlib>

#include "runner/base/files/fs.h"
#include "runner/cli/commands.h"
#include "runner/display/output.h"
#include "runner/prepare/share.h"
#include "runner/run/devices/device_report.h"
#include "runner/run/ready.h"

namespace compat::cli {

namespace {

struct DevicesRequest {
    bool json = false;
    bool verbose = false;
};

// As `runner exec` finds it; null: none with a torch.
Expected<std::optional<prepare::Environment>> find_torch(const config::Settings& settings,
                                                         const prepare::Share& share) {
    std::string python = settings.text(Setting::python);
    if (const char* active = std::getenv("VIRTUAL_ENV"); python.empty() && active) python = active;
    if (python.empty()) python = prepare::find_program("python3").string();
    if (python.empty()) return std::nullopt;
    auto environment = prepare::probe(python, share);
    if (!environment && settings[Setting::python].given())
        return tl::unexpected(environment.error());
    return environment ? std::optional(std::move(*environment)) : std::nullopt;
}

plan::Variables simulating(const config::Settings& settings, const prepare::Share& share,
                           const fs::path& library) {
    plan::ChildSettings child;
    child.activation = share.shim / "python" / "activate";
    child.shim_library = library;
    child.policy = "none";
    child.simulate = settings.simulated();
    child.device_memory = settings.text(Setting::device_memory);
    child.macos = settings.text(Setting::macos);
    auto variables = plan::added_variables({}, child);
    variables.emplace_back("TORCHDEVICE_SUMMARY", "off");
    return variables;
}

Expected<ExitCode> show_devices(const DevicesRequest& request,
                                const config::Invocation& invocation) {
    const auto share = TRY(prepare::find_share());
    const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
    auto environment = TRY(find_torch(settings, share));
    run::ProbeRequest probes;
    probes.environment = std::move(environment);
    probes.script = share.prepare / "device_probes.py";
    std::string no_shim;  // why there is none
    const bool torch = probes.environment && !probes.environment->torch_version.empty();
    if (!settings.simulated().empty() && !torch)
        return fail(ErrorKind::usage, "only a Python with torch can simulate a device",
                    "name one with --python", settings[Setting::simulate].origin);
    if (torch) {
        const prepare::Cache cache(settings.text(Setting::cache));
        auto library =
            prepare::get_shim(*probes.environment, share, cache, display::say_to(stderr));
        if (!library && !settings.simulated().empty()) return tl::unexpected(library.error());
        if (!library) no_shim = to_line(library.error());
        if (library) probes.shim_library = std::move(*library);
        if (!settings.simulated().empty())
            probes.shim_variables = simulating(settings, share, probes.shim_library);
    }
    auto answers = TRY(run::ask_probes(probes));
    // The other sources need no shim.
    if (!no_shim.empty()) answers.push_back({run::Probe::pytorch, "PyTorch", {}, no_shim, 0});
    const auto report = TRY(run::report_of(
        answers, run::host_facts(probes.environment, settings.simulated()), settings));
    if (request.json)
        display::put(display::people(), display::device_report_json(report));
    else
        print("{}", display::device_report(report, request.verbose));
    return report.current.empty() ? ExitCode::usage : ExitCode::ok;
}

Action add_devices(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<DevicesRequest>();
    app.add_flag("--json", request->json, "print JSON");
    app.add_flag("-v,--verbose", request->verbose,
                 "also print defaults, metadata, times, and why devices were not chosen");
    return exits_with_code([request, &invocation] { return show_devices(*request, invocation); });
}

}  // namespace

Command devices_command() {
    return {"list this host's devices, and which one a program gets",
            {Setting::python, Setting::device, Setting::precision, Setting::simulate,
             Setting::device_memory, Setting::macos},
            "Examples:\n"
            "  runner devices --python .venv\n"
            "  runner devices --simulate cuda --json",
            add_devices};
}

}  // namespace compat::cli

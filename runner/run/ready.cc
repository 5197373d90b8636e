#include "runner/run/ready.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "runner/base/device_kind.h"
#include "runner/base/files.h"
#include "runner/base/line_mac.h"
#include "runner/base/secrets.h"
#include "runner/base/text.h"
#include "runner/display/device_lines.h"
#include "runner/prepare/share.h"
#include "runner/run/devices/device_choice.h"
#include "runner/run/hub/run_hub.h"
#include "runner/run/isolation/isolation.h"
#include "runner/run/variables.h"
#include "suites/load.h"

namespace compat::run {

using config::Setting;

Expected<Ready> open_suite(const std::string& name, const config::Invocation& invocation,
                           const prepare::Say& say) {
    auto share = TRY(prepare::find_share());
    Ready ready;
    ready.share = share;
    const auto shipped = prepare::shipped_suites(share);
    auto suite = TRY(suites::load_suite(prepare::find_suite(name, share), shipped));
    ready.suite = std::move(suite);
    remember_secrets(ready.suite.env);
    ready.settings = TRY(config::Settings::resolve(invocation, &ready.suite));
    TRY(check_hub_settings(ready.settings, ready.suite));
    take_device_settings(ready.child, ready.settings);
    const auto framework = framework_of(ready.settings.text(Setting::framework)).value();
    const bool both_python =
        traits_of(framework).in_python && traits_of(ready.suite.framework).in_python;
    // Tests lie in other files then.
    if (framework != ready.suite.framework && !both_python)
        ready.suite.layout.modules = suites::default_modules(framework);
    ready.suite.framework = framework;
    if (!invocation.passed_on.empty() && framework != Framework::pytest)
        return fail(ErrorKind::usage,
                    fmt::format("arguments after -- go to pytest, and this suite runs under {}",
                                name_of(framework)),
                    "leave them out", invocation.passed_on.front());
    const config::Value& seeds = ready.settings[Setting::seeds];
    if (ready.settings.seeds() > 0 && !traits_of(framework).in_python)
        return fail(ErrorKind::usage,
                    fmt::format("only tests in Python have other random numbers, and this suite "
                                "runs under {}",
                                name_of(framework)),
                    "leave the seeds out", seeds.origin);
    ready.child.options = invocation.passed_on;
    for (const auto& line : ready.suite.detected) say(line);
    return ready;
}

prepare::Options prepare_options(const config::Settings& settings) {
    prepare::Options options;
    options.root = settings.text(Setting::root);
    options.python = settings.text(Setting::python);
    options.shim = settings.on(Setting::shim);
    options.torch_requirement = settings.text(Setting::torch_requirement);
    options.base_python = settings.text(Setting::base_python);
    return options;
}

namespace {

// A device is simulated for the torch of a Python, from which the host's own must be hidden.
Expected<void> check_simulation(const Ready& ready, Need need) {
    const auto& simulate = ready.child.simulate;
    if (simulate.empty()) return {};
    const std::string& origin = ready.settings[Setting::simulate].origin;
    if (need == Need::modules) return {};  // nothing runs
    if (ready.child.shim_library.empty())
        return fail(ErrorKind::usage, "simulated devices need the shim, and it is off",
                    "leave --shim on, with a suite of Python tests that has torch", origin);
    const std::string& found = ready.prepared.accelerator;
    if (!device_kind(found).can_be_hidden)
        return fail(ErrorKind::usage, fmt::format("this host has {} of its own", found),
                    "simulate a device on a host without one", origin);
    return {};
}

}  // namespace

void take_device_settings(plan::ChildSettings& child, const config::Settings& settings) {
    child.policy = settings.text(Setting::policy);
    child.masquerade = settings.masquerades();
    child.simulate = settings.simulated();
    child.device_memory = settings.text(Setting::device_memory);
    child.macos = settings.text(Setting::macos);
    child.start_method = settings.text(Setting::start_method);
    child.mac_like = settings.on(Setting::mac_like);
    child.sanitize = settings.on(Setting::sanitize);
    child.default_device = settings.on(Setting::default_device);
    child.keep_going = settings.on(Setting::keep_going);
    child.fallback = settings.on(Setting::fallback);
    child.seeds = settings.seeds();
}

Expected<void> make_ready(Ready& ready, Need need, const prepare::Say& say,
                          const std::optional<prepare::Prepared>& known) {
    prepare::Options options = prepare_options(ready.settings);
    options.source_only = need == Need::modules;
    const prepare::Cache cache(ready.settings.text(Setting::cache));
    ready.prepared = TRY(known ? Expected<prepare::Prepared>(*known)
                               : prepare::prepare(ready.suite, options, ready.share, cache, say));
    if (!options.shim) ready.prepared.shim_library.clear();

    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    auto& child = ready.child;
    child.python = ready.prepared.environment.python;
    child.root = ready.prepared.source.root;
    child.harness = ready.share.harness / "main.py";
    child.activation = ready.share.shim / "python" / "activate";
    child.shim_library = ready.prepared.shim_library;
    child.processes = ready.settings.jobs();
    child.threads = std::max(1, cores / ready.settings.jobs());
    child.inherited = inherited_environment();
    if (need == Need::children && ready.settings.text(Setting::isolation) == "sandbox")
        TRY(check_sandbox());
    TRY(check_simulation(ready, need));
    if (need == Need::children) TRY(choose_device(ready, say));
    choose_redirection(ready, say);
    ready.given_variables = child.from_user;
    ready.given_options = child.options;
    tell_device(ready, device_name(ready));
    return {};
}

std::string describe_settings(const Ready& ready) {
    const auto& environment = ready.prepared.environment;
    const std::string& hub = ready.settings.text(Setting::hub);
    return fmt::format("shim {}, torch {}, Python {} ({}), device {}{}",
                       ready.prepared.shim_library.empty()
                           ? "off"
                           : fmt::format("on ({})", display::describe_policy(ready.child.policy)),
                       environment.torch_version.empty() ? "none" : environment.torch_version,
                       environment.version, printable(tilde_path(environment.python.string())),
                       ready.child.simulate.empty() ? ready.prepared.accelerator
                                                    : ready.child.simulate + " (simulated)",
                       hub == "off" ? "" : ", hub " + hub);
}

Expected<plan::Plan> plan_for(const Ready& ready, const plan::Selection& selection,
                              const plan::Past& past) {
    return plan::list_modules(ready.suite, ready.child.root).and_then([&](const auto& modules) {
        return plan::make_plan(ready.suite, modules, selection, past);
    });
}

exec::Job child_job(const Ready& ready, const plan::ChildSettings& settings,
                    const plan::Job& planned, const plan::AttemptPaths& paths) {
    auto child = plan::child_command(ready.suite, settings, planned, paths);
    exec::Job job;
    job.name = planned.module;
    job.argv = std::move(child.argv);
    job.cwd = settings.root;
    job.env = std::move(child.env);
    job.id = paths.id;
    const auto below = [&](const fs::path& file) {
        return FileBelow(paths.folder, file.lexically_relative(paths.folder));
    };
    job.log = below(paths.log);
    job.events = below(paths.events);
    job.writable = below(paths.events.parent_path());
    job.key = new_mac_key();
    if (ready.isolation) job.sandbox = ready.isolation->sandbox();
    job.timeout = ready.settings.timeout();
    job.log_bytes = ready.suite.limits.log_bytes;
    return job;
}

Expected<void> write_attempt(const plan::Job& planned, const plan::AttemptPaths& paths) {
    if (planned.only.empty()) return {};
    std::string ids;
    for (const auto& id : planned.only) ids += id + "\n";
    return write_new_file({paths.folder, paths.only.lexically_relative(paths.folder)}, ids);
}

}  // namespace compat::run

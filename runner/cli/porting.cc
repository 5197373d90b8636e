// `runner porting`: compares a suite on plain CPU and on simulated devices.
#include "runner/porting/porting.h"

#include "runner/cli/commands.h"
#include "runner/cli/options/run_options.h"

namespace compat::cli {

namespace {

Action add_porting(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<porting::PortingRequest>();
    auto* suite = app.add_option("SUITE", request->run.suite, kSuiteHelp);
    add_selection(app, request->run, invocation.flags);
    app.add_option("--runs", request->runs, "compare stored runs instead")
        ->type_name("RUN,RUN,…")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes(suite);
    app.add_option("--out", request->out, "folder for the page [a new one in the results]")
        ->type_name("DIR");
    return exits_with_code([request, &invocation]() -> Expected<ExitCode> {
        if (request->run.suite.empty() && request->runs.empty())
            return fail(ErrorKind::usage, "porting: no suite and no runs to compare",
                        "name a SUITE, or stored runs with --runs");
        return porting::porting(*request, invocation);
    });
}

}  // namespace

// The columns set shim, simulated device and fallback, so these are no options here.
Command porting_command() {
    return {
        "compare a suite on plain CPU with simulated CUDA and MPS",
        {Setting::jobs,          Setting::timeout, Setting::test_timeout, Setting::retries,
         Setting::seeds,         Setting::results, Setting::masquerade,   Setting::default_device,
         Setting::device_memory, Setting::macos,   Setting::start_method, Setting::mac_like,
         Setting::sanitize,      Setting::warm,    Setting::python,       Setting::root,
         Setting::framework,     Setting::name,    Setting::progress,     Setting::color},
        "Runs the suite five times: on plain CPU, on simulated CUDA, on a bare simulated\n"
        "Mac with and without fallback, and with CUDA requests sent to MPS.\n"
        "Retries failed tests once, unless --retries is given. Runs tests whose numbers\n"
        "differ on plain CPU with 20 random streams (--seeds N; 0: none). Other defaults\n"
        "are those of `runner run`. Needs SUITE or --runs.\n"
        "--env TEST_DEVICE={device} sets TEST_DEVICE to cpu, cuda or mps in each run.\n"
        "Examples:\n"
        "  runner porting suites/einops\n"
        "  runner porting ~/my-project tests -k 'not slow'\n"
        "  runner porting --runs RUN1,RUN2,RUN3,RUN4",
        add_porting,
        true,
        false};
}

}  // namespace compat::cli

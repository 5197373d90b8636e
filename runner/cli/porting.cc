// `runner porting`: a suite on plain CPU and on simulated devices, compared.
#include "runner/run/porting.h"

#include "runner/cli/commands.h"
#include "runner/cli/run_options.h"

namespace compat::cli {

using config::Setting;

namespace {

Action add_porting(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<run::PortingRequest>();
    auto* suite = app.add_option("SUITE", request->run.suite, kSuiteHelp);
    add_selection(app, request->run, invocation.flags);
    app.add_option("--runs", request->runs,
                   "compare stored runs instead: their names, as for report")
        ->type_name("RUN,RUN,…")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes(suite);
    app.add_option("--out", request->out, "folder for the page (one below the results)")
        ->type_name("DIR");
    return exits_with_code([request, &invocation]() -> Expected<ExitCode> {
        if (request->run.suite.empty() && request->runs.empty())
            return fail(ErrorKind::usage, "porting: no suite and no runs to compare",
                        "name a SUITE, or stored runs by --runs");
        return run::porting(*request, invocation);
    });
}

}  // namespace

// The columns say what is simulated, with which fallback, and where the shim is off: those are no
// settings here.
Command porting_command() {
    return {"run a suite on plain CPU and on simulated CUDA and MPS, and say what to fix first",
            {Setting::jobs, Setting::timeout, Setting::test_timeout, Setting::retries,
             Setting::results, Setting::policy, Setting::masquerade, Setting::warm, Setting::python,
             Setting::root, Setting::framework, Setting::name, Setting::progress, Setting::color},
            "Four runs, one after the other: plain CPU with the shim off, simulated CUDA, "
            "simulated MPS with\nfallback and without. What fails is tried again once, unless "
            "--retries says otherwise.\n{device} in a value of --env is cpu, cuda or mps.\n"
            "Examples:\n"
            "  runner porting suites/einops\n"
            "  runner porting ~/my-project --python ~/my-project/.venv/bin/python tests -k "
            "'not slow'\n"
            "  runner porting --runs "
            "einops@latest~3,einops@latest~2,einops@latest~1,einops@latest",
            add_porting,
            true};
}

}  // namespace compat::cli

// `runner list`: lists modules or test cases. Runs no test.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/display/output.h"
#include "runner/run/collect.h"
#include "runner/run/ready.h"

namespace compat::cli {

namespace {

struct ListRequest {
    std::string suite;
    std::vector<std::string> targets;
    std::string keyword;
    bool cases = false;
    bool json = false;
};

Expected<ExitCode> list_suite(const ListRequest& request, const config::Invocation& invocation) {
    auto ready = TRY(run::open_suite(request.suite, invocation, display::say_to(stderr)));
    const run::Need need = request.cases ? run::Need::children : run::Need::modules;
    TRY(run::make_ready(ready, need, display::say_to(stderr)));
    auto plan = TRY(run::plan_for(ready, {request.targets, {}, {}, {}}));
    std::sort(plan.jobs.begin(), plan.jobs.end(),
              [](const auto& a, const auto& b) { return a.module < b.module; });
    for (const auto& note : plan.notes) print(stderr, "note: {}\n", printable(note));

    std::vector<parsers::ModuleRecord> records;
    if (request.cases) records = TRY(run::collect(ready, request.keyword, plan.jobs));
    bool broken = false, none = request.cases;
    std::vector<std::string> unmatched;
    auto json = nlohmann::ordered_json{
        {"format", 1}, {"suite", ready.suite.name}, {"modules", nlohmann::ordered_json::array()}};
    for (size_t i = 0; i < plan.jobs.size(); ++i) {
        const auto& job = plan.jobs[i];
        auto entry = nlohmann::ordered_json{{"path", job.module}};
        if (!request.json && !request.cases) print("{}\n", printable(job.module));
        if (request.cases) {
            entry["cases"] = nlohmann::ordered_json::array();
            for (auto& id : run::ids_without_tests(job.only, records[i]))
                unmatched.push_back(std::move(id));
            none = none && records[i].cases.empty();
            for (const auto& test : records[i].cases) {
                // A pseudo-case stands for a module that could not be collected.
                broken = broken || (test.pseudo && test.state != parsers::State::skipped);
                entry["cases"].push_back(
                    {{"id", test.id}, {"file", test.location.file}, {"line", test.location.line}});
                if (!request.json) print("{}\n", printable(test.id));
                if (test.pseudo)
                    print(stderr, "{}: {}\n", printable(test.id), printable(test.why()));
            }
        }
        json["modules"].push_back(std::move(entry));
    }
    if (request.json)
        display::put(
            display::people(),
            json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    run::print_unmatched_ids(unmatched, ready);
    if (none) run::print_unmatched_keyword(request.keyword);
    return worst(std::array{unmatched.empty() ? ExitCode::ok : ExitCode::usage,
                            none ? ExitCode::nothing_selected : ExitCode::ok,
                            broken ? ExitCode::unexpected_results : ExitCode::ok});
}

Action add_list(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<ListRequest>();
    app.add_option("SUITE", request->suite, kSuiteHelp)->required();
    app.add_option("TARGET", request->targets, kTargetHelp);
    auto* cases =
        app.add_flag("--cases", request->cases, "collect each module and list its test cases");
    app.add_option("-k", request->keyword, "with --cases: list only tests that match EXPR")
        ->type_name("EXPR")
        ->needs(cases);
    app.add_flag("--json", request->json, "print JSON");
    return exits_with_code([request, &invocation] { return list_suite(*request, invocation); });
}

}  // namespace

Command list_command() {
    return {"list modules or test cases without running them",
            {Setting::jobs, Setting::timeout, Setting::shim, Setting::python, Setting::root,
             Setting::framework},
            "Examples:\n  runner list suites/einops\n  runner list --cases --json suites/einops "
            "test_ops.py",
            add_list};
}

}  // namespace compat::cli

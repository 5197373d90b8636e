// `runner gaps scan | list | show | set | export`: the API gap log.
#include "reports/gaps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "runner/analysis/scan/gap_scan.h"
#include "runner/archive/gap_record.h"
#include "runner/archive/results.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/nearest.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/checks.h"
#include "runner/cli/results.h"
#include "runner/display/output.h"
#include "runner/prepare/share.h"
#include "runner/prepare/tool.h"
#include "runner/run/ready.h"
#include "runner/store/gaps.h"

namespace compat::cli {

namespace {

struct GapsRequest {
    std::string suite;                // scan: the suite that has the torch
    std::string symbol;               // show, set
    std::vector<std::string> values;  // set: "FIELD=VALUE"
    std::string status = "open";      // list, export; "all": any
    std::string kind;                 // empty: any
    std::string device;               // empty: any
    std::size_t limit = 30;
    bool all = false;  // list: no limit
    bool json = false;
    std::string out;  // export: a file; empty: stdout
};

constexpr const char* kScannedDevice = "mps";

Expected<fs::path> python_to_scan(const GapsRequest& request,
                                  const config::Invocation& invocation) {
    if (request.suite.empty()) {
        const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
        const std::string python = settings.text(Setting::python);
        if (python.empty())
            return fail(ErrorKind::usage, "gaps scan: no suite and no environment",
                        "name a SUITE, or an environment with --python");
        return fs::path(python);
    }
    const auto say = display::say_to(stderr);
    auto ready = TRY(run::open_suite(request.suite, invocation, say));
    TRY(run::make_ready(ready, run::Need::children, say));
    return ready.child.python;
}

Expected<ExitCode> scan(const GapsRequest& request, const config::Invocation& invocation) {
    const auto share = TRY(prepare::find_share());
    const auto python = TRY(python_to_scan(request, invocation));
    prepare::Tool tool{{python.string(), (share.harness / "api_scan.py").string()}};
    // The scan reads the shim's tables without activating it.
    tool.env = {{"PYTHONPATH", (share.shim / "python").string()}};
    tool.unset = {"ACTIVATE_TORCH_DEVICE"};
    tool.limit_s = 300;
    const auto output = TRY(prepare::output_of(tool));
    const auto api = TRY(analysis::parse_api_scan(output));
    const auto yaml = TRY(read_file(api.native_functions));
    const auto operators = TRY(analysis::operators_of(yaml));
    const auto found = analysis::gaps_of(api, operators, kScannedDevice);

    const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
    const fs::path results = fs::absolute(settings.text(Setting::results));
    auto store = TRY(archive::open_results(results));
    TRY(archive::put_scan(store, results, found, kScannedDevice, api.torch));
    std::map<GapKind, long> counts;
    for (const GapFacts& gap : found) ++counts[gap.key.kind];
    print("torch {} against {}: {} operators, {} gaps\n", api.torch, kScannedDevice,
          operators.size(), found.size());
    for (const auto& [kind, count] : counts) print("{:>6}  {}\n", count, name_of(kind));
    return ExitCode::ok;
}

bool is_wanted(const reports::GapView& gap, const GapsRequest& request) {
    return (request.status == "all" || gap.status == request.status) &&
           (request.kind.empty() || name_of(gap.key.kind) == request.kind) &&
           (request.device.empty() || gap.key.device == request.device ||
            format_target(gap) == request.device);
}

Expected<std::vector<reports::GapView>> wanted(const GapsRequest& request,
                                               const config::Invocation& invocation) {
    const auto results = TRY(open_existing(invocation));
    const fs::path out =
        request.out.empty() ? fs::current_path() : fs::absolute(request.out).parent_path();
    auto gaps = TRY(reports::current_gaps(results.store, results.folder, out));
    std::erase_if(gaps, [&](const auto& gap) { return !is_wanted(gap, request); });
    return gaps;
}

Expected<ExitCode> list(const GapsRequest& request, const config::Invocation& invocation) {
    const auto gaps = TRY(wanted(request, invocation));
    if (request.json) {
        display::put(display::people(), reports::gaps_json(gaps));
        return ExitCode::ok;
    }
    if (gaps.empty()) {
        print("no gaps match; `runner gaps scan SUITE` looks for gaps in torch\n");
        return ExitCode::ok;
    }
    const size_t shown = request.all ? gaps.size() : std::min(gaps.size(), request.limit);
    print("{:>7}  {:>8}  {:<8}  {:<17}  {:<16}  {}\n", "blocks", "unblocks", "severity", "kind",
          "device", "symbol");
    for (size_t i = 0; i < shown; ++i) {
        const auto& gap = gaps[i];
        print("{:>7}  {:>8}  {:<8}  {:<17}  {:<16}  {}{}\n", gap.tests, gap.unblocked_alone,
              gap.severity, name_of(gap.key.kind), format_target(gap), printable(gap.key.symbol),
              gap.status == "open" ? "" : "  [" + gap.status + "]");
        if (gap.sites.empty()) continue;
        const auto& site = gap.sites.front();
        print("{:>20}{}{}\n", "", printable(fmt::format("{}:{}", site.file, site.line)),
              site.url.empty() ? "" : "  " + printable(site.url));
    }
    if (shown < gaps.size()) print("… and {} more; --all prints them\n", gaps.size() - shown);
    return ExitCode::ok;
}

// The gaps named `symbol` that pass the filters, of any status.
Expected<std::vector<reports::GapView>> named(const GapsRequest& request,
                                              const config::Invocation& invocation) {
    GapsRequest any = request;
    any.status = "all";
    auto gaps = TRY(wanted(any, invocation));
    std::vector<std::string> symbols;
    for (const auto& gap : gaps) symbols.push_back(gap.key.symbol);
    std::erase_if(gaps, [&](const auto& gap) { return gap.key.symbol != request.symbol; });
    if (gaps.empty())
        return fail(ErrorKind::usage, fmt::format("no gap has the symbol {}", request.symbol),
                    did_you_mean(nearest(request.symbol, symbols, 3)));
    return gaps;
}

Expected<ExitCode> show(const GapsRequest& request, const config::Invocation& invocation) {
    const auto gaps = TRY(named(request, invocation));
    for (const auto& gap : gaps) {
        print("{}\n", printable(gap.key.symbol));
        const auto line = [](std::string_view name, const std::string& value) {
            if (!value.empty()) print("    {:<12}{}\n", name, printable(value));
        };
        line("kind", std::string(name_of(gap.key.kind)));
        line("device", format_target(gap));
        line("severity", gap.severity);
        line("status", gap.status);
        line("closed by", gap.closed_by);
        line("missing", gap.description);
        line("instead", gap.equivalent);
        line("action", gap.action);
        line("issue", gap.issue);
        line("first seen", fmt::format("{} (torch {})", gap.first_seen, gap.first_torch));
        line("last seen", fmt::format("{} (torch {})", gap.last_seen, gap.last_torch));
        line("blocks", fmt::format("{}; fixing it alone unblocks at most {}",
                                   counted(gap.tests, "test"), gap.unblocked_alone));
        for (const auto& [words, tests] : gap.diagnoses)
            line("diagnosis", fmt::format("{}: {}", words, counted(tests, "test")));
        for (const auto& site : gap.sites)
            print("    {}  {}, {}{}\n", printable(fmt::format("{}:{}", site.file, site.line)),
                  counted(site.count, "time"), counted(site.tests, "test"),
                  site.url.empty() ? "" : "  " + printable(site.url));
    }
    return ExitCode::ok;
}

Expected<void> check_value(const std::string& field, const std::string& value) {
    const auto one_of = [&](const auto& names) -> Expected<void> {
        if (std::find(names.begin(), names.end(), value) != names.end()) return {};
        return fail(ErrorKind::usage, fmt::format("{} cannot be {}", field, value),
                    fmt::format("use one of {}", fmt::join(names, ", ")));
    };
    if (field == "severity") return one_of(kSeverityNames);
    if (field == "status") return one_of(kGapStatusNames);
    const auto& fields = store::kGapFields;
    if (std::find(fields.begin(), fields.end(), field) != fields.end()) return {};
    return fail(ErrorKind::usage, fmt::format("unknown field {}", field),
                fmt::format("use one of {}", fmt::join(fields, ", ")));
}

Expected<ExitCode> set(const GapsRequest& request, const config::Invocation& invocation) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const std::string& word : request.values) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos)
            return fail(ErrorKind::usage, fmt::format("{} is not FIELD=VALUE", word),
                        "write FIELD=VALUE, for example status=wontfix");
        values.emplace_back(word.substr(0, equals), word.substr(equals + 1));
        TRY(check_value(values.back().first, values.back().second));
    }
    auto gaps = TRY(named(request, invocation));
    // "mps" matches real and simulated MPS; if both have the gap, it means real MPS.
    const auto is_device = [&](const auto& gap) { return format_target(gap) == request.device; };
    if (gaps.size() > 1 && std::any_of(gaps.begin(), gaps.end(), is_device))
        std::erase_if(gaps, std::not_fn(is_device));
    if (gaps.size() > 1)
        return fail(
            ErrorKind::usage,
            fmt::format("{} gaps have the symbol {}", gaps.size(), request.symbol),
            "choose one with --kind and --device, for example --device \"mps (simulated)\"");
    const auto results =
        TRY(config::results_folder(invocation).and_then(archive::existing_results));
    auto store = TRY(archive::open_results(results));
    for (const auto& [field, value] : values)
        TRY(archive::set_gap(store, results, gaps.front().key, field, value));
    return ExitCode::ok;
}

Expected<ExitCode> export_gaps(const GapsRequest& request, const config::Invocation& invocation) {
    const auto gaps = TRY(wanted(request, invocation));
    const std::string text = request.json ? reports::gaps_json(gaps) : reports::gaps_markdown(gaps);
    if (request.out.empty()) {
        if (request.json)
            display::put(display::people(), text);
        else
            print("{}", text);
        return ExitCode::ok;
    }
    return write_file(fs::absolute(request.out), text).map([&] {
        print("{}\n", fs::absolute(request.out).string());
        return ExitCode::ok;
    });
}

Action add_gaps(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<GapsRequest>();
    GapsRequest& gaps = *request;
    config::Flags& flags = invocation.flags;
    app.require_subcommand(1);
    using Function = Expected<ExitCode> (*)(const GapsRequest&, const config::Invocation&);
    auto chosen = std::make_shared<Function>(nullptr);
    const auto action = [&](const char* name, const char* help, Function function) {
        CLI::App* sub = app.add_subcommand(name, help);
        sub->group("Commands");
        sub->callback([chosen, function] { *chosen = function; });
        add_settings(*sub, {Setting::results}, flags);
        return sub;
    };
    const auto add_filter = [&](CLI::App* sub) {
        sub->add_option("--kind", gaps.kind,
                        fmt::format("only gaps of this kind: {}", fmt::join(kGapKindNames, ", ")))
            ->type_name("KIND")
            ->check(one_of(std::vector<std::string>(kGapKindNames.begin(), kGapKindNames.end())));
        sub->add_option("--device", gaps.device, "only gaps of this device: mps, cuda, cpu")
            ->type_name("DEVICE");
    };
    const auto add_status = [&](CLI::App* sub) {
        std::vector<std::string> words(kGapStatusNames.begin(), kGapStatusNames.end());
        words.emplace_back("all");
        sub->add_option("--status", gaps.status,
                        fmt::format("only gaps with this status: {}", fmt::join(words, ", ")))
            ->type_name("STATUS")
            ->check(one_of(words))
            ->capture_default_str();
    };
    auto* scan_app = action("scan", "scan torch for missing APIs and operators", scan);
    scan_app->add_option("SUITE", gaps.suite, "scan the torch of this suite's environment");
    add_settings(*scan_app, {Setting::python, Setting::root}, flags);
    scan_app->footer(
        "Needs SUITE or --python.\n"
        "Examples:\n  runner gaps scan suites/gpytorch\n  runner gaps scan --python "
        ".venv/bin/python");
    auto* list_app = action("list", "list gaps, ranked by the tests they block", list);
    add_filter(list_app);
    add_status(list_app);
    list_app->add_option("-n", gaps.limit, "print at most N gaps")
        ->type_name("N")
        ->capture_default_str();
    list_app->add_flag("--all", gaps.all, "print all matching gaps, without the limit of -n");
    list_app->add_flag("--json", gaps.json, "print JSON");
    list_app->footer(
        "Columns: blocks (failed tests that met the gap), unblocks (tests that only this\n"
        "gap blocks; an upper bound of what a fix lets pass).");
    auto* show_app = action("show", "show a gap and the source lines that hit it", show);
    show_app->add_option("SYMBOL", gaps.symbol, "symbol, as `gaps list` prints it")->required();
    add_filter(show_app);
    auto* set_app = action("set", "set a gap's fields; scans and runs never overwrite them", set);
    set_app->add_option("SYMBOL", gaps.symbol, "symbol, as `gaps list` prints it")->required();
    set_app
        ->add_option("FIELD=VALUE", gaps.values,
                     "status, severity, action, equivalent, description, issue")
        ->required();
    add_filter(set_app);
    set_app->footer(
        "Example:\n  runner gaps set aten::_fft_r2c status=upstream \\\n"
        "      issue=https://github.com/pytorch/pytorch/issues/1");
    auto* export_app = action("export", "export the list as Markdown or JSON", export_gaps);
    add_filter(export_app);
    add_status(export_app);
    export_app->add_flag("--json", gaps.json, "write JSON instead of Markdown");
    export_app->add_option("--out", gaps.out, "write to FILE instead of stdout")->type_name("FILE");
    return exits_with_code(
        [request, chosen, &invocation] { return (*chosen)(*request, invocation); });
}

}  // namespace

Command gaps_command() {
    return {"list missing device APIs, ranked by the tests they block", {}, {}, add_gaps};
}

}  // namespace compat::cli

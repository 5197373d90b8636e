// gaps scan | list | show | set | export.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "reports/gaps.h"
#include "runner/analysis/gap_scan.h"
#include "runner/app/commands.h"
#include "runner/app/conduct.h"
#include "runner/app/display.h"
#include "runner/app/gap_log.h"
#include "runner/app/gap_record.h"
#include "runner/app/output.h"
#include "runner/app/ready.h"
#include "runner/app/share.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/nearest.h"
#include "runner/prepare/tool.h"
#include "runner/store/gaps.h"

namespace compat::app {

namespace fs = std::filesystem;

namespace {

constexpr const char* kScannedDevice = "mps";

// The Python whose torch is scanned: the one that is given, or the suite's.
Expected<fs::path> python_for(const GapsCommand& command, const Invocation& invocation) {
    if (command.suite.empty()) {
        const auto settings = Settings::resolve(invocation.flags, nullptr);
        if (!settings) return tl::unexpected(settings.error());
        const std::string python = settings->text(Setting::python);
        if (python.empty())
            return fail(ErrorKind::usage, "gaps scan: whose torch?",
                        "name a suite, or an environment by --python");
        return fs::path(python);
    }
    const auto say = [](std::string_view line) { print(stderr, "{}\n", printable(line)); };
    auto ready = open_suite(command.suite, invocation, say);
    if (!ready) return tl::unexpected(ready.error());
    if (auto made = make_ready(*ready, Need::children, say); !made)
        return tl::unexpected(made.error());
    return ready->child.python;
}

Expected<ExitCode> scan(const GapsCommand& command, const Invocation& invocation) {
    const auto share = find_share();
    if (!share) return tl::unexpected(share.error());
    const auto python = python_for(command, invocation);
    if (!python) return tl::unexpected(python.error());
    prepare::Tool tool{{python->string(), (share->harness / "api_scan.py").string()}};
    // The tables alone are read: nothing is redirected.
    tool.env = {{"PYTHONPATH", (share->shim / "python").string()}};
    tool.unset = {"ACTIVATE_TORCH_DEVICE"};
    tool.limit_s = 300;
    const auto output = prepare::output_of(tool);
    if (!output) return tl::unexpected(output.error());
    const auto api = analysis::parse_api_scan(*output);
    if (!api) return tl::unexpected(api.error());
    const auto yaml = read_file(api->native_functions);
    if (!yaml) return tl::unexpected(yaml.error());
    const auto operators = analysis::operators_of(*yaml);
    if (!operators) return tl::unexpected(operators.error());
    const auto found = analysis::gaps_of(*api, *operators, kScannedDevice);

    const auto settings = Settings::resolve(invocation.flags, nullptr);
    if (!settings) return tl::unexpected(settings.error());
    const fs::path results = fs::absolute(settings->text(Setting::results));
    auto store = open_results(results);
    if (!store) return tl::unexpected(store.error());
    if (auto put = put_scan(*store, results, found, kScannedDevice, api->torch); !put)
        return tl::unexpected(put.error());
    std::map<GapKind, long> counts;
    for (const GapFacts& gap : found) ++counts[gap.key.kind];
    print("torch {} against {}: {} operators, {} gaps\n", api->torch, kScannedDevice,
          operators->size(), found.size());
    for (const auto& [kind, count] : counts) print("{:>6}  {}\n", count, name_of(kind));
    return ExitCode::ok;
}

bool is_wanted(const reports::GapView& gap, const GapsCommand& command) {
    return (command.status == "all" || gap.status == command.status) &&
           (command.kind.empty() || name_of(gap.key.kind) == command.kind) &&
           (command.device.empty() || gap.key.device == command.device ||
            target_words(gap) == command.device);
}

Expected<std::vector<reports::GapView>> wanted(const GapsCommand& command,
                                               const Invocation& invocation) {
    const auto results = existing_results(invocation);
    if (!results) return tl::unexpected(results.error());
    auto store = store::Store::open(*results / "runner.db", store::Store::Mode::read_only);
    if (!store) return tl::unexpected(store.error());
    const fs::path out =
        command.out.empty() ? fs::current_path() : fs::absolute(command.out).parent_path();
    auto gaps = current_gaps(*store, *results, out);
    if (!gaps) return gaps;
    std::erase_if(*gaps, [&](const auto& gap) { return !is_wanted(gap, command); });
    return gaps;
}

Expected<ExitCode> list(const GapsCommand& command, const Invocation& invocation) {
    const auto gaps = wanted(command, invocation);
    if (!gaps) return tl::unexpected(gaps.error());
    if (command.json) {
        print("{}", reports::gaps_json(*gaps));
        return ExitCode::ok;
    }
    if (gaps->empty()) {
        print("no such gap is in the log; `runner gaps scan SUITE` looks into torch itself\n");
        return ExitCode::ok;
    }
    const size_t shown = command.all ? gaps->size() : std::min(gaps->size(), command.limit);
    print("{:>7}  {:>7}  {:<8}  {:<17}  {:<16}  {}\n", "blocks", "at most", "severity", "kind",
          "device", "symbol");
    for (size_t i = 0; i < shown; ++i) {
        const auto& gap = (*gaps)[i];
        print("{:>7}  {:>7}  {:<8}  {:<17}  {:<16}  {}{}\n", gap.tests, gap.unblocked_alone,
              gap.severity, name_of(gap.key.kind), target_words(gap), printable(gap.key.symbol),
              gap.status == "open" ? "" : "  [" + gap.status + "]");
        if (gap.sites.empty()) continue;
        const auto& site = gap.sites.front();
        print("{:>20}{}{}\n", "", printable(fmt::format("{}:{}", site.file, site.line)),
              site.url.empty() ? "" : "  " + printable(site.url));
    }
    if (shown < gaps->size())
        print("… and {} more: --all, or `runner gaps export`\n", gaps->size() - shown);
    return ExitCode::ok;
}

// The gaps that `symbol` names, among those that are wanted; which one is meant must be clear.
Expected<std::vector<reports::GapView>> named(const GapsCommand& command,
                                              const Invocation& invocation) {
    GapsCommand any = command;
    any.status = "all";
    auto gaps = wanted(any, invocation);
    if (!gaps) return gaps;
    std::vector<std::string> symbols;
    for (const auto& gap : *gaps) symbols.push_back(gap.key.symbol);
    std::erase_if(*gaps, [&](const auto& gap) { return gap.key.symbol != command.symbol; });
    if (gaps->empty())
        return fail(ErrorKind::usage, fmt::format("the gap log has no {}", command.symbol),
                    did_you_mean(nearest(command.symbol, symbols, 3)));
    return gaps;
}

Expected<ExitCode> show(const GapsCommand& command, const Invocation& invocation) {
    const auto gaps = named(command, invocation);
    if (!gaps) return tl::unexpected(gaps.error());
    for (const auto& gap : *gaps) {
        print("{}\n", printable(gap.key.symbol));
        const auto line = [](std::string_view name, const std::string& value) {
            if (!value.empty()) print("    {:<12}{}\n", name, printable(value));
        };
        line("kind", std::string(name_of(gap.key.kind)));
        line("device", target_words(gap));
        line("severity", gap.severity);
        line("status", gap.status);
        line("closed by", gap.closed_by);
        line("what", gap.description);
        line("instead", gap.equivalent);
        line("to do", gap.action);
        line("issue", gap.issue);
        line("first seen", fmt::format("{} (torch {})", gap.first_seen, gap.first_torch));
        line("last seen", fmt::format("{} (torch {})", gap.last_seen, gap.last_torch));
        line("blocks", fmt::format("{} tests; fixed alone it unblocks at most {}", gap.tests,
                                   gap.unblocked_alone));
        for (const auto& site : gap.sites)
            print("    {}  {} times, {} tests{}\n",
                  printable(fmt::format("{}:{}", site.file, site.line)), site.count, site.tests,
                  site.url.empty() ? "" : "  " + printable(site.url));
    }
    return ExitCode::ok;
}

// A field's value where only some words are allowed.
Expected<void> check_value(const std::string& field, const std::string& value) {
    const auto one_of = [&](const auto& names) -> Expected<void> {
        if (std::find(names.begin(), names.end(), value) != names.end()) return {};
        return fail(ErrorKind::usage, fmt::format("{} cannot be {}", field, value),
                    fmt::format("one of {}", fmt::join(names, ", ")));
    };
    if (field == "severity") return one_of(kSeverityNames);
    if (field == "status") return one_of(kGapStatusNames);
    const auto& fields = store::kGapFields;
    if (std::find(fields.begin(), fields.end(), field) != fields.end()) return {};
    return fail(ErrorKind::usage, fmt::format("there is no field {} to set", field),
                fmt::format("one of {}", fmt::join(fields, ", ")));
}

Expected<ExitCode> set(const GapsCommand& command, const Invocation& invocation) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const std::string& word : command.values) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos)
            return fail(ErrorKind::usage, fmt::format("{} sets nothing", word),
                        "write FIELD=VALUE, for example status=wontfix");
        values.emplace_back(word.substr(0, equals), word.substr(equals + 1));
        if (auto ok = check_value(values.back().first, values.back().second); !ok)
            return tl::unexpected(ok.error());
    }
    auto gaps = named(command, invocation);
    if (!gaps) return tl::unexpected(gaps.error());
    // "mps" is both kinds of it, unless one must be chosen.
    const auto is_it = [&](const auto& gap) { return target_words(gap) == command.device; };
    if (gaps->size() > 1 && std::any_of(gaps->begin(), gaps->end(), is_it))
        std::erase_if(*gaps, std::not_fn(is_it));
    if (gaps->size() > 1)
        return fail(ErrorKind::usage,
                    fmt::format("{} gaps are called {}", gaps->size(), command.symbol),
                    "say which by --kind and --device, for example --device \"mps (simulated)\"");
    const auto results = existing_results(invocation);
    if (!results) return tl::unexpected(results.error());
    auto store = open_results(*results);
    if (!store) return tl::unexpected(store.error());
    for (const auto& [field, value] : values)
        if (auto done = set_gap(*store, *results, gaps->front().key, field, value); !done)
            return tl::unexpected(done.error());
    return ExitCode::ok;
}

Expected<ExitCode> export_gaps(const GapsCommand& command, const Invocation& invocation) {
    const auto gaps = wanted(command, invocation);
    if (!gaps) return tl::unexpected(gaps.error());
    const std::string text =
        command.json ? reports::gaps_json(*gaps) : reports::gaps_markdown(*gaps);
    if (command.out.empty()) {
        print("{}", text);
        return ExitCode::ok;
    }
    return write_file(fs::absolute(command.out), text).map([&] {
        print("{}\n", fs::absolute(command.out).string());
        return ExitCode::ok;
    });
}

}  // namespace

Expected<ExitCode> gaps(const GapsCommand& command, const Invocation& invocation) {
    using Action = GapsCommand::Action;
    switch (command.action) {
        case Action::scan:
            return scan(command, invocation);
        case Action::list:
            return list(command, invocation);
        case Action::show:
            return show(command, invocation);
        case Action::set:
            return set(command, invocation);
        case Action::write:
            return export_gaps(command, invocation);
    }
    return ExitCode::usage;
}

}  // namespace compat::app

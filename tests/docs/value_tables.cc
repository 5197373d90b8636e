// Tables of enums, constants and pure functions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "devices/recovery.h"
#include "devices/settings.h"
#include "parsers/diagnosis/diagnosis.h"
#include "parsers/import/importers.h"
#include "parsers/record.h"
#include "policy/policy.h"
#include "reports/overview/blind_spots.h"
#include "reports/porting/porting.h"
#include "runner/analysis/changes/change_class.h"
#include "runner/analysis/collectives.h"
#include "runner/analysis/expectations/conditions.h"
#include "runner/analysis/judgement.h"
#include "runner/analysis/ledger.h"
#include "runner/analysis/ways/attribution.h"
#include "runner/analysis/ways/diagnostic_retries.h"
#include "runner/base/attempt.h"
#include "runner/base/exit_code.h"
#include "runner/base/framework.h"
#include "runner/base/gap.h"
#include "runner/cli/commands.h"
#include "runner/plan/command.h"
#include "runner/slurm/states.h"
#include "suites/load.h"
#include "tests/docs/tables.h"
#include "tests/paths.h"

namespace compat::docs {

namespace fs = std::filesystem;

namespace {

template <class Names>
Rows names_with_prose(const Names& names, size_t prose = 1) {
    Rows rows;
    for (const std::string_view name : names) {
        rows.push_back({code(name)});
        rows.back().resize(1 + prose);
    }
    return rows;
}

// "runner list SUITE [TARGET…]"; `|` is escaped for a table.
std::string usage_of(std::string_view name, const CLI::App& app, bool passes_on) {
    std::string text = fmt::format("runner {}", name);
    std::vector<std::string> below;
    for (const CLI::App* sub : app.get_subcommands({})) below.push_back(sub->get_name());
    if (!below.empty()) text += " " + fmt::format("{}", fmt::join(below, R"(\|)"));
    bool arguments = false;
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_positional()) continue;
        arguments = true;
        std::string word = option->get_name(true);
        for (size_t at = 0; (at = word.find('|', at)) != std::string::npos; at += 2)
            word.insert(at, 1, '\\');
        if (option->get_items_expected_max() > 1) word += "…";
        text += option->get_required() ? " " + word : " [" + word + "]";
    }
    return passes_on && !arguments ? text + " -- CMD…" : text;
}

std::string_view describe_requested(shim::Requested kind) {
    switch (kind) {
        case shim::Requested::none:
            return "none";
        case shim::Requested::cpu:
            return "cpu, cpu:n";
        case shim::Requested::toggle:
            return "cpu:-1";
        case shim::Requested::mps:
            return "mps, mps:n";
        case shim::Requested::cuda:
            return "cuda, cuda:n";
        case shim::Requested::integer:
            return "an integer";
        case shim::Requested::meta:
            return "meta";
        case shim::Requested::other:
            return "every other type";
    }
    return {};
}

std::string_view format_place(const shim::Answer& answer) {
    switch (answer.place) {
        case shim::Place::unchanged:
            return "unchanged";
        case shim::Place::cpu:
            return "cpu";
        case shim::Place::mps:
            return "mps";
        case shim::Place::cuda:
            return "cuda";
        case shim::Place::accelerator:
            return "it";
    }
    return {};
}

std::string describe_source(const suites::Source& source) {
    const std::string version = source.spec.substr(source.spec.rfind('=') + 1);
    switch (source.kind) {
        case suites::SourceKind::path:
            return "its own folder";
        case suites::SourceKind::pypi_wheel:
            return "PyPI wheel " + version;
        case suites::SourceKind::pypi_sdist:
            return "PyPI sdist " + version;
        case suites::SourceKind::git:
            return "git " + source.rev.substr(0, 12);
        case suites::SourceKind::debian:
            return "Debian package " + source.spec;
    }
    return {};
}

}  // namespace

std::string code(std::string_view text) { return fmt::format("`{}`", text); }

Rows commands() {
    Rows rows;
    for (const cli::CommandRow& row : cli::kCommands) {
        const cli::Command command = row.make();
        CLI::App app;
        config::Invocation invocation;
        (void)command.add(app, invocation);
        rows.push_back(
            {code(usage_of(row.name, app, command.passes_on)), std::string(command.help)});
    }
    return rows;
}

Rows shipped_suites() {
    Rows rows;
    std::set<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(fs::path(COMPAT_SOURCE_DIR) / "suites"))
        if (fs::exists(entry.path() / "suite.json")) folders.insert(entry.path());
    for (const fs::path& folder : folders) {
        const suites::Suite suite = suites::load_suite(folder).value();
        rows.push_back({fmt::format("[{0}](suites/{0}/README.md)", suite.name),
                        describe_source(suite.source), std::string(name_of(suite.framework))});
    }
    return rows;
}

Rows exit_codes() {
    Rows rows;
    for (const ExitCodeRow& row : kExitCodes)
        rows.push_back({fmt::format("{}", static_cast<int>(row.code)), std::string(row.meaning)});
    return rows;
}

Rows causes() {
    Rows rows;
    for (const auto& cause : parsers::kCauses)
        rows.push_back({code(cause.name), std::string(cause.means), kProse});
    return rows;
}

Rows error_classes() { return names_with_prose(parsers::kErrorClassNames); }
Rows diagnostic_steps() {
    Rows rows;
    for (const auto& step : kDiagnosticSteps)
        rows.push_back({code(step.name), std::string(step.passes), std::string(step.changes),
                        std::string(step.skipped)});
    return rows;
}

Rows ladders() {
    Rows rows;
    for (size_t i = 0; i < parsers::kErrorClassNames.size(); ++i) {
        std::vector<std::string> steps;
        for (const DiagnosticStep step : analysis::ladder_of(static_cast<parsers::ErrorClass>(i)))
            steps.push_back(code(name_of(step)));
        rows.push_back({code(parsers::kErrorClassNames[i]),
                        steps.empty() ? "none: a dependency or a hub is at fault"
                                      : fmt::format("{}", fmt::join(steps, ", then "))});
    }
    return rows;
}

Rows attribution_rules() {
    Rows rows;
    for (const auto& row : analysis::attribution_rules())
        rows.push_back({code(row.id),
                        std::string(analysis::kAboutWords[static_cast<size_t>(row.about)]),
                        std::string(analysis::kShownWords[static_cast<size_t>(row.shown)]),
                        std::string(analysis::kWhereWords[static_cast<size_t>(row.where)]),
                        row.cause ? code(name_of(*row.cause)) : ""});
    return rows;
}

// Those that leave tests behind.
Rows slurm_states() {
    Rows rows;
    for (const slurm::StateRow& row : slurm::kStates)
        if (!row.meaning.empty())
            rows.push_back({code(row.name), std::string(row.meaning), std::string(row.advice)});
    return rows;
}

Rows states() { return names_with_prose(parsers::kStateNames); }
Rows module_outcomes() { return names_with_prose(parsers::kModuleOutcomeNames); }
Rows attempt_kinds() { return names_with_prose(kAttemptKindNames, 2); }
Rows porting_changes() { return names_with_prose(analysis::kChangeNames, 3); }
Rows blind_spots() {
    Rows rows;
    for (const auto& spot : reports::kBlindSpots)
        rows.push_back({code(spot.name), std::string(spot.words)});
    return rows;
}

// Neighbours with one factor in one row.
Rows ring_factors() {
    Rows rows;
    for (const auto& row : analysis::kRingFactors) {
        std::string factor = row.parts > 0 ? "(n − 1)/n" : fmt::format("{:g}", row.whole);
        if (row.parts > 1) factor.insert(0, fmt::format("{:g}", row.parts));
        if (rows.empty() || rows.back().at(1) != factor)
            rows.push_back({code(row.op), factor});
        else
            *rows.back().at(0) += ", " + code(row.op);
    }
    return rows;
}

Rows standings() {
    Rows rows;
    for (const auto& row : analysis::kStandings)
        rows.push_back({code(row.name), std::string(row.means)});
    return rows;
}

Rows change_classes() {
    Rows rows;
    for (const auto& row : analysis::kChangeClasses)
        rows.push_back({code(row.name), std::string(row.means), row.bad ? "yes" : "",
                        row.differs ? "" : "no", kProse});
    return rows;
}
Rows conditions() {
    constexpr std::array<const char*, 3> kValues{"a word", "a range of versions", "true or false"};
    Rows rows;
    for (const auto& row : analysis::kConditions)
        rows.push_back(
            {code(row.name), kValues[static_cast<size_t>(row.type)], std::string(row.means)});
    return rows;
}
Rows gap_kinds() { return names_with_prose(kGapKindNames, 2); }
Rows dialects() { return names_with_prose(parsers::kDialectNames); }

Rows judgements() {
    Rows rows;
    for (const auto& row : analysis::kJudgements)
        rows.push_back(
            {std::string(row.words), code(row.name), row.to_fix ? "yes" : "no", kProse, kProse});
    return rows;
}

Rows porting_columns() {
    Rows rows;
    for (const auto& row : reports::kColumns)
        rows.push_back({code(row.name), row.shim ? "on" : "off",
                        row.simulated.empty() ? "" : code(row.simulated),
                        row.fallback ? "on" : "off"});
    return rows;
}

Rows module_globs() {
    Rows rows;
    for (const FrameworkTraits& traits : kFrameworks) {
        std::vector<std::string> globs;
        for (const std::string_view glob : traits.modules)
            if (!glob.empty()) globs.push_back(code(glob));
        rows.push_back({std::string(traits.name), fmt::format("{}", fmt::join(globs, ", "))});
    }
    return rows;
}

Rows device_settings() {
    Rows rows;
    for (const auto& row : devices::kSettings) {
        const auto or_none = [](std::string_view name) {
            return name.empty() ? std::string("–") : code(name);
        };
        rows.push_back({code(row.name), or_none(row.variable), or_none(row.file_key),
                        std::string(row.allowed), code(row.fallback), std::string(row.meaning)});
    }
    return rows;
}

Rows recoveries() {
    Rows rows;
    for (const auto& row : devices::kRecoveries) {
        std::string actions;
        for (const auto action : devices::actions_for(row.error_class))
            actions.append(actions.empty() ? "" : ", ") += code(devices::row_of(action).name);
        rows.push_back({code(devices::name_of(row.error_class)), actions});
    }
    return rows;
}

Rows recovery_actions() {
    Rows rows;
    for (const auto& row : devices::kActions)
        rows.push_back({code(row.name), std::string(row.meaning)});
    return rows;
}

Rows policy() {
    Rows rows;
    for (const shim::Requested kind : shim::kRequested) {
        auto& row = rows.emplace_back();
        row.emplace_back(describe_requested(kind));
        for (const shim::Mode mode : {shim::Mode::full, shim::Mode::missing})
            for (const shim::Host host : shim::kHosts) {
                const shim::Answer answer = shim::resolve({kind}, host, false, mode);
                row.emplace_back(fmt::format("{}{}", format_place(answer),
                                             answer.override_on ? ", toggles the override" : ""));
            }
    }
    return rows;
}

Rows child_variables() {
    suites::Suite suite;
    plan::ChildSettings settings;
    settings.python = settings.shim_library = settings.activation = "/x/x";
    settings.simulate = "mps";
    settings.on_cpu = true;
    settings.device_library = {{"COMPAT_DEVICE", "cpu"}};
    plan::AttemptPaths paths;
    paths.id = "x";
    std::set<std::string> names;
    for (const auto& [name, value] : plan::child_variables(suite, settings)) names.insert(name);
    for (const auto& [name, value] : plan::child_command(suite, settings, {}, paths).env)
        names.insert(name);
    return names_with_prose(names);
}

}  // namespace compat::docs

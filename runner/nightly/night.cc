#include "runner/nightly/night.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "runner/analysis/comparison.h"
#include "runner/base/files.h"
#include "runner/base/secrets.h"
#include "runner/base/text.h"
#include "runner/display/columns.h"
#include "runner/site/last_night.h"

namespace compat::nightly {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kTestsShown = 10;   // of a cell, on a terminal
constexpr std::size_t kChangesShown = 6;  // of a test

ordered_json text_or_null(const std::string& text) {
    return text.empty() ? ordered_json() : ordered_json(text);
}

ordered_json run_json(const std::optional<site::BlameRun>& run) {
    if (!run) return nullptr;
    return {{"run", run->id},
            {"started", iso8601(run->started)},
            {"torch", run->torch},
            {"commit", run->commit}};
}

ordered_json changes_json(const std::optional<site::ChangedBetween>& changed) {
    if (!changed || !changed->known) return nullptr;
    ordered_json list = ordered_json::array();
    const auto value = [](const std::optional<std::string>& text) {
        return text ? ordered_json(*text) : ordered_json();
    };
    for (const auto& change : changed->environment)
        list.push_back({{"name", change.name},
                        {"before", value(change.baseline)},
                        {"now", value(change.run)}});
    return list;
}

ordered_json broken_json(const UnexpectedTest& test) {
    ordered_json json{{"test", test.id},
                      {"state", name_of(test.state)},
                      {"new", test.is_new},
                      {"flaky", test.is_flaky}};
    json["error"] = test.blame ? text_or_null(test.blame->error) : ordered_json();
    json["first_bad"] = test.blame ? run_json(test.blame->first_bad) : ordered_json();
    json["last_good"] = test.blame ? run_json(test.blame->last_good) : ordered_json();
    json["changed"] = test.blame ? changes_json(test.blame->changed) : ordered_json();
    return json;
}

ordered_json cell_json(const CellResult& result) {
    ordered_json json{{"suite", result.cell.name},
                      {"column", result.cell.column},
                      {"torch", text_or_null(result.cell.torch)},
                      {"torch_version", text_or_null(result.cell.torch_version)},
                      {"series", result.cell.series},
                      {"began", text_or_null(result.began)},
                      {"run", text_or_null(result.run)},
                      {"baseline", text_or_null(result.baseline)},
                      {"verdict", mask_own_secrets(result.verdict())},
                      {"problem", text_or_null(mask_own_secrets(result.problem))}};
    json["exit_code"] = result.begun ? ordered_json(static_cast<int>(result.code)) : ordered_json();
    json["seconds"] = result.seconds;
    ordered_json states = ordered_json::object(), changes = ordered_json::object();
    if (result.stored) {
        for (std::size_t i = 0; i < parsers::kStateNames.size(); ++i)
            states[std::string(parsers::kStateNames[i])] = result.stored->states[i];
        json["used_device"] = {{"passed", result.stored->exercised_good},
                               {"broken", result.stored->exercised_broken}};
    } else {
        json["used_device"] = nullptr;
    }
    if (!result.baseline.empty())
        for (std::size_t i = 0; i < analysis::kChangeClasses.size(); ++i)
            changes[std::string(analysis::kChangeClasses[i].name)] = result.changes[i];
    json["states"] = std::move(states);
    json["changes"] = std::move(changes);
    json["broken"] = result.all_broken;
    json["flaky"] = result.flaky;
    json["tests"] = ordered_json::array();
    for (const UnexpectedTest& test : result.broken) json["tests"].push_back(broken_json(test));
    return json;
}

ordered_json newest_torch_json(const std::optional<NewestTorch>& newest) {
    if (!newest) return nullptr;
    const std::string problem = newest->problem ? to_line(*newest->problem) : "";
    return {{"version", text_or_null(newest->version)},
            {"listed", text_or_null(newest->listed)},
            {"problem", text_or_null(mask_own_secrets(problem))}};
}

ordered_json pair_json(const TorchPair& pair) {
    const auto side = [](const TorchPair::Side& one) {
        return ordered_json{{"torch", one.torch}, {"run", one.run}};
    };
    const auto state = [](const std::optional<parsers::State>& one) {
        return one ? ordered_json(name_of(*one)) : ordered_json();
    };
    ordered_json json{{"suite", pair.suite},
                      {"column", pair.column},
                      {"older", side(pair.older)},
                      {"newer", side(pair.newer)}};
    for (std::size_t i = 0; i < kTorchChanges.size(); ++i)
        json[std::string(kTorchChanges[i])] = pair.counts[i];
    json["tests"] = ordered_json::array();
    for (const TorchDifference& test : pair.tests)
        json["tests"].push_back({{"test", test.id},
                                 {"change", kTorchChanges[static_cast<std::size_t>(test.change)]},
                                 {"older", state(test.older)},
                                 {"newer", state(test.newer)},
                                 {"older_error", text_or_null(test.older_error)},
                                 {"newer_error", text_or_null(test.newer_error)}});
    return json;
}

std::string describe_changes(const site::BlameColumn& blame) {
    if (!blame.last_good) return "no good run is stored";
    if (!blame.changed || !blame.changed->known) return "what changed is not known";
    const auto& all = blame.changed->environment;
    if (all.empty()) return "nothing changed that the fingerprint holds";
    std::string words = "changed: ";
    for (std::size_t i = 0; i < std::min(all.size(), kChangesShown); ++i)
        words += fmt::format("{}{} {} -> {}", i == 0 ? "" : ", ", all[i].name,
                             all[i].baseline.value_or("none"), all[i].run.value_or("none"));
    if (all.size() > kChangesShown)
        words += fmt::format(", and {} more", all.size() - kChangesShown);
    return words;
}

// Columns as wide as their widest text, two spaces apart; numbers to the right.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t texts) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], display::columns_of(row[i]));
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool is_last = i + 1 == row.size();
            const std::string fill(is_last ? 0 : widths[i] - display::columns_of(row[i]), ' ');
            line += i < texts || is_last ? row[i] + fill : fill + row[i];
            if (!is_last) line += "  ";
        }
        text += line + '\n';
    }
    return text;
}

std::vector<std::string> row_of(const CellResult& result) {
    std::vector<std::string> row{printable(result.cell.name), printable(result.cell.title())};
    if (result.stored) {
        const auto& states = result.stored->states;
        std::int64_t tests = 0, broke = 0;
        for (std::size_t i = 0; i < states.size(); ++i) {
            tests += states[i];
            const auto kind = analysis::kind_of(static_cast<parsers::State>(i));
            if (kind == analysis::StateKind::broken) broke += states[i];
        }
        const auto used = result.stored->exercised_good + result.stored->exercised_broken;
        row.push_back(std::to_string(tests));
        row.push_back(std::to_string(broke));
        row.push_back(used == 0 ? "-" : fmt::format("{}/{}", result.stored->exercised_good, used));
    } else {
        row.insert(row.end(), {"-", "-", "-"});
    }
    row.push_back(result.baseline.empty() ? "-" : std::to_string(result.regressed));
    row.push_back(result.baseline.empty() ? "-" : std::to_string(result.fixed));
    row.push_back(printable(result.verdict()));
    return row;
}

// The tests of a cell that a list shows, in their order.
std::vector<const UnexpectedTest*> listed(const CellResult& result, bool flaky) {
    std::vector<const UnexpectedTest*> tests;
    for (const UnexpectedTest& test : result.broken)
        if (test.is_flaky == flaky && (flaky || test.is_new)) tests.push_back(&test);
    return tests;
}

// Equal for the columns of a suite in which the same tests broke after the same changes.
std::string event_of(const CellResult& result, const std::vector<const UnexpectedTest*>& tests) {
    std::string event = result.cell.name;
    for (const UnexpectedTest* test : tests)
        event +=
            fmt::format("\n{}\n{}", test->id, test->blame ? describe_changes(*test->blame) : "");
    return event;
}

std::string tests_text(const std::vector<const UnexpectedTest*>& tests, bool flaky) {
    std::string text;
    for (std::size_t i = 0; i < std::min(tests.size(), kTestsShown); ++i) {
        text += fmt::format("  {}\n", printable(tests[i]->id));
        if (!tests[i]->blame) continue;
        const site::BlameColumn& blame = *tests[i]->blame;
        if (!blame.error.empty()) text += fmt::format("      {}\n", printable(blame.error));
        if (flaky)
            text += fmt::format("      {} of its last {} show it\n", blame.ledger.flaky,
                                counted(static_cast<long>(blame.ledger.window), "run"));
        else
            text += fmt::format("      first bad {}{}; {}\n", blame.first_bad->id,
                                blame.last_good ? ", last good " + blame.last_good->id : "",
                                printable(describe_changes(blame)));
    }
    if (tests.size() > kTestsShown)
        text += fmt::format("  and {} more: {} lists them\n", tests.size() - kTestsShown,
                            site::kNightSummary);
    return text;
}

// The tests of each cell; of cells in which the same happened, once.
std::string list_text(const std::vector<CellResult>& cells, bool flaky) {
    std::map<std::string, std::string> seen;  // event to the column that shows it
    std::string text;
    for (const CellResult& cell : cells) {
        const auto tests = listed(cell, flaky);
        if (tests.empty()) continue;
        text += fmt::format("{}, {}:\n", printable(cell.cell.name), printable(cell.cell.title()));
        const auto [at, is_new] = seen.emplace(event_of(cell, tests), cell.cell.title());
        text += is_new || flaky ? tests_text(tests, flaky)
                                : fmt::format("  {} and changes as in {}\n",
                                              counted(static_cast<long>(tests.size()), "test"),
                                              printable(at->second));
    }
    return text;
}

std::string pair_text(const TorchPair& pair) {
    std::vector<std::string> counts;
    for (std::size_t i = 0; i < kTorchChanges.size(); ++i)
        if (pair.counts[i] > 0)
            counts.push_back(fmt::format("{} {}", pair.counts[i], kTorchChanges[i]));
    std::string text =
        fmt::format("{}, {}, {} and {}: {}\n", printable(pair.suite), printable(pair.column),
                    printable(pair.older.torch), printable(pair.newer.torch),
                    counts.empty() ? "no difference" : fmt::format("{}", fmt::join(counts, ", ")));
    const auto state = [](const std::optional<parsers::State>& one) {
        return one ? name_of(*one) : "not there";
    };
    for (std::size_t i = 0; i < std::min(pair.tests.size(), kTestsShown); ++i) {
        const TorchDifference& test = pair.tests[i];
        text +=
            fmt::format("  {}  {}  {} → {}\n", kTorchChanges[static_cast<std::size_t>(test.change)],
                        printable(test.id), state(test.older), state(test.newer));
        for (const auto& [side, error] :
             {std::pair(&pair.older, &test.older_error), std::pair(&pair.newer, &test.newer_error)})
            if (!error->empty())
                text += fmt::format("      {}: {}\n", printable(side->torch), printable(*error));
    }
    if (pair.tests.size() > kTestsShown)
        text += fmt::format("  and more: {} lists {} of them\n", site::kNightSummary,
                            pair.tests.size());
    if (!pair.tests.empty())
        text += fmt::format(
            "  `runner compare {} {}` shows all; `runner show {} TEST --issue` "
            "prints a report for PyTorch\n",
            pair.older.run, pair.newer.run, pair.newer.run);
    return text;
}

}  // namespace

std::string CellResult::verdict() const {
    if (!begun) return "not begun";
    if (run.empty()) return "did not run: " + problem;
    if (!problem.empty()) return problem;
    const auto counted_tests = [](std::size_t n, std::string_view what) {
        return fmt::format("{} {}", counted(static_cast<long>(n), "test"), what);
    };
    switch (code) {
        case ExitCode::ok:
            return flaky > 0 ? counted_tests(flaky, flaky == 1 ? "is flaky" : "are flaky")
                             : "as expected";
        case ExitCode::unexpected_results:
            if (all_broken == flaky) return "unexpected results";
            return counted_tests(all_broken - flaky, "broke unexpectedly") +
                   (flaky > 0 ? fmt::format(", {} flaky", flaky) : "");
        case ExitCode::interrupted:
            return "interrupted";
        case ExitCode::unaccounted:
            return "test counts do not add up";
        case ExitCode::nothing_selected:
            return "no test selected";
        case ExitCode::usage:
        case ExitCode::infrastructure:
            break;
    }
    return "the run could not be completed";
}

std::string summary_json(const Night& night) {
    ordered_json json{{"format", kNightFormat},
                      {"file", night.file.string()},
                      {"started", iso8601(night.started)},
                      {"started_ms", night.started.time_since_epoch().count()}};
    json["finished"] = night.finished ? ordered_json(iso8601(*night.finished)) : ordered_json();
    json["exit_code"] =
        night.finished ? ordered_json(static_cast<int>(night.code)) : ordered_json();
    json["site"] = text_or_null(night.site.string());
    json["problems"] = ordered_json::array();
    for (const auto& problem : night.problems)
        json["problems"].push_back(mask_own_secrets(problem));
    json["newest_torch"] = newest_torch_json(night.newest_torch);
    json["cells"] = ordered_json::array();
    for (const CellResult& cell : night.cells) json["cells"].push_back(cell_json(cell));
    json["torch_pairs"] = ordered_json::array();
    for (const TorchPair& pair : night.torch_pairs) json["torch_pairs"].push_back(pair_json(pair));
    return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

namespace {

std::map<std::string, std::string> runs_of(const nlohmann::json& summary) {
    std::map<std::string, std::string> runs;
    for (const auto& cell : summary.value("cells", nlohmann::json::array()))
        if (cell.is_object() && cell.contains("began") && cell["began"].is_string() &&
            cell.contains("series") && cell["series"].is_string())
            runs.emplace(cell["series"], cell["began"]);
    return runs;
}

}  // namespace

Expected<EarlierNight> read_summary(const fs::path& file) {
    const auto text = TRY(read_file(file));
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const bool is_one = json.is_object() && json.contains("started_ms") &&
                        json["started_ms"].is_number_integer() && json.contains("file") &&
                        json["file"].is_string() && json.contains("finished");
    if (!is_one)
        return fail(ErrorKind::usage, "this is no summary of a night",
                    "delete it, or leave --resume out", file.string());
    const nlohmann::json::json_pointer newest("/newest_torch/version");
    const bool is_known = json.contains(newest) && json[newest].is_string();
    return EarlierNight{json["file"].get<std::string>(),
                        WallTime(Milliseconds(json["started_ms"].get<std::int64_t>())),
                        !json["finished"].is_null(),
                        is_known ? json[newest].get<std::string>() : "", runs_of(json)};
}

std::string summary_text(const Night& night) {
    std::vector<std::vector<std::string>> rows{
        {"suite", "column", "tests", "broke", "used device", "regressed", "fixed", "verdict"}};
    for (const CellResult& cell : night.cells) rows.push_back(row_of(cell));
    constexpr std::size_t kTexts = 2;
    std::string text = table_text(rows, kTexts);
    constexpr std::array<std::pair<bool, const char*>, 2> kLists{
        {{false, "\nbroken since this night:\n"},
         {true, "\nflaky, so that they do not fail the night:\n"}}};
    for (const auto& [flaky, heading] : kLists) {
        const std::string tests = list_text(night.cells, flaky);
        if (!tests.empty()) text += heading + tests;
    }
    if (!night.torch_pairs.empty()) text += "\nversions of torch side by side:\n";
    for (const TorchPair& pair : night.torch_pairs) text += pair_text(pair);
    return text;
}

}  // namespace compat::nightly

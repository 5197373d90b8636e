#include "reports/porting/pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/attribution_parts.h"
#include "reports/markdown/fitting.h"
#include "reports/markdown/text.h"
#include "runner/base/text.h"

namespace compat::reports {

using parsers::State;

namespace {

constexpr size_t kLongestLine = 200;
constexpr size_t kLongestInput = 1000;
constexpr size_t kUnloadedShown = 20;
// Causes to fix in the table at the top of the page, and below it folded.
constexpr std::ptrdiff_t kFirstCauses = 10, kFoldedCauses = 90;

std::string title_of(const CauseOfDifferences& cause) {
    return cause.trusted_title ? cause.title : code(cause.title, kLongestLine);
}

std::string advice_of(const CauseOfDifferences& cause) {
    std::string text =
        cause.equivalent.empty() ? cause.advice : code(cause.equivalent) + " instead";
    if (!cause.issue.empty())
        text += fmt::format("{}{}", text.empty() ? "" : "; ", linked_code("upstream", cause.issue));
    return text;
}

std::string format_obstacles_behind(const CauseOfDifferences& cause) {
    std::vector<std::string> parts;
    for (const ObstacleBehind& obstacle : cause.behind)
        parts.push_back(fmt::format("{} ({})", code(obstacle.title, kLongestLine),
                                    counted(obstacle.tests, "test")));
    return parts.empty() ? "" : fmt::format("; behind it: {}", fmt::join(parts, ", "));
}

std::string describe_judgement_and_devices(const CauseOfDifferences& cause) {
    return fmt::format("{}{}", describe_judgement(cause),
                       breaks_alike(cause) ? ", on CUDA and MPS alike" : "");
}

// The runs that say what else stands in a test's way.
std::string describe_kept_going(const PortingView& view) {
    std::vector<std::string> runs;
    for (const FurtherRun& kept : view.kept_going)
        runs.push_back(fmt::format("[{}]({})", row_of(kept.column).brief, kept.report_url));
    if (runs.empty()) return {};
    return fmt::format(
        "\nWhat else stands in a test's way, the runs that keep going show (`--keep-going`): {}.\n",
        fmt::join(runs, ", "));
}

// `first`: how many of the places at which tests broke first.
std::string places_of(const CauseOfDifferences& cause, size_t first) {
    const auto words = [](const std::vector<BreakingPlace>& places, size_t count) {
        std::vector<std::string> parts;
        for (size_t i = 0; i < std::min(count, places.size()); ++i)
            parts.push_back(fmt::format("{} ({})", linked_code(places[i].place, places[i].url),
                                        counted(places[i].tests, "test")));
        return fmt::format("{}", fmt::join(parts, ", "));
    };
    const std::string behind = words(cause.places_behind, kExamples);
    return fmt::format("{}{}{}", words(cause.places, first),
                       cause.places.empty() || behind.empty() ? "" : "; ",
                       behind.empty() ? "" : "also behind it: " + behind);
}

std::vector<const ColumnRow*> columns_with_run(const PortingView& view) {
    std::vector<const ColumnRow*> rows;
    for (const ColumnRow& row : kColumns)
        if (view.at(row.column).run) rows.push_back(&row);
    return rows;
}

// "CUDA 3, MPS 4, MPS without fallback 5"
std::string per_column(const PerColumn<std::int64_t>& counts) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < counts.size(); ++i)
        if (counts[i] > 0) parts.push_back(fmt::format("{} {}", kColumns[i].brief, counts[i]));
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string headline(const PortingView& view) {
    std::string text =
        fmt::format("# Porting {}: {}\n\n", code(view.suite), describe_verdict(view));
    const auto run = std::find_if(view.columns.begin(), view.columns.end(),
                                  [](const PortingColumn& column) { return column.run; });
    if (run == view.columns.end()) return text;
    text += fmt::format("{}{}torch {}, started {}. ",
                        run->run->commit.empty() ? "" : "Commit " + code(run->run->commit),
                        run->run->commit.empty() ? ""
                        : run->run->dirty        ? " (changed since), "
                                                 : ", ",
                        code(run->run->torch), iso8601(run->run->started));
    return text +
           "The devices are **simulated**: tensors are on them, what a real device refuses is "
           "refused in its words, and numbers are the CPU's. Whatever a real device computes "
           "otherwise, or does asynchronously, does not show here.\n";
}

// The command that completes or makes the column.
std::string command_for(const ColumnRow& row, const PortingColumn& column) {
    if (column.run) return "runner resume " + column.run->id;
    if (!column.command.empty()) return column.command;
    if (row.simulated.empty()) return "runner SUITE --shim off";
    return fmt::format(
        "runner SUITE --simulate {}{}{}", row.simulated,
        row.device().takes_cuda_code() ? fmt::format(" --policy {}", row.policy) : "",
        row.fallback ? "" : " --fallback off");
}

std::string incomplete_further_runs(const PortingView& view) {
    std::string text;
    const auto add = [&](const FurtherRun& further, std::string_view how) {
        if (!further.run.complete)
            text += fmt::format("- {}, {}, is not complete: {}\n", row_of(further.column).words,
                                how, code("runner resume " + further.run.id, kLongestInput));
    };
    for (const FurtherRun& kept : view.kept_going) add(kept, "going on where it refuses");
    if (view.random) add(*view.random, "with other random numbers");
    return text;
}

std::string missing_runs(const PortingView& view) {
    std::string text;
    for (const ColumnRow& row : kColumns) {
        const PortingColumn& column = view.at(row.column);
        if (column.why_missing.empty()) continue;
        text += fmt::format("- {} {} ({}): {}\n", row.words,
                            column.run ? "is not complete" : "is missing", code(column.why_missing),
                            code(command_for(row, column), std::string::npos));
    }
    text += incomplete_further_runs(view);
    if (text.empty()) return text;
    std::vector<std::string> runs;
    for (const ColumnRow& row : kColumns)
        runs.push_back(view.at(row.column).run ? view.at(row.column).run->id : "RUN");
    for (const FurtherRun& kept : view.kept_going) runs.push_back(kept.run.id);
    if (view.random) runs.push_back(view.random->run.id);
    return fmt::format("\n**Not all runs are here:**\n\n{}\nThen compare again: {}\n", text,
                       code(fmt::format("runner porting --runs {}", fmt::join(runs, ","))));
}

std::string input_differences(const PortingView& view) {
    if (view.input_differences.empty()) return {};
    std::string text =
        "\n**The runs are not alike:** this may explain differences, instead of the device.\n\n";
    for (const InputDifference& input : view.input_differences)
        text += fmt::format("- {}\n", code(describe_input_difference(input), kLongestInput));
    return text;
}

// Most of them are alike in all columns, which is no difference and below.
std::string unloaded_modules_of(const PortingView& view) {
    if (view.unloaded.empty()) return {};
    std::string text = fmt::format(
        "\n**Modules that could not be loaded:** {}. Their tests did not run there.\n\n"
        "| module | in | error |\n|---|---|---|\n",
        describe_unloaded(view));
    const size_t shown = std::min(view.unloaded.size(), kUnloadedShown);
    for (size_t i = 0; i < shown; ++i) {
        const UnloadedModule& module = view.unloaded[i];
        text += row(linked_code(module.module, module.url), format_columns(module, view),
                    code(module.key_line, kLongestLine)) +
                "\n";
    }
    if (shown < view.unloaded.size())
        text += fmt::format("\nand {} more, in {}\n", view.unloaded.size() - shown, kPortingFile);
    return text;
}

std::string unused_accelerators(const PortingView& view) {
    std::vector<std::string_view> unused;
    for (const ColumnRow* row : columns_with_run(view))
        if (row->shim && view.at(row->column).used_accelerator == 0) unused.push_back(row->words);
    if (unused.empty()) return {};
    if (std::any_of(view.causes.begin(), view.causes.end(), asks_for_absent_device))
        return fmt::format(
            "\n**No test used an accelerator** ({}): the code asks for CUDA by name, which is not "
            "there.\n",
            fmt::join(unused, "; "));
    std::string text = fmt::format(
        "\n**No test used an accelerator** ({}): a pass says nothing about it. To run the tests on "
        "it:\n\n",
        fmt::join(unused, "; "));
    for (const WayToUseTheDevice& way : kWaysToUseTheDevice)
        text += fmt::format("- {}: {}\n", code(way.option), way.words);
    return text;
}

std::string paragraph(const std::string& sentence) {
    return sentence.empty() ? sentence : fmt::format("\n{}.\n", sentence);
}

std::string table_of_columns(const PortingView& view) {
    std::vector<size_t> states;
    for (size_t i = 0; i < parsers::kStateNames.size(); ++i)
        if (std::any_of(view.columns.begin(), view.columns.end(),
                        [&](const PortingColumn& c) { return c.totals.states[i] > 0; }))
            states.push_back(i);
    std::string text = "| run | tests |", rule = "|---|---:|";
    for (const size_t state : states) {
        text += fmt::format(" {} |", parsers::kStateNames[state]);
        rule += "---:|";
    }
    text += fmt::format(" differ from plain CPU | {} | used an accelerator | time |\n",
                        fmt::join(kGroupWords, " | ")) +
            rule + "---:|---:|---:|---:|---:|---:|---:|\n";
    for (const ColumnRow* at : columns_with_run(view)) {
        const PortingColumn& column = view.at(at->column);
        text +=
            fmt::format("| [{}]({}) | {} |", at->words, column.report_url, column.totals.collected);
        for (const size_t state : states) text += fmt::format(" {} |", column.totals.states[state]);
        if (at->column == kBaseline || !view.compared)
            text += " | | | | |";
        else
            text += fmt::format(" {} | {} | {} | {} | {} |", column.differ,
                                column.count(Group::loss), column.count(Group::idle),
                                column.count(Group::gain), column.count(Group::other));
        text += fmt::format(" {} | {} |\n", at->shim ? std::to_string(column.used_accelerator) : "",
                            format_duration(std::chrono::duration<double>(column.run->duration_s)));
    }
    text += "\n";
    for (const ColumnRow* at : columns_with_run(view))
        text += fmt::format("- {}: {}.\n", at->words, at->assumes);
    text += view.accounting.closed
                ? "\nEvery test of every run is equal, changed, added or missing, and every "
                  "difference has one cause.\n"
                : fmt::format("\n**Not all accounted for: {}.**\n",
                              counted(static_cast<std::int64_t>(view.accounting.mismatches.size()),
                                      "mismatch"));
    std::int64_t alike = 0;
    for (const PortingColumn& column : view.columns) alike = std::max(alike, column.broken_alike);
    if (alike > 0)
        text += fmt::format(
            "\n{} alike on plain CPU and on a device, which is no difference: see plain CPU's "
            "report.{}\n",
            alike == 1 ? std::string("1 test breaks") : fmt::format("{} tests break", alike),
            view.upstream.empty()
                ? ""
                : fmt::format(" Attribution: {} by the same errors, `upstream`.",
                              view.upstream.size() == 1
                                  ? std::string("1 test fails")
                                  : fmt::format("{} tests fail", view.upstream.size())));
    return text;
}

// The causes from one index to another, which come first in the view.
std::string table_of_causes(const PortingView& view, std::ptrdiff_t from, std::ptrdiff_t to) {
    std::string text =
        "| | unblocks | tests | what | where | judged | what to do |\n"
        "|---:|---:|---|---|---|---|---|\n";
    for (std::ptrdiff_t i = from; i < to; ++i) {
        const CauseOfDifferences& cause = view.causes[static_cast<size_t>(i)];
        text += row(i + 1, describe_unblocked(cause), per_column(cause.counts), title_of(cause),
                    places_of(cause, 1), describe_judgement_and_devices(cause), advice_of(cause)) +
                "\n";
    }
    return text;
}

std::string first_causes(const PortingView& view) {
    const auto all = std::count_if(view.causes.begin(), view.causes.end(), is_to_fix);
    if (all == 0) return {};
    const auto shown = std::min(all, kFirstCauses), folded = std::min(all, kFoldedCauses);
    std::string text = "\n## What to fix first\n\n" + table_of_causes(view, 0, shown) +
                       "\nA cause unblocks the tests that pass once it is fixed. What breaks on "
                       "CUDA and MPS alike "
                       "is the code's own error and comes first.\n";
    if (folded > shown)
        text += fmt::format("\n<details><summary>{} more</summary>\n\n{}\n</details>\n",
                            all - shown, table_of_causes(view, shown, folded));
    return text + describe_kept_going(view);
}

// "passed on CPU, CUDA; errored on MPS"
std::string format_states_by_column(const PortingView& view, const PortedTest& test) {
    std::vector<std::pair<std::string_view, std::string>> parts;
    for (const ColumnRow& row : kColumns) {
        if (!view.at(row.column).run) continue;
        const auto state = test.states[static_cast<size_t>(row.column)];
        const std::string_view word = state ? name_of(*state) : "missing";
        const auto at = std::find_if(parts.begin(), parts.end(),
                                     [&](const auto& part) { return part.first == word; });
        if (at == parts.end())
            parts.emplace_back(word, row.brief);
        else
            at->second += fmt::format(", {}", row.brief);
    }
    std::vector<std::string> words;
    for (const auto& [state, columns] : parts)
        words.push_back(fmt::format("{} on {}", state, columns));
    return fmt::format("{}", fmt::join(words, "; "));
}

// `shown_line`: the line above it, which is not repeated.
std::string example(const PortingView& view, size_t cause, const PortedTest& test,
                    std::string& shown_line) {
    std::string text = fmt::format("- {} ({})", linked_code(test.id, test.url),
                                   format_states_by_column(view, test));
    const Difference& difference =
        *std::find_if(test.differences.begin(), test.differences.end(),
                      [&](const Difference& d) { return d.cause == cause; });
    if (!difference.key_line.empty() && difference.key_line != shown_line)
        text += ": " + code(difference.key_line, kLongestLine);
    shown_line = difference.key_line;
    if (!difference.place.empty())
        text += ", at " + linked_code(difference.place, difference.place_url);
    if (const std::string words = describe_streams(difference); !words.empty())
        text += "; " + words;
    if (!difference.reproduce.empty()) text += fmt::format("\n  {}", code(difference.reproduce));
    return text + "\n";
}

Item section_of(const PortingView& view, size_t index) {
    const CauseOfDifferences& cause = view.causes[index];
    Item item;
    item.text = fmt::format("### {}\n\n", title_of(cause));
    if (!cause.judgement.empty())
        item.text += fmt::format("Judged: {}. ", describe_judgement_and_devices(cause));
    item.text += fmt::format("{}: {}.", counted(cause.tests, "test"), per_column(cause.counts));
    if (cause.group == Group::loss)
        item.text += fmt::format(" Unblocks {}{}.", describe_unblocked(cause),
                                 format_obstacles_behind(cause));
    if (!cause.diagnosis.empty())
        item.text +=
            fmt::format(" Cause {} ({})", code(cause.diagnosis), cause_means(cause.diagnosis));
    if (!cause.rule.empty()) item.text += fmt::format(", rule {}", code(cause.rule));
    if (!cause.diagnosis.empty()) item.text += ".";
    if (cause.attribution && !cause.attribution->rule.empty())
        item.text += fmt::format(" Attribution {}.", describe_attribution(*cause.attribution));
    item.text += "\n\n";
    if (const std::string advice = advice_of(cause); !advice.empty())
        item.text += "What to do: " + advice + ".\n\n";
    if (const std::string places = places_of(cause, kExamples); !places.empty())
        item.text += fmt::format("Where: {}.\n\n", places);
    std::string shown_line = cause.title;
    std::string examples;
    for (const size_t test : cause.examples)
        examples += example(view, index, view.tests[test], shown_line);
    if (cause.tests > static_cast<std::int64_t>(cause.examples.size()))
        examples += fmt::format("- and {} more, in {}\n",
                                cause.tests - static_cast<std::int64_t>(cause.examples.size()),
                                kPortingFile);
    item.detail = [text = examples + "\n"] { return text; };
    return item;
}

std::string describe_fallbacks(const PortingView& view) {
    return fmt::format(
        "{} between MPS with fallback and without. These operators are missing on MPS: without "
        "fallback they raise, with it (`PYTORCH_ENABLE_MPS_FALLBACK=1`) each call copies to the "
        "CPU "
        "and back.\n\n| tests that need fallback | tests that called it | calls | operator | for "
        "example |\n|---:|---:|---:|---|---|\n",
        view.decided_by_fallback == 1 ? std::string("1 test differs")
                                      : fmt::format("{} tests differ", view.decided_by_fallback));
}

struct SectionRow {
    std::string_view title;
    std::string_view items;
    Usefulness usefulness;
    bool (*includes)(const CauseOfDifferences&);
};
constexpr SectionRow kSections[] = {
    {"Tests that break on a device", "causes to fix", {.items = 90, .details = 60}, is_to_fix},
    {"Tests that break for reasons outside the port",
     "causes outside the port",
     {.items = 70, .details = 40},
     [](const CauseOfDifferences& c) { return c.group == Group::loss && !is_to_fix(c); }},
    {"Tests that do not run on a device",
     "reasons why tests do not run",
     {.items = 65, .details = 35},
     [](const CauseOfDifferences& c) { return c.group == Group::idle; }},
    {"Gains: tests that only work on a device",
     "gains",
     {.items = 60, .details = 30},
     [](const CauseOfDifferences& c) { return c.group == Group::gain; }},
    {"Other differences",
     "other differences",
     {.items = 55, .details = 25},
     [](const CauseOfDifferences& c) { return c.group == Group::other; }},
};

}  // namespace

void porting_markdown(const PortingView& view, size_t max_bytes, const Sink& sink) {
    Document page(max_bytes);
    page.head = headline(view) + unloaded_modules_of(view) + missing_runs(view) +
                input_differences(view) + unused_accelerators(view) +
                paragraph(describe_generated(view)) + cuda_uses_markdown(view.cuda_uses) + "\n" +
                table_of_columns(view) + first_causes(view);
    Section& mismatches = page.open("Accounting does not close", "mismatches", {.items = 100});
    for (const AccountingMismatch& m : view.accounting.mismatches)
        page.add(mismatches, {fmt::format("- {}: {}\n", m.module, code(m.message))});
    for (const SectionRow& row : kSections) {
        Section& section = page.open(std::string(row.title), std::string(row.items), row.usefulness,
                                     fmt::format("examples of {}", row.items));
        for (size_t i = 0; i < view.causes.size(); ++i)
            if (row.includes(view.causes[i])) page.add(section, section_of(view, i));
        if (row.includes == is_to_fix) {
            Section& fallback =
                page.open("What fallback changes", "operators that fall back", {.items = 80});
            fallback.intro = describe_fallbacks(view);
            for (const FallbackView& f : view.fallbacks)
                page.add(fallback, {reports::row(f.depend, f.tests, f.count, code(f.symbol),
                                                 linked_code(f.example, f.url)) +
                                    "\n"});
        }
    }
    page.write(sink);
}

}  // namespace compat::reports

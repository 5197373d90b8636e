// A comparison for a terminal and as a Markdown page. Both show the same parts in the same order.
#include "runner/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/compare/compare.h"
#include "reports/markdown/text.h"
#include "reports/overview/blind_spots.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

constexpr std::size_t kLongestTitle = 300;
constexpr std::size_t kEnvironmentShown = 8;  // in a run's report
constexpr std::size_t kTestsOfGroup = 100;    // of a group on a page

std::string short_line(std::string_view text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view title = first_bytes(line, kLongestTitle);
    return compat::printable(std::string(title) + (title.size() < line.size() ? "…" : ""));
}

std::string format_state(const std::optional<parsers::State>& state) {
    return state ? std::string(name_of(*state)) : "not there";
}

std::string states_of(const ChangedTest& test) {
    return fmt::format("{} → {}", format_state(test.baseline), format_state(test.run));
}

std::string format_run(const ComparedRun& run) {
    return fmt::format("{}  started {}{}{}  {}, {}  ({})", run.id, run.started,
                       run.torch.empty() ? "" : "  torch " + run.torch,
                       run.complete ? "" : "  not complete", counted(run.modules, "module"),
                       counted(run.tests, "test"), run.way);
}

// The run's blind spots on a line; empty: none.
std::string blind_line(const ComparedRun& run, std::string_view before) {
    return run.blind_spots.empty()
               ? std::string{}
               : fmt::format("{}{}\n", before, format_blind_spots(run.blind_spots));
}

std::string format_value(const std::optional<std::string>& value) {
    return value ? (value->empty() ? "\"\"" : short_line(*value)) : "none";
}

std::string describe_drop(const analysis::CountDrop& drop) {
    return fmt::format("{} fewer than the baseline's {}; past runs differ by {}",
                       counted(drop.baseline - drop.run, drop.what), drop.baseline, drop.spread);
}

// "2 regressed, 1 fixed, 40 unchanged": classes that have a test.
std::string format_counts(const Comparison& c) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < c.counts.size(); ++i)
        if (c.counts[i] > 0)
            words.push_back(fmt::format("{} {}", c.counts[i], analysis::kChangeClasses[i].name));
    return words.empty() ? c.not_asked_for > 0 ? "no test in both runs" : "no test in either run"
                         : fmt::format("{}", fmt::join(words, ", "));
}

std::string describe_noise(const Comparison& c) {
    if (c.noise_runs == 0) return {};
    return fmt::format("noise: the result of {} changed in {} that differ in nothing",
                       counted(c.noisy_tests, "test"), counted(c.noise_runs, "run"));
}

// A label that tells the column from the others: how it ran, or its id.
std::string label_of(const CompareView& view, const Comparison& column) {
    const auto alike = std::count_if(view.columns.begin(), view.columns.end(),
                                     [&](const auto& c) { return c.run.way == column.run.way; });
    return alike == 1 ? column.run.way : column.run.id;
}

// The classes that have a test, side by side for all columns.
std::string class_table(const CompareView& view) {
    std::string text;
    for (std::size_t i = 0; i < view.columns.size(); ++i)
        fmt::format_to(std::back_inserter(text), "[{}] {}\n", i + 1,
                       label_of(view, view.columns[i]));
    fmt::format_to(std::back_inserter(text), "{:<24}", "");
    for (std::size_t i = 0; i < view.columns.size(); ++i)
        fmt::format_to(std::back_inserter(text), "{:>9}", fmt::format("[{}]", i + 1));
    for (std::size_t i = 0; i < analysis::kChangeClasses.size(); ++i) {
        if (std::all_of(view.columns.begin(), view.columns.end(),
                        [&](const Comparison& c) { return c.counts[i] == 0; }))
            continue;
        fmt::format_to(std::back_inserter(text), "\n{:<24}", analysis::kChangeClasses[i].name);
        for (const Comparison& c : view.columns)
            fmt::format_to(std::back_inserter(text), "{:>9}", c.counts[i]);
    }
    return text + "\n";
}

std::string describe_fail_on(const CompareView& view) {
    std::vector<std::string_view> names;
    for (const ChangeClass c : view.fail_on) names.push_back(name_of(c));
    return fmt::format("--fail-on {}: {}", fmt::join(names, ","),
                       view.fails() ? "there are such tests" : "there are none");
}

std::string describe_unknown_environment() {
    return "the environment of a run is not known: it was imported, or an older runner stored it";
}

// "suite_error: KeyError: 'x'"; "before: " where the run itself says nothing of it.
std::string title_of(const ChangeGroup& group) {
    const bool is_past =
        group.change == ChangeClass::fixed || group.change == ChangeClass::newly_run;
    return fmt::format("{}{}{}", is_past ? "before: " : "",
                       group.cause ? std::string(name_of(*group.cause)) + ": " : "",
                       short_line(group.title));
}

// The groups of one class, which begin at `at`; moves `at` behind them.
std::vector<const ChangeGroup*> groups_of_class(const Comparison& c, std::size_t& at) {
    std::vector<const ChangeGroup*> groups;
    const ChangeClass first = c.groups[at].change;
    while (at < c.groups.size() && c.groups[at].change == first) groups.push_back(&c.groups[at++]);
    return groups;
}

std::string class_head(const Comparison& c, ChangeClass change, std::size_t causes) {
    return fmt::format("{}: {}, {} ({})", name_of(change), counted(c.count(change), "test"),
                       counted(static_cast<long>(causes), "cause"), row_of(change).means);
}

std::string describe_not_asked_for(const Comparison& c) {
    return c.not_asked_for == 0
               ? std::string{}
               : counted(c.not_asked_for, "test") +
                     " of one run left out: the other ran another part of the suite";
}

void add_column(std::string& text, const Comparison& c, std::size_t tests_of_group) {
    fmt::format_to(std::back_inserter(text), "run       {}\n", format_run(c.run));
    text += blind_line(c.run, "          ");
    if (!c.environment_known) text += describe_unknown_environment() + "\n";
    if (!c.environment.empty()) text += "the environment differs:\n";
    for (const auto& change : c.environment)
        fmt::format_to(std::back_inserter(text), "    {}: {} → {}\n", short_line(change.name),
                       format_value(change.baseline), format_value(change.run));
    for (const auto& drop : c.drops)
        fmt::format_to(std::back_inserter(text), "warning: {}\n", describe_drop(drop));
    if (const std::string words = describe_not_asked_for(c); !words.empty()) text += words + "\n";
    for (std::size_t at = 0; at < c.groups.size();) {
        const auto groups = groups_of_class(c, at);
        fmt::format_to(std::back_inserter(text), "\n{}\n",
                       class_head(c, groups.front()->change, groups.size()));
        for (const ChangeGroup* group : groups) {
            fmt::format_to(std::back_inserter(text), "    {}  {}\n",
                           counted(static_cast<long>(group->tests.size()), "test"),
                           title_of(*group));
            const std::size_t shown = std::min(tests_of_group, group->tests.size());
            for (std::size_t i = 0; i < shown; ++i) {
                const ChangedTest& test = c.tests[group->tests[i]];
                fmt::format_to(std::back_inserter(text), "        {}  {}\n", short_line(test.id),
                               states_of(test));
            }
            if (shown < group->tests.size())
                fmt::format_to(std::back_inserter(text), "        and {} more\n",
                               group->tests.size() - shown);
        }
    }
    if (const std::string noise = describe_noise(c); !noise.empty()) text += "\n" + noise;
    fmt::format_to(std::back_inserter(text), "\n{}\n", format_counts(c));
}

// The part of a page before its groups.
std::string page_head(const CompareView& view) {
    std::string page = fmt::format("# {}, compared\n\n", code(view.baseline.suite));
    fmt::format_to(std::back_inserter(page), "- baseline: {}\n", code(format_run(view.baseline)));
    page += blind_line(view.baseline, "  - ");
    for (const Comparison& c : view.columns) {
        fmt::format_to(std::back_inserter(page), "- run: {}\n", code(format_run(c.run)));
        page += blind_line(c.run, "  - ");
    }
    if (!view.chosen.empty())
        fmt::format_to(std::back_inserter(page), "\nBaseline: {}.\n", view.chosen);
    for (const Comparison& c : view.columns) {
        if (!c.environment_known) page += "\n**" + describe_unknown_environment() + "**\n";
        if (c.environment.empty()) continue;
        fmt::format_to(std::back_inserter(page),
                       "\n## Environment of {}\n\n| what | baseline | run |\n|---|---|---|\n",
                       code(c.run.id));
        for (const auto& change : c.environment)
            page += row(code(change.name), change.baseline ? code(*change.baseline) : "none",
                        change.run ? code(*change.run) : "none") +
                    "\n";
    }
    for (const Comparison& c : view.columns)
        for (const auto& drop : c.drops)
            fmt::format_to(std::back_inserter(page), "\n**{}: {}**\n", code(c.run.id),
                           describe_drop(drop));
    for (const Comparison& c : view.columns)
        if (const std::string words = describe_not_asked_for(c); !words.empty())
            fmt::format_to(std::back_inserter(page), "\n{}: {}.\n", code(c.run.id), words);
    page += "\n## Classes\n\n| class |";
    for (const Comparison& c : view.columns)
        page += " " + cell(view.columns.size() == 1 ? "tests" : code(label_of(view, c))) + " |";
    page += " means |\n|---|";
    for (std::size_t i = 0; i < view.columns.size(); ++i) page += "---:|";
    page += "---|\n";
    for (std::size_t i = 0; i < analysis::kChangeClasses.size(); ++i) {
        fmt::format_to(std::back_inserter(page), "| {} |", code(analysis::kChangeClasses[i].name));
        for (const Comparison& c : view.columns)
            fmt::format_to(std::back_inserter(page), " {} |", c.counts[i]);
        fmt::format_to(std::back_inserter(page), " {} |\n",
                       cell(analysis::kChangeClasses[i].means));
    }
    for (const Comparison& c : view.columns)
        if (const std::string noise = describe_noise(c); !noise.empty())
            page += "\n" + noise + "\n";
    if (!view.fail_on.empty()) page += "\n" + describe_fail_on(view) + "\n";
    return page;
}

std::string group_on_page(const Comparison& c, const ChangeGroup& group, std::string_view state,
                          std::size_t tests) {
    std::string text = fmt::format("<details><summary>{}{}: {}</summary>\n\n",
                                   counted(static_cast<long>(group.tests.size()), "test"), state,
                                   html(title_of(group)));
    const std::size_t shown = std::min(tests, group.tests.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const ChangedTest& test = c.tests[group.tests[i]];
        fmt::format_to(std::back_inserter(text), "- {} {}\n", code(test.id), states_of(test));
    }
    if (shown < group.tests.size())
        fmt::format_to(std::back_inserter(text), "- and {} more\n", group.tests.size() - shown);
    return text + "\n</details>\n";
}

}  // namespace

std::string compare_text(const CompareView& view, std::size_t tests) {
    std::string text = fmt::format("baseline  {}\n", format_run(view.baseline)) +
                       blind_line(view.baseline, "          ");
    if (!view.chosen.empty()) text += "          " + view.chosen + "\n";
    for (const Comparison& column : view.columns) {
        if (view.columns.size() > 1) text += "\n";
        add_column(text, column, tests);
    }
    if (view.columns.size() > 1) text += "\n" + class_table(view);
    if (!view.fail_on.empty()) text += describe_fail_on(view) + "\n";
    return text;
}

std::string compare_markdown(const CompareView& view, std::size_t max_bytes) {
    std::string page = page_head(view);
    std::int64_t left_out = 0;
    for (const Comparison& c : view.columns)
        for (std::size_t at = 0; at < c.groups.size();) {
            const auto groups = groups_of_class(c, at);
            std::string part =
                fmt::format("\n## {}{}\n\n", class_head(c, groups.front()->change, groups.size()),
                            view.columns.size() == 1 ? "" : fmt::format(" in {}", code(c.run.id)));
            for (const ChangeGroup* group : groups) {
                const std::string shown = group_on_page(c, *group, "", kTestsOfGroup);
                if (page.size() + part.size() + shown.size() > max_bytes)
                    ++left_out;
                else
                    part += shown;
            }
            page += part;
        }
    if (left_out > 0)
        fmt::format_to(std::back_inserter(page),
                       "\n{} left out for the page's size: `--format json` has all.\n",
                       counted(left_out, "cause"));
    return page;
}

ChangesText changes_markdown(const CompareView& view, std::size_t groups, std::size_t tests) {
    const Comparison& c = view.columns.front();
    ChangesText text;
    text.intro = fmt::format("Since run {}, started {}: {}.\n\n", code(view.baseline.id),
                             view.baseline.started, format_counts(c));
    if (!c.environment_known) text.intro += "**" + describe_unknown_environment() + "**\n\n";
    if (!c.environment.empty()) {
        text.intro += "The environment differs:\n\n";
        const std::size_t shown = std::min(c.environment.size(), kEnvironmentShown);
        for (std::size_t i = 0; i < shown; ++i) {
            const auto& change = c.environment[i];
            fmt::format_to(std::back_inserter(text.intro), "- {}: {} → {}\n", code(change.name),
                           code(format_value(change.baseline)), code(format_value(change.run)));
        }
        if (shown < c.environment.size())
            fmt::format_to(std::back_inserter(text.intro), "- and {} more\n",
                           c.environment.size() - shown);
        text.intro += "\n";
    }
    for (const auto& drop : c.drops)
        fmt::format_to(std::back_inserter(text.intro), "**Warning: {}**\n\n", describe_drop(drop));
    if (const std::string words = describe_not_asked_for(c); !words.empty())
        text.intro += words + ".\n\n";
    if (const std::string noise = describe_noise(c); !noise.empty()) text.intro += noise + "\n\n";
    for (const ChangeGroup& group : c.groups) {
        if (text.groups.size() == groups) {
            text.groups.back() +=
                fmt::format("\n{} more: `runner compare {} {}`\n",
                            counted(static_cast<long>(c.groups.size() - groups), "cause"),
                            view.baseline.id, c.run.id);
            break;
        }
        text.groups.push_back(
            group_on_page(c, group, fmt::format(" {}", name_of(group.change)), tests));
    }
    return text;
}

}  // namespace compat::reports

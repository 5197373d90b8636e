#include "runner/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/plan/targets.h"

namespace compat::plan {

namespace {

// What is asked of one module. Whole wins over its parts.
struct Wanted {
    bool whole = false;
    std::vector<std::string> tests;  // as asked, none twice
};

// Without the tests that another one contains: "A::test_x" goes where "A" is asked for.
std::vector<std::string> outermost(const std::vector<std::string>& tests) {
    std::vector<std::string> kept;
    for (const std::string& test : tests) {
        const bool contained =
            std::any_of(tests.begin(), tests.end(), [&](const std::string& other) {
                return test != other &&
                       (test.starts_with(other + "::") || test.starts_with(other + "["));
            });
        if (!contained) kept.push_back(test);
    }
    return kept;
}

Expected<std::map<std::size_t, Wanted>> named(const suites::Suite& suite,
                                              const std::vector<ModuleFile>& modules,
                                              const std::vector<std::string>& targets) {
    std::map<std::size_t, Wanted> wanted;
    for (const std::string& target : targets) {
        auto match = resolve(suite, modules, target);
        if (!match) return tl::unexpected(match.error());
        for (const std::size_t module : match->modules) {
            Wanted& entry = wanted[module];
            std::vector<std::string>& tests = entry.tests;
            if (match->test.empty())
                entry.whole = true;
            else if (std::find(tests.begin(), tests.end(), match->test) == tests.end())
                tests.push_back(match->test);
        }
    }
    return wanted;
}

std::string counted(std::size_t modules) {
    return fmt::format("{} module{}", modules, modules == 1 ? "" : "s");
}

std::map<std::size_t, Wanted> everything(const suites::Suite& suite,
                                         const std::vector<ModuleFile>& modules,
                                         std::vector<std::string>& notes) {
    std::map<std::size_t, Wanted> wanted;
    std::size_t excluded = 0;
    std::vector<std::size_t> left_out(suite.groups.size());
    for (std::size_t i = 0; i < modules.size(); ++i) {
        if (modules[i].excluded) {
            ++excluded;
            continue;
        }
        bool taken = true;
        for (std::size_t g = 0; g < suite.groups.size(); ++g)
            if (!suite.groups[g].by_default && is_in(suite.groups[g], modules[i].path)) {
                ++left_out[g];
                taken = false;
            }
        if (taken) wanted[i].whole = true;
    }
    for (std::size_t g = 0; g < suite.groups.size(); ++g)
        if (left_out[g] > 0)
            notes.push_back(fmt::format("group {} left out ({}): name it to run it",
                                        suite.groups[g].name, counted(left_out[g])));
    if (excluded > 0) notes.push_back(fmt::format("{} excluded by the suite", counted(excluded)));
    return wanted;
}

// Seconds where known; elsewhere the size, at the rate of the modules that are known.
std::vector<double> costs(const std::vector<ModuleFile>& modules,
                          const std::map<std::string, double>& seconds) {
    double known_seconds = 0, known_bytes = 0;
    for (const ModuleFile& module : modules)
        if (const auto known = seconds.find(module.path); known != seconds.end()) {
            known_seconds += known->second;
            known_bytes += static_cast<double>(module.bytes);
        }
    const double rate = known_seconds > 0 && known_bytes > 0 ? known_seconds / known_bytes : 1;
    std::vector<double> costs;
    for (const ModuleFile& module : modules) {
        const auto known = seconds.find(module.path);
        costs.push_back(known != seconds.end() ? known->second
                                               : rate * static_cast<double>(module.bytes));
    }
    return costs;
}

}  // namespace

Expected<Plan> make_plan(const suites::Suite& suite, const std::vector<ModuleFile>& modules,
                         const Selection& selection, const std::map<std::string, double>& seconds) {
    Plan plan;
    Expected<std::map<std::size_t, Wanted>> wanted = selection.targets.empty()
                                                         ? everything(suite, modules, plan.notes)
                                                         : named(suite, modules, selection.targets);
    if (!wanted) return tl::unexpected(wanted.error());
    if (wanted->empty())
        return fail(ErrorKind::nothing_selected, "no test module selected",
                    fmt::format("{}", fmt::join(plan.notes, "; ")));

    const std::vector<double> cost = costs(modules, seconds);
    std::vector<std::size_t> order;
    for (const auto& [module, what] : *wanted) order.push_back(module);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return cost[a] != cost[b] ? cost[a] > cost[b] : modules[a].path < modules[b].path;
    });
    for (const std::size_t i : order) {
        Job job{modules[i].path, {}, modules[i].bytes};
        const Wanted& what = wanted->at(i);
        if (!what.whole)
            for (const std::string& test : outermost(what.tests))
                job.only.push_back(job.module + "::" + test);
        plan.jobs.push_back(std::move(job));
    }
    return plan;
}

}  // namespace compat::plan

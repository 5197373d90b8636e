#include "runner/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <system_error>
#include <unordered_set>

#include "runner/plan/cut.h"
#include "runner/plan/targets.h"

namespace compat::plan {

namespace {

// The request for one module. Whole wins over its parts. A target may name ten thousand tests.
struct Wanted {
    bool whole = false;
    std::vector<std::string> tests;  // as asked, none twice
    std::unordered_set<std::string> known;
};

// Without the tests that another one contains: "A::test_x" goes where "A" is asked for.
std::vector<std::string> outermost(const Wanted& wanted) {
    std::vector<std::string> kept;
    for (const std::string& test : wanted.tests) {
        bool contained = false;
        for (std::size_t i = 0; i < test.size() && !contained; ++i)
            contained = (test[i] == '[' || test.compare(i, 2, "::") == 0) &&
                        wanted.known.contains(test.substr(0, i));
        if (!contained) kept.push_back(test);
    }
    return kept;
}

Expected<std::map<std::size_t, Wanted>> named(const suites::Suite& suite,
                                              const std::vector<ModuleFile>& modules,
                                              const std::vector<std::string>& targets) {
    std::map<std::size_t, Wanted> wanted;
    std::map<std::string, Match> fronts;  // what stands before the "::", looked up once
    for (const std::string& target : targets) {
        const std::size_t colons = target.find("::");
        const std::string test = colons == std::string::npos ? "" : target.substr(colons + 2);
        auto known = fronts.find(target.substr(0, colons));
        Match match;
        if (known != fronts.end() && (test.empty() || known->second.modules.size() == 1)) {
            match = known->second;
            match.test += (match.test.empty() || test.empty() ? "" : "::") + test;
        } else {
            match = TRY(resolve(suite, modules, target));
            if (test.empty())
                fronts.emplace(target, match);
            else if (match.test == test)
                fronts.emplace(target.substr(0, colons), Match{match.modules, {}});
        }
        for (const std::size_t module : match.modules) {
            Wanted& entry = wanted[module];
            if (match.test.empty())
                entry.whole = true;
            else if (entry.known.insert(match.test).second)
                entry.tests.push_back(match.test);
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

// Longest first.
std::vector<std::size_t> by_cost(const std::map<std::size_t, Wanted>& wanted,
                                 const std::vector<ModuleFile>& modules,
                                 const std::vector<double>& cost) {
    std::vector<std::size_t> order;
    for (const auto& [module, what] : wanted) order.push_back(module);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return cost[a] != cost[b] ? cost[a] > cost[b] : modules[a].path < modules[b].path;
    });
    return order;
}

void arrange(std::vector<std::size_t>& order, const std::vector<ModuleFile>& modules,
             const Ordering& ordering, const std::set<std::string>& failed) {
    switch (ordering.order) {
        case Order::longest_first:
            return;
        case Order::failed_first:
            std::stable_partition(order.begin(), order.end(),
                                  [&](std::size_t i) { return failed.contains(modules[i].path); });
            return;
        case Order::as_listed:
            std::sort(order.begin(), order.end());
            return;
        case Order::random: {
            std::sort(order.begin(), order.end());
            // Not std::shuffle, whose result is not the same everywhere.
            std::mt19937_64 draw(ordering.seed);
            for (std::size_t i = order.size(); i > 1; --i)
                std::swap(order[i - 1], order[draw() % i]);
            return;
        }
    }
}

template <class Number>
bool parse_number(std::string_view text, Number& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

struct OrderName {
    std::string_view name;
    Order order;
};
constexpr std::array<OrderName, 3> kOrders{{{"longest-first", Order::longest_first},
                                            {"failed-first", Order::failed_first},
                                            {"as-listed", Order::as_listed}}};

}  // namespace

Expected<Ordering> parse_ordering(std::string_view text) {
    for (const OrderName& known : kOrders)
        if (text == known.name) return Ordering{known.order, 0};
    constexpr std::string_view kRandom = "random:";
    Ordering ordering{Order::random, 0};
    if (text.starts_with(kRandom) && parse_number(text.substr(kRandom.size()), ordering.seed))
        return ordering;
    return fail(ErrorKind::usage, fmt::format("unknown order \"{}\"", text),
                "use longest-first, failed-first, as-listed or random:SEED", "--order");
}

Expected<Plan> make_plan(const suites::Suite& suite, const std::vector<ModuleFile>& modules,
                         const Selection& selection, const Past& past) {
    Plan plan;
    Expected<std::map<std::size_t, Wanted>> wanted = selection.targets.empty()
                                                         ? everything(suite, modules, plan.notes)
                                                         : named(suite, modules, selection.targets);
    if (!wanted) return tl::unexpected(wanted.error());
    if (wanted->empty())
        return fail(ErrorKind::nothing_selected, "no test module selected",
                    fmt::format("{}", fmt::join(plan.notes, "; ")));

    for (const auto& [i, what] : *wanted)
        if (modules[i].unreadable != 0)
            return fail(ErrorKind::environment,
                        fmt::format("cannot read this folder of tests: {}",
                                    std::generic_category().message(modules[i].unreadable)),
                        "make it readable, exclude it by layout.exclude, or "
                        "name other targets",
                        modules[i].path);

    const std::vector<double> cost = costs(modules, past.seconds);
    std::vector<std::size_t> order = by_cost(*wanted, modules, cost);
    plan.has_durations = std::any_of(modules.begin(), modules.end(), [&](const ModuleFile& module) {
        return past.seconds.contains(module.path);
    });
    arrange(order, modules, selection.ordering, past.failed);
    for (const std::size_t i : order) {
        Job job{modules[i].path, {}, modules[i].bytes, cost[i]};
        const Wanted& what = wanted->at(i);
        if (!what.whole)
            for (const std::string& test : outermost(what))
                job.only.push_back(job.module + "::" + test);
        plan.jobs.push_back(std::move(job));
    }
    plan.id = id_of({plan.jobs}, selection);
    return plan;
}

}  // namespace compat::plan

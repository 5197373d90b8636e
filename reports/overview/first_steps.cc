#include "reports/overview/first_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "runner/analysis/judgement.h"

namespace compat::reports {

using parsers::Cause;

namespace {

constexpr std::string_view kReportIt = "report it: a defect of the runner, not of the code";

constexpr std::array<CauseAdvice, parsers::kCauses.size()> kAdvice{{
    {Cause::op_missing, OneChange::by_text, "", "run it on a device that has the operator"},
    {Cause::fell_back, OneChange::by_text, "", ""},
    {Cause::dtype_limit, OneChange::by_text, "", ""},
    {Cause::device_mismatch, OneChange::by_cluster, "", ""},
    {Cause::device_assertion, OneChange::by_cause,
     "tests compare a device with a name, an index or a kind, and it is another", ""},
    {Cause::race, OneChange::by_text, "",
     "add a wait (Stream.wait_stream, Event.wait) between the two lines that the message names"},
    {Cause::shim_defect, OneChange::by_text, "", kReportIt},
    {Cause::torch_core, OneChange::by_cluster, "",
     "look for the key line in torch's issues; try another version of torch"},
    {Cause::suite_assertion, OneChange::by_cluster, "",
     "read the traceback, then run the test with the command below"},
    {Cause::suite_error, OneChange::by_cluster, "",
     "read the traceback: the code under test raised this"},
    {Cause::tolerance, OneChange::by_cause, "numbers differ by more than is allowed",
     "run the tests on plain CPU (`--shim off`); if they differ there too, allow for more"},
    {Cause::dependency, OneChange::by_text, "", ""},
    {Cause::hub, OneChange::by_cause, "weights or data could not be fetched over the network",
     "let the tests reach the network once, or copy the files into the caches of their libraries"},
    {Cause::resource, OneChange::by_text, "",
     "run fewer modules at once (`--jobs`), or on a machine with more of it"},
    {Cause::environment, OneChange::by_text, "", ""},
    {Cause::infrastructure, OneChange::by_cause, "the runner's own code broke", kReportIt},
    {Cause::timeout, OneChange::by_cause, "tests took too long",
     "read the stacks in the log of one; if it is only slow, give more time (`--test-timeout`, and "
     "`--timeout` for a module with its imports)"},
    {Cause::crash, OneChange::by_text, "", "read the end of the log of one"},
    {Cause::unknown, OneChange::by_cluster, "",
     "read the traceback, then run the test with the command below"},
    {Cause::upstream, OneChange::by_cluster, "", "look in the issues of torch and of the suite"},
}};

constexpr std::string_view kInstallIt =
    "install what is missing: name it in a requirements file of suite.json (\"requirements\"), or "
    "use an environment that has it (`--python`)";
constexpr std::string_view kModuleRow = "::<module>";

// Identifies the failures that one change removes.
using Key = std::tuple<std::string, std::string>;  // cause or gap, text

const CauseAdvice& advice_for(const ClusterView& cluster) {
    return reports::advice_for(parsers::cause_of(cluster.cause).value_or(Cause::unknown));
}

// An environment row with a title, as those of the sandbox are, is one change for all its failures.
bool is_of_rule(const analysis::JudgementRule& judged) {
    return judged.judgement == analysis::Judgement::environment && !judged.title.empty();
}
const analysis::JudgementRule& judged(const RunView& run, const ClusterView& cluster) {
    analysis::Evidence evidence;
    evidence.cause = advice_for(cluster).cause;
    evidence.rule = cluster.rule;
    if (cluster.gap) evidence.gap = cluster.gap->kind;
    evidence.device = cluster.gap ? cluster.gap->device : run.simulated.value_or(run.device);
    return analysis::judge(evidence);
}

Key key_of(const RunView& run, const ClusterView& cluster) {
    if (cluster.gap)
        return {"gap",
                fmt::format("{}\n{}\n{}\n{}", cluster.gap->symbol, name_of(cluster.gap->kind),
                            cluster.gap->device, cluster.gap->simulated)};
    if (is_of_rule(judged(run, cluster))) return {"rule", cluster.rule};
    switch (advice_for(cluster).merged) {
        case OneChange::by_cause:
            return {cluster.cause, {}};
        case OneChange::by_text:
            return {cluster.cause, cluster.key_line};
        case OneChange::by_cluster:
            break;
    }
    return {cluster.cause + "\n", cluster.signature};
}

const GapView* find_gap(const ReportModel& model, const GapKey& key) {
    const auto at = std::find_if(model.gaps.begin(), model.gaps.end(),
                                 [&](const GapView& gap) { return gap.key == key; });
    return at == model.gaps.end() ? nullptr : &*at;
}

std::string gap_title(const GapKey& key, const GapView* gap) {
    if (gap && !gap->description.empty()) return gap->description;
    return fmt::format("{} is missing on {}{}", key.symbol, key.device,
                       key.simulated ? " (simulated)" : "");
}

std::string gap_advice(const GapView* gap) {
    if (!gap) return {};
    if (!gap->action.empty()) return gap->action;
    return gap->equivalent.empty() ? std::string{} : fmt::format("use {}", gap->equivalent);
}

FirstStep step_of(const ReportModel& model, const ClusterView& cluster) {
    const CauseAdvice& row = advice_for(cluster);
    const auto& run = model.run;
    const GapView* const gap = cluster.gap ? find_gap(model, *cluster.gap) : nullptr;
    const analysis::JudgementRule& judgement = judged(run, cluster);
    const auto first_of = [](std::initializer_list<std::string_view> texts) {
        const auto at = std::find_if(texts.begin(), texts.end(),
                                     [](std::string_view text) { return !text.empty(); });
        return at == texts.end() ? std::string{} : std::string(*at);
    };
    const std::string by_gap = gap_advice(gap);
    FirstStep step;
    step.title = cluster.gap ? gap_title(*cluster.gap, gap)
                             : first_of({is_of_rule(judgement) ? judgement.title : row.title,
                                         cluster.key_line, cause_means(cluster.cause)});
    // Such a judgement says no more than its cause.
    const bool is_of_cause = judgement.judgement == analysis::Judgement::unexplained ||
                             judgement.judgement == analysis::Judgement::environment;
    step.advice = is_of_rule(judgement) || (run.simulated && !is_of_cause)
                      ? first_of({judgement.advice, by_gap, row.advice})
                      : first_of({by_gap, row.advice, judgement.advice});
    step.cause = cluster.cause;
    step.example = cluster.example;
    step.url = cluster.url;
    return step;
}

// Such a cluster is a step of its own kind: one change, and tests that nobody has counted.
bool is_of_load_failure(const ReportModel& model, const ClusterView& cluster) {
    return cluster.example.ends_with(kModuleRow) &&
           std::any_of(model.load_failures.begin(), model.load_failures.end(),
                       [&](const auto& f) { return f.key_line == cluster.key_line; });
}

FirstStep step_of(const LoadFailureView& failure) {
    FirstStep step;
    step.title = failure.key_line;
    const bool is_missing =
        failure.type == "ModuleNotFoundError" || failure.type.ends_with(".ModuleNotFoundError");
    step.cause = is_missing ? name_of(Cause::dependency) : "";
    step.advice = is_missing ? kInstallIt : "read the traceback: the module raised this on import";
    step.example = failure.module;
    step.url = failure.url;
    step.modules = failure.modules - failure.expected;
    return step;
}

// Where the clusters broke, most tests first.
std::vector<StepPlace> places_of(const ReportModel& model, const FailureGroup& group) {
    std::vector<StepPlace> places;
    std::map<std::string_view, std::size_t> known;  // a group may have a place for each test
    for (const std::size_t i : group.clusters) {
        const ClusterView& cluster = model.clusters[i];
        const std::int64_t tests = cluster.tests - cluster.expected;
        if (cluster.place.empty() || tests == 0) continue;
        const auto [at, is_new] = known.try_emplace(cluster.place, places.size());
        if (is_new) places.push_back({cluster.place, cluster.place_url, 0});
        places[at->second].tests += tests;
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.tests > b.tests; });
    if (places.size() > kStepPlaces) places.resize(kStepPlaces);
    return places;
}

}  // namespace

const CauseAdvice& advice_for(Cause cause) {
    return *std::find_if(kAdvice.begin(), kAdvice.end(),
                         [&](const CauseAdvice& row) { return row.cause == cause; });
}

std::vector<FailureGroup> failure_groups(const ReportModel& model) {
    std::vector<FailureGroup> groups;
    std::map<Key, std::size_t> places;
    for (std::size_t i = 0; i < model.clusters.size(); ++i) {
        const ClusterView& cluster = model.clusters[i];
        const auto [at, is_new] = places.try_emplace(key_of(model.run, cluster), groups.size());
        if (is_new) groups.emplace_back();
        FailureGroup& group = groups[at->second];
        group.clusters.push_back(i);
        group.tests += cluster.tests;
        group.expected += cluster.expected;
    }
    const auto unexpected = [&](std::size_t cluster) {
        return model.clusters[cluster].tests - model.clusters[cluster].expected;
    };
    for (FailureGroup& group : groups)
        std::stable_sort(
            group.clusters.begin(), group.clusters.end(),
            [&](std::size_t a, std::size_t b) { return unexpected(a) > unexpected(b); });
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a.unexpected() > b.unexpected(); });
    return groups;
}

std::vector<FirstStep> first_steps(const ReportModel& model) {
    std::vector<FirstStep> steps;
    std::int64_t not_loaded = 0;
    for (const LoadFailureView& failure : model.load_failures) {
        not_loaded += failure.modules;
        if (failure.modules > failure.expected) steps.push_back(step_of(failure));
    }
    for (const FailureGroup& group : failure_groups(model)) {
        const ClusterView& largest = model.clusters[group.clusters.front()];
        if (group.unexpected() == 0 || is_of_load_failure(model, largest)) continue;
        steps.push_back(step_of(model, largest));
        steps.back().tests = group.unexpected();
        steps.back().places = places_of(model, group);
        for (const std::size_t i : group.clusters)
            if (const ClusterView& cluster = model.clusters[i]; cluster.tests > cluster.expected)
                steps.back().signatures.push_back(cluster.signature);
    }
    const std::int64_t loaded = std::max<std::int64_t>(model.totals.modules - not_loaded, 1);
    const std::int64_t tests_of_module =
        std::max<std::int64_t>((model.totals.collected - not_loaded) / loaded, 1);
    const auto weight = [&](const FirstStep& step) {
        return step.tests + step.modules * tests_of_module;
    };
    std::stable_sort(steps.begin(), steps.end(),
                     [&](const FirstStep& a, const FirstStep& b) { return weight(a) > weight(b); });
    if (steps.size() > kFirstSteps) steps.resize(kFirstSteps);
    return steps;
}

}  // namespace compat::reports

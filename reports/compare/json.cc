// A comparison as JSON (compare.schema.json).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/compare/document.h"

namespace compat::reports {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson null_unless(const std::optional<std::string>& text) {
    return text ? OrderedJson(*text) : OrderedJson(nullptr);
}

OrderedJson null_for_empty(const std::string& text) {
    return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

template <class Named>
OrderedJson null_or_name(const std::optional<Named>& value) {
    return value ? OrderedJson(name_of(*value)) : OrderedJson(nullptr);
}

OrderedJson compared_run(const ComparedRun& run) {
    OrderedJson states = OrderedJson::object(), blind_spots = OrderedJson::array();
    for (const BlindSpot& spot : run.blind_spots)
        blind_spots.push_back({{"name", spot.name}, {"words", spot.words}, {"tests", spot.tests}});
    for (std::size_t i = 0; i < run.states.size(); ++i)
        states[std::string(parsers::kStateNames[i])] = run.states[i];
    return {{"id", run.id},
            {"suite", run.suite},
            {"started", run.started},
            {"torch", null_for_empty(run.torch)},
            {"way", run.way},
            {"commit", null_for_empty(run.commit)},
            {"complete", run.complete},
            {"modules", run.modules},
            {"tests", run.tests},
            {"states", std::move(states)},
            {"blind_spots", std::move(blind_spots)}};
}

OrderedJson changed_test(const ChangedTest& test) {
    return {{"id", test.id},
            {"baseline_id", null_for_empty(test.baseline_id)},
            {"class", name_of(test.change)},
            {"baseline", null_or_name(test.baseline)},
            {"run", null_or_name(test.run)},
            {"why", null_for_empty(test.why)},
            {"log", null_for_empty(test.log)},
            {"pseudo", test.pseudo},
            {"group", test.group}};
}

OrderedJson change_group(const ChangeGroup& group) {
    return {{"class", name_of(group.change)},
            {"title", group.title},
            {"cause", null_or_name(group.cause)},
            {"signature", null_for_empty(group.signature)},
            {"tests", group.tests.size()}};
}

// Without its tests.
OrderedJson comparison(const Comparison& c, std::size_t most_groups) {
    OrderedJson environment = OrderedJson::array(), drops = OrderedJson::array(),
                classes = OrderedJson::object(), groups = OrderedJson::array();
    for (const auto& change : c.environment)
        environment.push_back({{"name", change.name},
                               {"baseline", null_unless(change.baseline)},
                               {"run", null_unless(change.run)}});
    for (const auto& drop : c.drops)
        drops.push_back({{"what", drop.what},
                         {"baseline", drop.baseline},
                         {"run", drop.run},
                         {"spread", drop.spread}});
    for (std::size_t i = 0; i < c.counts.size(); ++i)
        classes[std::string(analysis::kChangeClasses[i].name)] = c.counts[i];
    for (std::size_t i = 0; i < std::min(most_groups, c.groups.size()); ++i)
        groups.push_back(change_group(c.groups[i]));
    return {{"run", compared_run(c.run)},
            {"environment_known", c.environment_known},
            {"environment", std::move(environment)},
            {"drops", std::move(drops)},
            {"noise", {{"runs", c.noise_runs}, {"tests", c.noisy_tests}}},
            {"duplicates", c.duplicates},
            {"not_asked_for", c.not_asked_for},
            {"classes", std::move(classes)},
            {"groups", std::move(groups)}};
}

OrderedJson whole_comparison(const Comparison& c) {
    OrderedJson json = comparison(c, c.groups.size()), tests = OrderedJson::array();
    for (const ChangedTest& test : c.tests) tests.push_back(changed_test(test));
    json["tests"] = std::move(tests);
    return json;
}

}  // namespace

OrderedJson changes_json(const CompareView& view, std::size_t groups) {
    OrderedJson comparisons = OrderedJson::array();
    for (const Comparison& column : view.columns) comparisons.push_back(comparison(column, groups));
    return {{"baseline", compared_run(view.baseline)},
            {"chosen", null_for_empty(view.chosen)},
            {"comparisons", std::move(comparisons)}};
}

OrderedJson compare_document(const CompareView& view) {
    OrderedJson comparisons = OrderedJson::array(), fail_on = OrderedJson::array();
    for (const Comparison& column : view.columns) comparisons.push_back(whole_comparison(column));
    for (const ChangeClass c : view.fail_on) fail_on.push_back(name_of(c));
    return {{"format", kCompareFormat},
            {"baseline", compared_run(view.baseline)},
            {"chosen", null_for_empty(view.chosen)},
            {"comparisons", std::move(comparisons)},
            {"fail_on", std::move(fail_on)},
            {"fails", view.fails()}};
}

std::string compare_json(const CompareView& view) {
    return compare_document(view).dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace compat::reports

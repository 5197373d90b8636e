#include "runner/site/collect_changes.h"

#include <algorithm>

#include "runner/analysis/comparison.h"

namespace compat::site {

namespace {

constexpr std::size_t kTestsOfBreak = 100, kFixed = 500, kFlaky = 500, kGrowth = 100;
constexpr std::size_t kStrip = 30;  // runs of a flaky test
// Less is noise.
constexpr double kLeastGrowth_s = 0.1, kLeastGrowthFactor = 1.5;

double rate_of(const reports::SiteFlaky& one) {
    return one.window == 0 ? 0 : static_cast<double>(one.flaky) / one.window;
}

}  // namespace

void ChangeCollector::add(std::size_t first_cell, const Series& series, const std::string& page,
                          const ReadTest& test) {
    using analysis::Standing;
    using analysis::StateKind;
    const std::size_t cell = first_cell + test.cell;
    reports::SiteCell& counts = view_.cells[cell];
    const std::size_t runs = series.runs.size();
    if (test.strip.size() != runs) {
        counts.gone += test.strip.size() + 1 == runs;
        return;
    }
    const auto site_test = [&] {
        return reports::SiteTest{cell, std::string(test.id), page, std::string(test.error)};
    };
    const char now = test.strip.back(), before = runs > 1 ? test.strip[runs - 2] : ' ';
    const bool is_broken = strip_is(now, StateKind::broken);
    counts.added += runs > 1 && before == ' ';
    const analysis::Ledger& ledger = *test.ledger;
    if (ledger.standing == Standing::flaky) {
        ++counts.flaky;
        const std::string_view strip =
            test.strip.substr(test.strip.size() - std::min(test.strip.size(), kStrip));
        view_.flaky.push_back({site_test(), ledger.flaky, ledger.window, std::string(strip)});
    } else if (strip_is(now, StateKind::good) && strip_is(before, StateKind::broken)) {
        ++counts.fixed;
        if (view_.fixed.size() < kFixed) view_.fixed.push_back(site_test());
    }
    if (ledger.standing == Standing::broken && is_broken) {
        counts.broke += *ledger.first_bad + 1 == runs && runs > 1;
        Group& group = groups_[{cell, *ledger.first_bad}];
        ++group.tests;
        if (ledger.last_good)
            ++group.last_good[*ledger.last_good];
        else
            ++group.never_good;
        if (group.first.size() < kTestsOfBreak) group.first.push_back(site_test());
    }
    if (test.growth && test.growth->more_s() >= kLeastGrowth_s &&
        test.growth->now_s >= kLeastGrowthFactor * test.growth->before_s)
        view_.growth.push_back({site_test(), test.growth->before_s, test.growth->now_s});
    if (view_.flaky.size() > 4 * kFlaky || view_.growth.size() > 4 * kGrowth) shorten();
}

Expected<void> ChangeCollector::close_suite(TestsReader& reader, std::size_t first_cell,
                                            const std::vector<Series>& series) {
    for (auto& [key, group] : groups_) {
        const auto& [cell, first_bad] = key;
        const Series& its = series[cell - first_cell];
        const store::RunSummary& bad = its.runs[first_bad];
        reports::SiteBreak made;
        made.cell = cell;
        made.first_bad = bad.id;
        made.since = bad.started;
        made.is_newest = first_bad + 1 == its.runs.size() && first_bad > 0;
        made.commit = bad.commit;
        made.tests = group.tests;
        made.first = std::move(group.first);
        const auto most =
            std::max_element(group.last_good.begin(), group.last_good.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most != group.last_good.end()) {
            const store::RunSummary& good = its.runs[most->first];
            made.last_good = good.id;
            made.commit_before = good.commit;
            const auto changed = TRY(reader.changed(cell - first_cell, most->first, first_bad));
            made.known = changed.known;
            made.environment = changed.environment;
        }
        view_.breaks.push_back(std::move(made));
    }
    groups_.clear();
    return {};
}

void ChangeCollector::shorten() {
    std::stable_sort(view_.flaky.begin(), view_.flaky.end(),
                     [](const auto& a, const auto& b) { return rate_of(a) > rate_of(b); });
    if (view_.flaky.size() > kFlaky) view_.flaky.resize(kFlaky);
    std::stable_sort(view_.growth.begin(), view_.growth.end(), [](const auto& a, const auto& b) {
        return a.now_s - a.before_s > b.now_s - b.before_s;
    });
    if (view_.growth.size() > kGrowth) view_.growth.resize(kGrowth);
}

void ChangeCollector::finish() {
    shorten();
    std::stable_sort(view_.breaks.begin(), view_.breaks.end(), [](const auto& a, const auto& b) {
        return a.since != b.since ? a.since > b.since : a.tests > b.tests;
    });
}

}  // namespace compat::site

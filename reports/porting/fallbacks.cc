// The operators that a device lacks, and that fallback computes on the CPU.
#include <algorithm>
#include <tuple>
#include <utility>

#include "reports/porting/parts.h"

namespace compat::reports {

void Fallbacks::add(const GapHit& hit, std::string advice, const std::string& test,
                    const std::string& url) {
    FallbackView& fallback = fallback_of(hit.key.symbol);
    fallback.count += hit.count;
    fallback.advice = std::move(advice);
    if (test.empty() || !seen_.emplace(hit.key.symbol, test).second) return;
    ++fallback.tests;
    if (!fallback.example.empty()) return;
    fallback.example = test;
    fallback.url = url;
}

void Fallbacks::finish(PortingView& view) {
    for (const PortedTest& test : view.tests) {
        for (const ColumnRow& row : kColumns)
            if (row.falls_back()) compare(test, row.column, view);
    }
    for (auto& [symbol, fallback] : fallbacks_) view.fallbacks.push_back(std::move(fallback));
    std::stable_sort(view.fallbacks.begin(), view.fallbacks.end(),
                     [](const FallbackView& a, const FallbackView& b) {
                         return std::tie(a.depend, a.tests) > std::tie(b.depend, b.tests);
                     });
}

void Fallbacks::compare(const PortedTest& test, Column with_fallback, PortingView& view) {
    const Column without = strict_of(with_fallback);
    const auto on = test.states[index_of(with_fallback)];
    const auto off = test.states[index_of(without)];
    if (!on || !off || *on == *off) return;
    ++view.decided_by_fallback;
    const auto strict = std::find_if(test.differences.begin(), test.differences.end(),
                                     [&](const auto& d) { return d.column == without; });
    // No difference without fallback: it breaks as on plain CPU.
    if (kind_of(*on) != StateKind::good || strict == test.differences.end()) return;
    for (const size_t cause : strict->causes) {
        if (!is_operator(view.causes[cause])) continue;
        FallbackView& fallback = fallback_of(view.causes[cause].gap->symbol);
        if (fallback.depend++ > 0) continue;
        fallback.example = test.id;
        fallback.url = test.url;
        if (fallback.advice.empty()) fallback.advice = view.causes[cause].advice;
    }
}

FallbackView& Fallbacks::fallback_of(const std::string& symbol) {
    FallbackView& fallback = fallbacks_[symbol];
    fallback.symbol = symbol;
    return fallback;
}

}  // namespace compat::reports

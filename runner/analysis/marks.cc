#include "runner/analysis/marks.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "runner/base/device_kind.h"

namespace compat::analysis {

namespace {
using parsers::State;

// Kinds of device events in which a request got another device than it asked for.
constexpr std::array<std::string_view, 3> kRedirecting{"redirect", "fold", "override"};

}  // namespace

bool is_redirection(const parsers::DeviceEvent& event) {
    return std::find(kRedirecting.begin(), kRedirecting.end(), event.kind) != kRedirecting.end();
}

namespace {
// "cuda:0" → "cuda"
std::string_view device_type(std::string_view device) { return device.substr(0, device.find(':')); }

// Whether it is the process's accelerator, real or simulated.
bool is_used(const parsers::ShimSession& shim, std::string_view device) {
    const std::string_view target = !shim.simulated.empty() ? shim.simulated : shim.host;
    return is_accelerator(target) && device_type(device) == target;
}

std::unordered_map<std::string_view, Marks> marks_by_test(const parsers::ModuleRecord& record) {
    std::unordered_map<std::string_view, Marks> by_test;
    for (const parsers::DeviceEvent& event : record.device_events) {
        Marks& marks = by_test[event.test];
        marks.fallback |= event.kind == "fallback";
        marks.race |= event.kind == "race";
        if (is_redirection(event)) {
            marks.redirected = true;
            marks.device |= is_used(*record.shim, event.to);
        }
    }
    for (const parsers::KernelCount& kernels : record.kernels)
        by_test[kernels.test].device |= kernels.count > 0 && is_used(*record.shim, kernels.device);
    return by_test;
}
}  // namespace

std::vector<std::string_view> Marks::names() const {
    std::vector<std::string_view> names;
    if (device) names.emplace_back("device");
    if (fallback) names.emplace_back("fallback");
    if (race) names.emplace_back("race");
    if (redirected) names.emplace_back("redirected");
    if (untouched) names.emplace_back("untouched");
    if (generated) names.emplace_back("generated");
    return names;
}

std::vector<Marks> marks_of(const parsers::ModuleRecord& record) {
    std::vector<Marks> all(record.cases.size());
    for (size_t i = 0; i < all.size(); ++i) all[i].generated = record.cases[i].generated.any();
    if (!record.shim) return all;
    const auto by_test = marks_by_test(record);
    for (size_t i = 0; i < all.size(); ++i) {
        const parsers::CaseRecord& c = record.cases[i];
        if (c.pseudo) continue;
        const auto it = by_test.find(c.id);
        const Marks marks = it == by_test.end() ? Marks{} : it->second;
        if (c.state == State::passed || c.state == State::failed) {
            all[i] = marks;
            all[i].untouched = marks == Marks{};
        }
        all[i].race = marks.race;
        all[i].generated = c.generated.any();
    }
    return all;
}

std::vector<bool> used_accelerator(const parsers::ModuleRecord& record) {
    std::vector<bool> all(record.cases.size());
    if (!record.shim) return all;
    auto by_test = marks_by_test(record);
    for (const parsers::DeviceEvent& event : record.device_events)
        if (event.kind == "refusal") by_test[event.test].device = true;
    for (size_t i = 0; i < all.size(); ++i) all[i] = by_test[record.cases[i].id] != Marks{};
    return all;
}

}  // namespace compat::analysis

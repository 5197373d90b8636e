#include "devices/recovery.h"

#include <algorithm>
#include <stdexcept>

#include "devices/settings.h"
#include "policy/device_kind.h"

namespace compat::devices {
namespace {

bool is_cpu(const std::string& device) { return !shim::device_kind(device).is_accelerator; }

// Where the tensors of a call belong: on the accelerator that one of them is on. If all are on the
// CPU, what they do not fit to is elsewhere, as a model that the call refers to.
std::string common_device(const CallFacts& facts, const std::vector<std::string>& chain) {
    const auto& devices = facts.devices;
    const auto found = std::find_if_not(devices.begin(), devices.end(), is_cpu);
    if (found != devices.end()) return *found;
    return chain.empty() ? "cpu" : chain.front();
}

std::string next_in_chain(const std::string& device, const std::vector<std::string>& chain) {
    const auto here = std::find_if(chain.begin(), chain.end(), [&](const std::string& other) {
        return type_of_device(other) == type_of_device(device);
    });
    if (here != chain.end()) return here + 1 == chain.end() ? "" : *(here + 1);
    return is_cpu(device) ? "" : "cpu";
}

}  // namespace

RecoveryPlan::RecoveryPlan(int tries, std::vector<std::string> chain)
    : tries_(static_cast<std::size_t>(tries)), chain_(std::move(chain)) {
    if (tries < 0)
        throw std::invalid_argument("tries=" + std::to_string(tries) + ": use 0 or more");
}

std::optional<RecoveryStep> RecoveryPlan::apply(Action action, const CallFacts& facts) const {
    RecoveryStep step{action, placement_, std::string(row_of(action).name)};
    Placement& placement = step.placement;
    const auto done = [&](const std::string& to) {
        step.what += to;
        return step;
    };
    switch (action) {
        case Action::move_tensors: {
            if (facts.devices.empty()) return std::nullopt;
            const std::string device = common_device(facts, chain_);
            if (facts.devices.size() == 1 && is_cpu(device)) return std::nullopt;
            placement.device = device;
            return done(" to " + device);
        }
        case Action::convert_dtype:
            if (!placement.dtype.empty() || !(facts.has_other_floats || facts.takes_dtype))
                return std::nullopt;
            placement.dtype = "fp32";
            return done(" to fp32");
        case Action::halve_batch: {
            const auto batch = placement.batch ? placement.batch : facts.batch;
            if (!batch || *batch < 2) return std::nullopt;
            placement.batch = *batch / 2;
            return done(" to " + std::to_string(*batch / 2));
        }
        case Action::next_device: {
            const auto here =
                placement.device.empty() ? common_device(facts, chain_) : placement.device;
            const std::string device = next_in_chain(here, chain_);
            if (device.empty()) return std::nullopt;
            placement.device = device;
            return done(": " + device);
        }
        case Action::load_on_cpu:
            if (!facts.takes_map_location) return std::nullopt;
            placement.map_location = "cpu";
            return step;
        case Action::clear_caches:
        case Action::call_again:
            return step;
    }
    return std::nullopt;
}

std::optional<RecoveryStep> RecoveryPlan::next(ErrorClass error_class, const CallFacts& facts) {
    if (taken_.size() >= tries_) return std::nullopt;
    for (const bool again : {false, true})
        for (const Action action : actions_for(error_class)) {
            const bool was_used = std::find(used_.begin(), used_.end(),
                                            std::pair(error_class, action)) != used_.end();
            if (was_used != again || (again && !row_of(action).repeats)) continue;
            auto step = apply(action, facts);
            if (!step) continue;
            used_.emplace_back(error_class, action);
            placement_ = step->placement;
            taken_.push_back(step->what);
            return step;
        }
    return std::nullopt;
}

}  // namespace compat::devices

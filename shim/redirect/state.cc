#include "redirect/state.h"

#include <atomic>
#include <string>

#include "redirect/force.h"
#include "redirect/kernel.h"
#include "redirect/override.h"

namespace compat::shim {
namespace {

Settings current;
std::atomic<bool> override_on{false};
std::atomic<bool> host_named{false};

Requested kind_of(c10::DeviceType type) noexcept {
    switch (type) {
        case c10::DeviceType::CPU:
            return Requested::cpu;
        case c10::DeviceType::CUDA:
            return Requested::cuda;
        case c10::DeviceType::MPS:
            return Requested::mps;
        case c10::DeviceType::Meta:
            return Requested::meta;
        default:
            return Requested::other;
    }
}

}  // namespace

void set_settings(const Settings& settings) noexcept { current = settings; }

const Settings& settings() noexcept { return current; }

namespace {

void note_if_users() noexcept {
    if (!is_host_named() && Recorder::instance().called_by_the_user()) note_host_named();
}

}  // namespace

bool is_host_named() noexcept { return host_named.load(std::memory_order_relaxed); }

void note_host_named() noexcept { host_named.store(true, std::memory_order_relaxed); }

void note_named_host(c10::Device device) noexcept {
    if (device.type() == current.type && !device.has_index() && !device.is_cpu()) note_if_users();
}

void note_named_host(std::string_view text) noexcept {
    if (!host_kind().is_accelerator) return;
    static const std::string name = c10::DeviceTypeName(current.type, true);
    if (text.substr(0, text.find(':')) == name) note_if_users();
}

Decision decide(c10::Device device) noexcept {
    const bool toggles = is_toggle(device);
    if (toggles && !first_toggle_of_call()) return {c10::Device(c10::kCPU), Change::none};
    if (!toggles && toggling_call_runs() && device.is_cpu())
        return {c10::Device(c10::kCPU), Change::none};
    const Request request =
        toggles ? Request{Requested::toggle, -1} : Request{kind_of(device.type()), device.index()};
    const Answer answer = resolve(request, current.host, override_on.load(), current.mode);
    if (toggles) override_on.store(answer.override_on);
    const auto index = static_cast<c10::DeviceIndex>(answer.index);
    switch (answer.place) {
        case Place::unchanged:
            return {device, Change::none};
        // A CPU tensor's device has no index; with one, `.to` would copy needlessly.
        case Place::cpu:
            return {c10::Device(c10::kCPU), answer.change};
        case Place::mps:
            return {c10::Device(c10::kMPS, 0), answer.change};
        case Place::cuda:
            return {c10::Device(c10::kCUDA, index), answer.change};
        case Place::accelerator:
            return {c10::Device(current.type, 0), answer.change};
    }
    return {device, Change::none};
}

c10::Device redirect(OpId symbol, c10::Device device) noexcept {
    if (forces() && device.is_cpu() && !is_toggle(device)) return device;
    const Decision decision = decide(device);
    if (decision.change != Change::none)
        Recorder::instance().note({symbol, event_kind(decision.change), device, decision.device});
    return decision.device;
}

}  // namespace compat::shim

#include "devices/device_safe.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <stdexcept>

namespace compat::devices {
namespace {

std::string line_of_text(const std::string& text) { return text.substr(0, text.find('\n')); }

template <class Error>
bool describe_as(const c10::Error& error, const char* type, ThrownError& thrown) {
    if (!dynamic_cast<const Error*>(&error)) return false;
    thrown.type = type;
    return true;
}

void log_error(DeviceManager& manager, const ThrownError& thrown, const Classification& found,
               const CallFacts& facts) {
    LogEvent event;
    event.kind = LogKind::error;
    event.what = thrown.type + ": " + line_of_text(thrown.message);
    if (!facts.devices.empty()) event.device = facts.devices.front();
    event.error_class = name_of(found.error_class);
    event.rule = found.rule;
    manager.log().add(std::move(event));
}

}  // namespace

std::optional<ThrownError> describe(const std::exception_ptr& error) {
    ThrownError thrown{"RuntimeError", {}};
    try {
        std::rethrow_exception(error);
    } catch (const c10::Error& raised) {
        thrown.message = raised.what_without_backtrace();
        static_cast<void>(
            describe_as<c10::OutOfMemoryError>(raised, "torch.OutOfMemoryError", thrown) ||
            describe_as<c10::NotImplementedError>(raised, "NotImplementedError", thrown) ||
            describe_as<c10::IndexError>(raised, "IndexError", thrown) ||
            describe_as<c10::ValueError>(raised, "ValueError", thrown) ||
            describe_as<c10::TypeError>(raised, "TypeError", thrown));
    } catch (const std::bad_alloc& raised) {
        thrown = {"MemoryError", raised.what()};
    } catch (const std::invalid_argument& raised) {
        thrown = {"ValueError", raised.what()};
    } catch (const std::exception& raised) {
        thrown.message = raised.what();
    } catch (...) {
        return std::nullopt;
    }
    return thrown;
}

std::optional<Classification> classify(const std::exception_ptr& error) {
    const auto thrown = describe(error);
    return thrown ? classify(thrown->type, thrown->message) : std::nullopt;
}

void Attempt::saw(at::Device device) {
    if (device.is_meta()) return;
    auto& devices = facts_.devices;
    if (std::find(devices.begin(), devices.end(), device.str()) == devices.end())
        devices.push_back(device.str());
}

at::Tensor Attempt::operator()(const at::Tensor& tensor) {
    at::Tensor result = tensor;
    if (!placement_.device.empty()) result = manager_.ensure_device(result, placement_.device);
    if (!placement_.dtype.empty()) result = manager_.ensure_dtype(result, placement_.dtype);
    saw(result.device());
    if (at::isFloatingType(result.scalar_type()) && result.scalar_type() != at::kFloat)
        facts_.has_other_floats = true;
    return result;
}

at::Device Attempt::device(at::Device wanted) {
    const at::Device device = placement_.device.empty() ? wanted : at::Device(placement_.device);
    saw(device);
    return device;
}

at::ScalarType Attempt::dtype(at::ScalarType wanted) {
    if (at::isFloatingType(wanted) && !placement_.dtype.empty())
        return *scalar_type_of(placement_.dtype);
    facts_.takes_dtype = facts_.takes_dtype || (at::isFloatingType(wanted) && wanted != at::kFloat);
    return wanted;
}

std::int64_t Attempt::batch(std::int64_t wanted) {
    facts_.batch = placement_.batch ? std::min(wanted, *placement_.batch) : wanted;
    return *facts_.batch;
}

std::optional<at::Device> Attempt::map_location() {
    facts_.takes_map_location = true;
    if (placement_.map_location.empty()) return std::nullopt;
    return at::Device(placement_.map_location);
}

void SafeCall::give_up() {
    if (options_.tried && plan_) *options_.tried = plan_->taken();
    std::string tried;
    if (plan_)
        for (const std::string& step : plan_->taken()) tried += (tried.empty() ? "" : ", ") + step;
    try {
        std::rethrow_exception(first_);
    } catch (c10::Error& error) {
        if (!tried.empty()) error.add_context(options_.name + " tried: " + tried);
        throw;
    }
}

void SafeCall::recover(const std::exception_ptr& error) {
    const auto thrown = describe(error);
    DeviceManager& manager = attempt_.manager_;
    // The settings first: they cost nothing, and reading the error's text does.
    const bool is_on = manager.settings().recovery;
    const auto found =
        thrown && is_on ? classify(thrown->type, thrown->message) : std::optional<Classification>{};
    if (!found) std::rethrow_exception(error);
    if (!first_) first_ = error;
    log_error(manager, *thrown, *found, attempt_.facts_);
    if (!plan_) plan_.emplace(options_.tries, manager.chain());
    const auto step = plan_->next(found->error_class, attempt_.facts_);
    if (!step) give_up();
    const auto begun = std::chrono::steady_clock::now();
    LogEvent event;
    if (step->action == Action::clear_caches) event.bytes = manager.free_memory();
    event.kind = LogKind::recovery;
    event.what = step->what;
    event.device = step->placement.device;
    event.why = options_.name;
    event.error_class = name_of(found->error_class);
    event.rule = found->rule;
    event.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    manager.log().add(std::move(event));
    if (options_.tried) *options_.tried = plan_->taken();
    attempt_.placement_ = step->placement;
    attempt_.facts_ = {};
    ++attempt_.number_;
}

}  // namespace compat::devices

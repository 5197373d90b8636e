// device_safe: calls a function again after a device error, with the recovery for the error's class
// (recovery.h). Other errors pass through. Off with COMPAT_RECOVERY=off. attempt(tensor) is the
// tensor itself, or a copy where a recovery moves it: gradients flow through it. Changes in place
// stay for the next attempt, unless the function changed a copy. Not for errors that leave no
// working process, such as a crash of a driver.
#pragma once

#include <ATen/core/Tensor.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "devices/manager.h"
#include "devices/recovery.h"

namespace compat::devices {

struct SafeOptions {
    std::string name = "device_safe";           // in the log
    int tries = kDefaultTries;                  // recoveries, at most
    std::vector<std::string>* tried = nullptr;  // filled with what was tried
};

// The function's argument. A recovery acts only through it: tensors that the function uses without
// attempt(tensor) stay where they are.
class Attempt {
  public:
    // The tensor as this attempt wants it: at the first one, the tensor itself.
    [[nodiscard]] at::Tensor operator()(const at::Tensor& tensor);
    // Where to make new tensors, given where the function would.
    [[nodiscard]] at::Device device(at::Device wanted);
    [[nodiscard]] at::ScalarType dtype(at::ScalarType wanted);
    // How many samples to run at once, given how many there are.
    [[nodiscard]] std::int64_t batch(std::int64_t wanted);
    // Where a checkpoint's tensors go; empty: where they were saved.
    [[nodiscard]] std::optional<at::Device> map_location();
    // From 1.
    [[nodiscard]] int number() const { return number_; }

  private:
    friend class SafeCall;
    explicit Attempt(DeviceManager& manager) : manager_(manager) {}
    void saw(at::Device device);

    DeviceManager& manager_;
    Placement placement_;
    CallFacts facts_;  // of this attempt
    int number_ = 1;
};

// The part of device_safe that is no template.
class SafeCall {
  public:
    SafeCall(SafeOptions options, DeviceManager& manager)
        : options_(std::move(options)), attempt_(manager) {}
    [[nodiscard]] Attempt& attempt() { return attempt_; }
    // In a handler: prepares the next attempt, or throws. It throws the error at hand unless that
    // is a device error, and else the first one, with what was tried in its text (c10::Error) and
    // in options.tried.
    void recover(const std::exception_ptr& error);

  private:
    [[noreturn]] void give_up();

    SafeOptions options_;
    Attempt attempt_;
    std::optional<RecoveryPlan> plan_;
    std::exception_ptr first_;
};

// `function(Attempt&)`, its result.
template <class Function>
auto device_safe(Function&& function, SafeOptions options = {},
                 DeviceManager& manager = DeviceManager::instance())
    -> decltype(function(std::declval<Attempt&>())) {
    SafeCall call(std::move(options), manager);
    for (;;) {
        try {
            return function(call.attempt());
        } catch (...) {
            call.recover(std::current_exception());
        }
    }
}

struct ThrownError {
    std::string type;  // as Python would print it
    std::string message;
};
// Empty: not an error that LibTorch or the standard library throws.
[[nodiscard]] std::optional<ThrownError> describe(const std::exception_ptr& error);
[[nodiscard]] std::optional<Classification> classify(const std::exception_ptr& error);

}  // namespace compat::devices

// Recovery from device errors: a table of actions for each class of error, and the plan that picks
// the next action. It only decides. device_safe moves tensors and calls again (device_safe.h,
// python/compat_devices/calling.py). No torch header.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/classify.h"

namespace compat::devices {

enum class Action : unsigned char {
    move_tensors,
    convert_dtype,
    clear_caches,
    halve_batch,
    next_device,
    load_on_cpu,
    call_again,
};
struct ActionRow {
    std::string_view name, meaning;
    bool repeats;  // may be taken again, once the other actions of the class are used up
};
// In the order of Action.
inline constexpr std::array<ActionRow, 7> kActions{{
    {"move_tensors", "move all tensors to one device: the accelerator that one of them is on",
     false},
    {"convert_dtype", "convert floating-point tensors to fp32", false},
    {"clear_caches", "release what nobody refers to and empty the devices' caches", false},
    {"halve_batch", "call with half the batch", true},
    {"next_device", "move all tensors to the next device of the chain", true},
    {"load_on_cpu", "load with map_location=\"cpu\"", false},
    {"call_again", "call again, as a file may be complete now", false},
}};
[[nodiscard]] constexpr const ActionRow& row_of(Action action) {
    return kActions[static_cast<std::size_t>(action)];
}

struct Recovery {
    ErrorClass error_class;
    std::array<Action, 3> actions;  // in order of use
    std::size_t count;
};
inline constexpr std::array<Recovery, 7> kRecoveries{{
    {ErrorClass::device_mismatch, {Action::move_tensors, Action::next_device}, 2},
    {ErrorClass::dtype_mismatch, {Action::convert_dtype, Action::next_device}, 2},
    {ErrorClass::out_of_memory,
     {Action::clear_caches, Action::halve_batch, Action::next_device},
     3},
    {ErrorClass::mps_placeholder_storage,
     {Action::move_tensors, Action::clear_caches, Action::next_device},
     3},
    {ErrorClass::cuda_runtime_error, {Action::clear_caches, Action::next_device}, 2},
    {ErrorClass::tensor_operation_failed, {Action::convert_dtype, Action::next_device}, 2},
    {ErrorClass::model_loading, {Action::load_on_cpu, Action::call_again}, 2},
}};
[[nodiscard]] constexpr std::span<const Action> actions_for(ErrorClass error_class) {
    const Recovery& row = kRecoveries[static_cast<std::size_t>(error_class)];
    return {row.actions.data(), row.count};
}

inline constexpr int kDefaultTries = 3;

// How a call is made. Empty: as the caller wrote it.
struct Placement {
    std::string device;  // where all tensors go
    std::string dtype;   // of floating-point tensors: "fp32"
    std::optional<std::int64_t> batch;
    std::string map_location;
};

// Facts about a call that failed.
struct CallFacts {
    std::vector<std::string> devices;  // of its tensors, each once
    bool has_other_floats = false;     // a floating-point tensor that is not fp32
    bool takes_dtype = false;          // the call can be told a dtype,
    bool takes_map_location = false;   // and where to load
    std::optional<std::int64_t> batch;
};

struct RecoveryStep {
    Action action;
    Placement placement;  // of the next call, with all earlier steps
    std::string what;     // for a reader: "move_tensors to cuda:0"
};

// The plan for one call. `chain`: usable devices, as choice.h orders them.
class RecoveryPlan {
  public:
    // Throws std::invalid_argument if `tries` is negative.
    RecoveryPlan(int tries, std::vector<std::string> chain);
    // Empty: no tries are left, or nothing more can be done. An action that would change nothing is
    // skipped and costs no try.
    [[nodiscard]] std::optional<RecoveryStep> next(ErrorClass error_class, const CallFacts& facts);
    // Descriptions of all steps so far.
    [[nodiscard]] const std::vector<std::string>& taken() const { return taken_; }

  private:
    // Empty: the action would change nothing.
    [[nodiscard]] std::optional<RecoveryStep> apply(Action action, const CallFacts& facts) const;

    std::size_t tries_;
    std::vector<std::string> chain_;
    Placement placement_;
    std::vector<std::pair<ErrorClass, Action>> used_;
    std::vector<std::string> taken_;
};

}  // namespace compat::devices

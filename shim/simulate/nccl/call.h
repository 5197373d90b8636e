// One rank's call of a collective, with the properties that its group compares. Ranks whose calls
// differ get an error that names both lines; NCCL itself would hang until its time-out, or write
// beyond a buffer.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace compat::shim::simulate {

// The name by which Python calls it: "all_reduce".
[[nodiscard]] std::string_view collective_name(c10d::OpType type) noexcept;
// ProcessGroupNCCL's name for it in the profiler's record of a call's tensors: "allreduce".
[[nodiscard]] std::string param_name(c10d::OpType type);
// Whether it is a send or a receive, which two ranks make and not the whole group.
[[nodiscard]] constexpr bool is_message(c10d::OpType type) noexcept {
    return type == c10d::OpType::SEND || type == c10d::OpType::RECV;
}

struct Call;
// ProcessGroupNCCL's name for the call's event in the profiler: "nccl:all_reduce".
[[nodiscard]] std::string profiler_title(const Call& call, int rank);

struct Call {
    static constexpr std::uint8_t kNoReduction = 255;

    c10d::OpType type = c10d::OpType::UNKNOWN;
    c10::ScalarType dtype = c10::ScalarType::Byte;
    std::uint8_t reduction = kNoReduction;  // c10d::ReduceOp::RedOpType
    int root = -1;                          // in the group; or the peer of a send or receive
    std::uint64_t root_in_job = 0;          // the same rank, as texts name it
    c10::DeviceIndex device = 0;
    std::uint64_t physical = 0;           // physical_device of it
    std::int64_t sent = 0, received = 0;  // elements of this rank's tensors
    std::uint64_t list = 0;               // of a coalesced call: hash_of its tensors
    // For an all-to-all: bytes to and from each rank.
    std::vector<std::int64_t> send_bytes, receive_bytes;
    std::string line;          // "train.py:12" of the user's; empty if no Python line called
    std::uint64_t number = 0;  // of the group's collectives, or of the pair's messages, from 1
};

// "all_reduce(SUM, float32, 16 elements)", without the line.
[[nodiscard]] std::string described(const Call& call);
// "at train.py:12", or words for a call that no Python line made.
[[nodiscard]] std::string place(const Call& call);

// A call as a fixed number of bytes, which depends on the number of ranks alone.
[[nodiscard]] std::vector<std::uint8_t> packed(const Call& call, int ranks);
[[nodiscard]] Call unpacked(const std::uint8_t* bytes, int ranks);
[[nodiscard]] std::size_t packed_size(int ranks) noexcept;

// Throws c10::DistBackendError unless the calls, one of each rank, fit together. `in_job`: the
// ranks' numbers in the whole job.
void check_agreement(const std::vector<Call>& calls, const std::vector<std::uint64_t>& in_job);
// Throws it unless a message's sender and receiver fit together.
void check_message(const Call& sent, const Call& received, std::uint64_t from, std::uint64_t to);

// A hash of the dtype and size of each tensor, in order.
[[nodiscard]] std::uint64_t hash_of(const std::vector<at::Tensor>& tensors);

// Identifies this process's device among those of all processes: a hash of the machine, or of
// torchrun's node, and the device's index.
[[nodiscard]] std::uint64_t physical_device(c10::DeviceIndex device);

}  // namespace compat::shim::simulate

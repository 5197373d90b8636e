#include "simulate/nccl/call.h"

#include <c10/util/Exception.h>
#include <c10/util/hash.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "simulate/nccl/errors.h"

namespace compat::shim::simulate {
namespace {

using c10d::OpType;

struct Name {
    OpType type;
    std::string_view name;   // in Python
    std::string_view title;  // for the profiler
    std::string_view param;  // for the profiler's record_param_comms
};
constexpr std::array kNames{
    Name{OpType::BROADCAST, "broadcast", "nccl:broadcast", "broadcast"},
    Name{OpType::ALLREDUCE, "all_reduce", "nccl:all_reduce", "allreduce"},
    Name{OpType::ALLREDUCE_COALESCED, "all_reduce_coalesced", "nccl:allreduce_coalesced",
         "allreduce_coalesced"},
    Name{OpType::REDUCE, "reduce", "nccl:reduce", "reduce"},
    Name{OpType::ALLGATHER, "all_gather", "nccl:all_gather", "all_gather"},
    Name{OpType::_ALLGATHER_BASE, "all_gather_into_tensor", "nccl:_all_gather_base",
         "_allgather_base"},
    Name{OpType::ALLGATHER_COALESCED, "all_gather_coalesced", "nccl:all_gather_coalesced",
         "allgather_coalesced"},
    Name{OpType::GATHER, "gather", "nccl:gather", "gather"},
    Name{OpType::SCATTER, "scatter", "nccl:scatter", "scatter"},
    Name{OpType::REDUCE_SCATTER, "reduce_scatter", "nccl:reduce_scatter", "reduce_scatter"},
    Name{OpType::ALLTOALL_BASE, "all_to_all_single", "nccl:all_to_all", "all_to_all"},
    Name{OpType::ALLTOALL, "all_to_all", "nccl:all_to_all", "all_to_all"},
    Name{OpType::SEND, "send", "nccl:send", "send"},
    Name{OpType::RECV, "recv", "nccl:recv", "recv"},
    Name{OpType::BARRIER, "barrier", "nccl:all_reduce_barrier", "barrier"},
    Name{OpType::_REDUCE_SCATTER_BASE, "reduce_scatter_tensor", "nccl:_reduce_scatter_base",
         "_reduce_scatter_base"},
    Name{OpType::COALESCED, "coalesced", "nccl:coalesced", "coalesced"},
};

const Name& name_of(OpType type) noexcept {
    static constexpr Name kOther{OpType::UNKNOWN, "collective", "nccl:collective", "collective"};
    const auto* const found = std::find_if(kNames.begin(), kNames.end(),
                                           [&](const Name& each) { return each.type == type; });
    return found == kNames.end() ? kOther : *found;
}

constexpr std::array<std::string_view, 10> kReductions{
    "SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM", "UNUSED"};

// Plain memory, the same in every process of one build.
struct Packed {
    std::uint64_t number;
    std::uint64_t physical;
    std::uint64_t root_in_job;
    std::uint64_t list;
    std::int64_t sent, received;
    std::int32_t type, dtype, reduction, root, device;
    char line[220];
};

// Keeps the end, which tells more of a path than its beginning.
std::string_view shortened(std::string_view line, std::size_t size) {
    return line.substr(line.size() - std::min(line.size(), size));
}

// Python's name: "float32".
std::string dtype_name(c10::ScalarType dtype) {
    return std::string(c10::getDtypeNames(dtype).first);
}

std::string rank_name(std::uint64_t rank) { return "rank " + std::to_string(rank); }

[[noreturn]] void disagree(const Call& one, std::uint64_t one_rank, const Call& other,
                           std::uint64_t other_rank, std::string_view why) {
    const auto side = [](const Call& call, std::uint64_t rank) {
        return rank_name(rank) + " calls " + described(call) + " " + place(call);
    };
    throw_backend_error("Collectives do not match: " + std::string(why) + ": " +
                        side(one, one_rank) + "; " + side(other, other_rank) +
                        ". With NCCL this hangs until the time-out, or corrupts memory.");
}

// A property on which ranks must agree, and the error's words if they do not.
struct Agreement {
    std::string_view what;
    bool (*agree)(const Call& one, const Call& other);
};
constexpr std::array kAgreements{
    Agreement{"ranks call different collectives",
              [](const Call& a, const Call& b) { return a.type == b.type; }},
    Agreement{"ranks disagree on the dtype",
              [](const Call& a, const Call& b) { return a.dtype == b.dtype; }},
    Agreement{"ranks disagree on the reduction",
              [](const Call& a, const Call& b) { return a.reduction == b.reduction; }},
    Agreement{"ranks disagree on the root",
              [](const Call& a, const Call& b) { return a.root == b.root; }},
    Agreement{"ranks disagree on the number of elements",
              [](const Call& a, const Call& b) {
                  if (a.send_bytes.empty() != b.send_bytes.empty()) return false;
                  return !a.send_bytes.empty() || (a.sent == b.sent && a.received == b.received);
              }},
    Agreement{"ranks disagree on the tensors of the list",
              [](const Call& a, const Call& b) { return a.list == b.list; }}};

}  // namespace

std::string_view collective_name(OpType type) noexcept { return name_of(type).name; }

std::string param_name(c10d::OpType type) { return std::string(name_of(type).param); }

std::string profiler_title(const Call& call, int rank) {
    std::string title(name_of(call.type).title);
    const auto ranks = [&](const char* arrow) {
        return " " + std::to_string(rank) + arrow + std::to_string(call.root);
    };
    if (call.type == OpType::SEND) title += ranks("->");
    if (call.type == OpType::RECV) title += ranks("<-");
    return title;
}

std::string described(const Call& call) {
    std::string text(collective_name(call.type));
    if (call.type == OpType::BARRIER) return text;
    text += '(';
    if (call.reduction < kReductions.size())
        text += std::string(kReductions[call.reduction]) + ", ";
    const std::int64_t elements = std::max(call.sent, call.received);
    text += dtype_name(call.dtype) + ", " + std::to_string(elements) +
            (elements == 1 ? " element" : " elements");
    if (call.type == OpType::SEND)
        text += ", to " + rank_name(call.root_in_job);
    else if (call.type == OpType::RECV)
        text += ", from " + rank_name(call.root_in_job);
    else if (call.root >= 0)
        text += ", root " + std::to_string(call.root_in_job);
    return text + ')';
}

std::string place(const Call& call) {
    return call.line.empty() ? "in a thread without Python code (a backward pass)"
                             : "at " + call.line;
}

std::size_t packed_size(int ranks) noexcept {
    return sizeof(Packed) + 2 * static_cast<std::size_t>(ranks) * sizeof(std::int64_t);
}

std::vector<std::uint8_t> packed(const Call& call, int ranks) {
    Packed fixed{};
    fixed.number = call.number;
    fixed.physical = call.physical;
    fixed.sent = call.sent;
    fixed.received = call.received;
    fixed.type = static_cast<std::int32_t>(call.type);
    fixed.dtype = static_cast<std::int32_t>(call.dtype);
    fixed.reduction = call.reduction;
    fixed.root = call.root;
    fixed.root_in_job = call.root_in_job;
    fixed.device = call.device;
    fixed.list = call.list;
    const std::string_view line = shortened(call.line, sizeof fixed.line - 1);
    std::memcpy(fixed.line, line.data(), line.size());

    std::vector<std::uint8_t> bytes(packed_size(ranks), 0xff);  // no sizes: -1
    std::memcpy(bytes.data(), &fixed, sizeof fixed);
    std::uint8_t* at = bytes.data() + sizeof fixed;
    for (const auto* sizes : {&call.send_bytes, &call.receive_bytes}) {
        if (!sizes->empty()) std::memcpy(at, sizes->data(), sizes->size() * sizeof(std::int64_t));
        at += static_cast<std::size_t>(ranks) * sizeof(std::int64_t);
    }
    return bytes;
}

Call unpacked(const std::uint8_t* bytes, int ranks) {
    Packed fixed;
    std::memcpy(&fixed, bytes, sizeof fixed);
    fixed.line[sizeof fixed.line - 1] = 0;
    Call call;
    call.number = fixed.number;
    call.physical = fixed.physical;
    call.sent = fixed.sent;
    call.received = fixed.received;
    call.type = static_cast<OpType>(fixed.type);
    call.dtype = static_cast<c10::ScalarType>(fixed.dtype);
    call.reduction = static_cast<std::uint8_t>(fixed.reduction);
    call.root = fixed.root;
    call.root_in_job = fixed.root_in_job;
    call.device = static_cast<c10::DeviceIndex>(fixed.device);
    call.list = fixed.list;
    call.line = fixed.line;
    const auto count = static_cast<std::size_t>(ranks);
    const std::uint8_t* at = bytes + sizeof fixed;
    for (auto* sizes : {&call.send_bytes, &call.receive_bytes}) {
        std::int64_t first = -1;
        if (count > 0) std::memcpy(&first, at, sizeof first);
        if (first >= 0) {
            sizes->resize(count);
            std::memcpy(sizes->data(), at, count * sizeof(std::int64_t));
        }
        at += count * sizeof(std::int64_t);
    }
    return call;
}

void check_agreement(const std::vector<Call>& calls, const std::vector<std::uint64_t>& in_job) {
    for (std::size_t rank = 0; rank < calls.size(); ++rank)
        for (std::size_t before = 0; before < rank; ++before)
            if (calls[rank].physical == calls[before].physical)
                throw_duplicate_device(rank, before, calls[rank].device);
    for (std::size_t rank = 1; rank < calls.size(); ++rank)
        for (const Agreement& each : kAgreements)
            if (!each.agree(calls[0], calls[rank]))
                disagree(calls[0], in_job[0], calls[rank], in_job[rank], each.what);
    if (calls[0].send_bytes.empty()) return;
    for (std::size_t from = 0; from < calls.size(); ++from)
        for (std::size_t to = 0; to < calls.size(); ++to)
            if (calls[from].send_bytes[to] != calls[to].receive_bytes[from])
                disagree(calls[from], in_job[from], calls[to], in_job[to],
                         rank_name(in_job[from]) + " sends " +
                             std::to_string(calls[from].send_bytes[to]) + " bytes to " +
                             rank_name(in_job[to]) + ", which receives " +
                             std::to_string(calls[to].receive_bytes[from]));
}

void check_message(const Call& sent, const Call& received, std::uint64_t from, std::uint64_t to) {
    if (sent.dtype != received.dtype)
        disagree(sent, from, received, to, "ranks disagree on the dtype");
    if (sent.sent != received.received)
        disagree(sent, from, received, to, "ranks disagree on the number of elements");
}

std::uint64_t hash_of(const std::vector<at::Tensor>& tensors) {
    std::size_t hash = tensors.size();
    for (const at::Tensor& each : tensors)
        hash = c10::get_hash(hash, static_cast<int>(each.scalar_type()), each.numel());
    return hash;
}

namespace {

std::uint64_t find_physical_device(c10::DeviceIndex device) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    std::string name(host.data());
    // Several torchrun agents on one machine each simulate a machine.
    if (const char* node = std::getenv("GROUP_RANK")) name += std::string("/") + node;
    std::string which = std::to_string(device);
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
        std::string_view rest(visible);
        for (int skipped = 0; skipped < device && !rest.empty(); ++skipped)
            rest.remove_prefix(std::min(rest.find(',') + 1, rest.size()));
        if (!rest.empty()) which = rest.substr(0, rest.find(','));
    }
    return std::hash<std::string>{}(name + "#" + which);
}

}  // namespace

// Cached, because each collective asks. The first answer holds for the process's life.
std::uint64_t physical_device(c10::DeviceIndex device) {
    static std::mutex mutex;
    static auto* known = new std::map<c10::DeviceIndex, std::uint64_t>();
    const std::lock_guard lock(mutex);
    const auto found = known->find(device);
    if (found != known->end()) return found->second;
    return known->emplace(device, find_physical_device(device)).first->second;
}

}  // namespace compat::shim::simulate

#include "simulate/kernels/mps_values.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/torch_version.h"

namespace compat::shim::simulate {
namespace {

using at::Tensor;

// ---- sort: mps/operations/Sort.mm and mps/kernels/Sort.metal, from torch 2.13 on. Older versions
// sort with MPSGraph, whose order of equal elements is not published.

constexpr std::int64_t kThreadElements = 4;  // ILP_PER_THREAD
constexpr std::size_t kGroup = 128;          // elements of 32 lanes, sorted by one network

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// select_tptg, in elements.
std::int64_t elements_per_block(std::int64_t size, std::int64_t element_bytes, std::int64_t rows) {
    std::int64_t wanted = ceil_div(size, kThreadElements);
    if (rows <= 2 && size > 2048) {
        const std::int64_t block = std::max<std::int64_t>(2048, ceil_div(size, 4 / rows));
        wanted = std::min(wanted, block / kThreadElements);
    }
    std::int64_t threads = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(wanted))), 32, 1024);
    if (element_bytes > 4) threads = std::min<std::int64_t>(threads, 256);
    if (threads == 1024 && size > 1024 * kThreadElements && rows >= 8) threads = 512;
    return threads * kThreadElements;
}

// should_use_radix: that sort is stable.
bool sorts_by_radix(std::int64_t size, std::int64_t element_bytes, std::int64_t rows) {
    if (element_bytes > 4) return false;
    const std::int64_t blocks = ceil_div(size, elements_per_block(size, element_bytes, rows));
    const int merges = std::bit_width(static_cast<std::uint64_t>(blocks - 1));
    const int passes = element_bytes == 4 ? 4 : 2;
    return 3 * passes <= 2 * (1 + merges) + 2;
}

struct Element {
    std::int64_t rank, index;  // equal elements have one rank
};

// simd_bitonic_sort4<STABLE=false>. A thread has four elements. Equal elements change places within
// a thread, and between threads in the descending halves.
void sort_group(std::array<Element, kGroup>& group) {
    for (std::size_t run = 2; run <= kGroup; run *= 2)
        for (std::size_t step = run / 2; step > 0; step /= 2)
            for (std::size_t low = 0; low < kGroup; ++low) {
                const std::size_t high = low ^ step;
                if (high < low) continue;
                const bool ascending = (low & run) == 0;
                const bool in_thread = step < static_cast<std::size_t>(kThreadElements);
                Element &a = group[low], &b = group[high];
                const bool in_order = in_thread ? a.rank < b.rank : a.rank <= b.rank;
                if (in_order != ascending) std::swap(a, b);
            }
}

// Orders a row's elements as the kernels do: groups by the network, then stable merges. Padding of
// the last group sorts last; on a Mac it equals the dtype's largest value.
void order_row(const std::int64_t* ranks, std::int64_t size, std::vector<Element>& row) {
    const std::int64_t beyond = size;
    row.clear();
    for (std::int64_t start = 0; start < size; start += kGroup) {
        std::array<Element, kGroup> group;
        for (std::size_t i = 0; i < kGroup; ++i) {
            const std::int64_t index = start + static_cast<std::int64_t>(i);
            group[i] = {index < size ? ranks[index] : beyond, index};
        }
        sort_group(group);
        for (const Element& each : group)
            if (each.index < size) row.push_back(each);
    }
    std::ranges::stable_sort(row, {}, &Element::rank);
}

// Equal elements have one rank; ranks rise in the order of the sort. NaNs are equal, as in
// c10::metal::less.
Tensor ranks_of(const Tensor& values, const Tensor& indices) {
    const std::int64_t size = values.size(-1);
    const Tensor left = values.narrow(-1, 0, size - 1), right = values.narrow(-1, 1, size - 1);
    Tensor changes = left != right;
    if (values.is_floating_point()) changes &= ~(left.isnan() & right.isnan());
    const Tensor sorted = at::zeros(values.sizes(), at::kLong);
    sorted.narrow(-1, 1, size - 1).copy_(changes.cumsum(-1));
    return at::empty_like(sorted).scatter_(-1, indices, sorted);
}

void sort(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
    const auto given = torch::jit::last(stack, op.schema().arguments().size());
    c10::IValue& asked = *(stack.end() - static_cast<std::ptrdiff_t>(given.size()) + 1);
    const std::int64_t dim = given[2].toInt();
    const bool stable = asked.toOptional<bool>().value_or(false);
    asked = true;  // else the CPU's order depends on its instruction set
    op.callBoxed(&stack);
    Tensor values = stack.end()[-2].toTensor(), indices = stack.end()[-1].toTensor();
    if (stable || values.dim() == 0 || values.numel() == 0) return;
    const std::int64_t size = values.size(dim), rows = values.numel() / size;
    if (size < 2 || sorts_by_radix(size, values.element_size(), rows)) return;
    const Tensor order = indices.movedim(dim, -1).contiguous();
    const Tensor ranks = ranks_of(values.movedim(dim, -1), order).contiguous();
    if (ranks.amax(-1).eq(size - 1).all().item<bool>()) return;  // nothing is equal
    const Tensor changed = at::empty_like(order);
    auto* to = static_cast<std::int64_t*>(changed.mutable_data_ptr());
    const auto* from = static_cast<const std::int64_t*>(ranks.const_data_ptr());
    std::vector<Element> row;
    for (std::int64_t i = 0; i < rows; ++i) {
        order_row(from + i * size, size, row);
        for (const Element& each : row) *to++ = each.index;
    }
    indices.copy_(changed.movedim(-1, dim));
}

// ---- log_softmax: mps/operations/Activation.mm until torch 2.14: a graph, in which every tensor
// has the input's dtype.

void log_softmax(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
    const std::size_t count = op.schema().arguments().size();
    const auto given = torch::jit::last(stack, count).vec();
    const Tensor self = given[0].toTensor();
    op.callBoxed(&stack);
    if (self.numel() == 0 ||
        (self.scalar_type() != at::kHalf && self.scalar_type() != at::kBFloat16))
        return;
    const std::int64_t dim = given[1].toInt();
    const Tensor shifted = self - self.amax(dim, /*keepdim=*/true);
    const Tensor sum = shifted.exp().sum(dim, /*keepdim=*/true);
    stack.back().toTensor().copy_(shifted - sum.log());
}

struct Row {
    std::string_view op;
    bool here;
    Computation run;
};
constexpr bool kOwnSort = !COMPAT_TORCH_BEFORE(2, 13),
               kGraphLogSoftmax = COMPAT_TORCH_BEFORE(2, 15);
constexpr std::array<Row, 4> kRows{{{"sort.stable", kOwnSort, &sort},
                                    {"sort.values_stable", kOwnSort, &sort},
                                    {"_log_softmax", kGraphLogSoftmax, &log_softmax},
                                    {"_log_softmax.out", kGraphLogSoftmax, &log_softmax}}};

}  // namespace

Computation mps_computation(std::string_view op) noexcept {
    for (const Row& row : kRows)
        if (row.here && row.op == op) return row.run;
    return nullptr;
}

}  // namespace compat::shim::simulate

// LU factorisation without pivoting, which CUDA has and the CPU lacks, because LAPACK does. With
// pivoting, the CPU's kernels run.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/stack.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "simulate/cpu_aliases.h"
#include "simulate/kernel.h"
#include "simulate/native_kernels.h"
#include "simulate/refusals.h"

namespace compat::shim::simulate {
namespace {

using at::Tensor;

struct Factors {
    Tensor lu, pivots, info;  // info: the first pivot that is 0, counted from 1; else 0
};

// Right-looking elimination, column by column.
Factors factors_without_pivots(const Tensor& matrix) {
    Tensor lu = matrix.clone(at::MemoryFormat::Contiguous);
    const int64_t rows = lu.size(-2), columns = lu.size(-1), count = std::min(rows, columns);
    const auto batch = lu.sizes().slice(0, static_cast<std::size_t>(lu.dim() - 2));
    Tensor info = at::zeros(batch, lu.options().dtype(at::kInt));
    for (int64_t k = 0; k < count; ++k) {
        const Tensor pivot = lu.select(-1, k).select(-1, k);
        info.copy_(
            at::where((info == 0).logical_and(pivot == 0), at::full_like(info, k + 1), info));
        if (k + 1 == rows) break;
        Tensor below = lu.select(-1, k).narrow(-1, k + 1, rows - k - 1);
        below.div_(pivot.unsqueeze(-1));
        if (k + 1 == columns) break;
        lu.narrow(-2, k + 1, rows - k - 1)
            .narrow(-1, k + 1, columns - k - 1)
            .sub_(below.unsqueeze(-1) *
                  lu.select(-2, k).narrow(-1, k + 1, columns - k - 1).unsqueeze(-2));
    }
    std::vector<int64_t> sizes(batch.begin(), batch.end());
    sizes.push_back(count);
    Tensor pivots = at::arange(1, count + 1, info.options()).expand(sizes).contiguous();
    return {std::move(lu), std::move(pivots), std::move(info)};
}

// Returns the results, copied to the op's output arguments (its last ones) if it has any.
void give(torch::jit::Stack& stack, std::size_t arguments, std::vector<Tensor> results, bool out) {
    if (out)
        for (std::size_t i = 0; i < results.size(); ++i) {
            Tensor given = stack[stack.size() - results.size() + i].toTensor();
            at::native::resize_output(given, results[i].sizes());
            results[i] = given.copy_(results[i]);
        }
    torch::jit::drop(stack, arguments);
    for (Tensor& each : results) stack.emplace_back(std::move(each));
}

// linalg_lu_factor_ex(A, *, pivot, check_errors) and its `out`.
void lu_factor_ex(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const std::size_t arguments = op.schema().arguments().size();
    const auto given = torch::jit::last(*stack, arguments);
    check_rules(op, given);
    if (given[1].toBool()) return run_on_cpu(op, stack);
    const Tensor matrix = given[0].toTensor();
    const bool check_errors = given[2].toBool();
    std::vector<Tensor> results;
    {
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        CpuAliases aliases(matrix.device());
        const Factors factors = factors_without_pivots(aliases.to_cpu(matrix));
        if (check_errors)
            at::_linalg_check_errors(factors.info, "torch.linalg.lu_factor_ex", matrix.dim() == 2);
        for (const Tensor& each : {factors.lu, factors.pivots, factors.info})
            results.push_back(aliases.to_device(each));
    }
    give(*stack, arguments, std::move(results), arguments > 3);
}

// linalg_lu(A, *, pivot) and its `out`: without pivoting the permutation is an empty tensor.
void lu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const std::size_t arguments = op.schema().arguments().size();
    const auto given = torch::jit::last(*stack, arguments);
    check_rules(op, given);
    if (given[1].toBool()) return run_on_cpu(op, stack);
    const Tensor matrix = given[0].toTensor();
    const int64_t rows = matrix.size(-2), columns = matrix.size(-1);
    const int64_t count = std::min(rows, columns);
    std::vector<Tensor> results;
    {
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        CpuAliases aliases(matrix.device());
        const Tensor factors = factors_without_pivots(aliases.to_cpu(matrix)).lu;
        Tensor lower = factors.narrow(-1, 0, count).tril(-1);
        lower.diagonal(0, -2, -1).fill_(1);
        for (const Tensor& each :
             {at::empty({0}, factors.options()), lower, factors.narrow(-2, 0, count).triu()})
            results.push_back(aliases.to_device(each));
    }
    give(*stack, arguments, std::move(results), arguments > 2);
}

}  // namespace

void add_lu_kernels(torch::Library& dense) {
    for (const char* name : {"linalg_lu_factor_ex", "linalg_lu_factor_ex.out"})
        dense.impl(name, torch::CppFunction::makeFromBoxedFunction<&lu_factor_ex>());
    for (const char* name : {"linalg_lu", "linalg_lu.out"})
        dense.impl(name, torch::CppFunction::makeFromBoxedFunction<&lu>());
}

}  // namespace compat::shim::simulate

#include "simulate/kernels/assertions.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>

#include "simulate/accelerator.h"
#include "simulate/kernel.h"
#include "simulate/refusals.h"

namespace compat::shim::simulate {
namespace {

std::atomic<bool> lost{false};

bool matches(std::string_view text, std::string_view pattern) {
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return text == pattern;
    if (!text.starts_with(pattern.substr(0, star))) return false;
    text.remove_prefix(star);
    pattern.remove_prefix(star + 1);
    for (;; text.remove_prefix(1)) {
        if (matches(text, pattern)) return true;
        if (text.empty()) return false;
    }
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace

void check_asserted(const c10::OperatorHandle& op, const c10::Error& error) {
    const std::string name = name_in_rules(op.schema());
    const std::string_view text = first_line(error.what_without_backtrace());
    const auto rows = std::ranges::equal_range(accelerator().assertions(), std::string_view(name),
                                               {}, &Assertion::op);
    if (std::ranges::none_of(rows, [&](const Assertion& row) { return matches(text, row.text); }))
        return;
    lost = accelerator().traits().lost_by_assertion;
    if (lost)
        std::fprintf(stderr, "aten::%s: Assertion on the simulated device failed: %.*s\n",
                     name.c_str(), static_cast<int>(text.size()), text.data());
    accelerator().assertion_failed(std::string(text));
}

void check_not_lost() {
    if (!lost.load(std::memory_order_relaxed)) [[likely]]
        return;
    count_kernel();  // the test asked for the device, and has its answer
    accelerator().assertion_failed({});
}

}  // namespace compat::shim::simulate

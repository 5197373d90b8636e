#include "runner/exec/event.h"

#include <fmt/format.h>

#include "runner/base/host.h"

namespace compat::exec {

namespace {

struct Describe {
    std::string operator()(const Exited& e) const { return fmt::format("exit code {}", e.code); }
    std::string operator()(const Signaled& s) const { return signal_name(s.signal); }
    std::string operator()(const TimedOut& t) const {
        return fmt::format("{} after {}", t.of_test ? "test timed out" : "timed out",
                           human(std::chrono::duration<double>(t.limit)));
    }
    std::string operator()(const OutOfMemory& m) const {
        constexpr double kMiB = 1 << 20;
        return fmt::format("grew to {:.0f} MiB, past its limit of {:.0f} MiB",
                           static_cast<double>(m.seen_bytes) / kMiB,
                           static_cast<double>(m.limit_bytes) / kMiB);
    }
    std::string operator()(const Stopped& s) const { return s.reason; }
    std::string operator()(const SpawnFailed& s) const { return s.error; }
};

}  // namespace

std::string describe(const Outcome& outcome) { return std::visit(Describe{}, outcome); }

}  // namespace compat::exec

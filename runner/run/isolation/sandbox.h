// The options of bubblewrap for a run's children, and whether it works on this host. Not here: the
// processes in a sandbox (runner/exec/sandbox.h), the run's folders (isolation.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/exec/sandbox.h"
#include "runner/plan/command.h"

namespace compat::run {

struct SandboxPlan {
    // Files of the host that the children see read-only: the source, the environment, the runner.
    // They see them even below a folder that is the sandbox's own (/tmp).
    std::vector<fs::path> visible;
    // Holds the folders of all attempts, of which each child may write to its own. Empty: none.
    fs::path attempts;
    // A folder of the host, and where the children see it; they may write to it.
    using Mount = std::pair<fs::path, fs::path>;
    Mount source;  // the copy
    Mount home;
    std::vector<fs::path> in_source;  // visible in it, though not of the copy
    std::vector<fs::path> writable;   // folders of the host that all children share
    std::vector<fs::path> homes;      // the user's, of which credentials are hidden
    bool network = false;
    std::uint64_t tmp_bytes = 0;  // limit of each temporary folder of each child
    std::optional<exec::SandboxPort> port{};
};

// The TMPDIR of each child in a sandbox.
inline constexpr const char* kSandboxTmp = "/tmp";
// HOME: the same in every run, as it stands in messages.
inline constexpr const char* kSandboxHome = "/run/home";

// Errors: environment, where there is no bubblewrap.
[[nodiscard]] Expected<std::shared_ptr<const exec::Sandbox>> make_sandbox(const SandboxPlan& plan);

// Makes one and forks in it, as a run does. Errors: environment, and what to do.
[[nodiscard]] Expected<void> check_sandbox();

// The inherited variables that a sandbox lets in.
[[nodiscard]] plan::Variables variables_for_sandbox(const plan::Variables& inherited, bool network);

}  // namespace compat::run

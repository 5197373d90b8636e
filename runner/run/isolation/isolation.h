// Keeps a run's tests apart from the host: `tree` gives them a private copy of the source and
// folders of their own, `sandbox` also takes the rest of the host from them. Not here: what a
// sandbox is made of (sandbox.h), how its processes are watched (runner/exec/sandbox.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "parsers/diagnosis/diagnosis.h"
#include "runner/base/files/fs.h"
#include "runner/base/files/temporary_folder.h"
#include "runner/base/isolation/written_files.h"
#include "runner/exec/event.h"
#include "runner/exec/sandbox.h"
#include "runner/prepare/prepare.h"
#include "runner/run/isolation/sandbox.h"
#include "runner/run/isolation/source_copy.h"

namespace compat::run {

struct Ready;

// The folders of one run, or of one collection of tests. They are removed with the value.
class Isolation {
  public:
    // Changes `ready` so that its children are isolated as the settings say; does nothing where
    // that is `off`, or where they are already. `folder` is the run's: the attempts write below
    // its `attempts`. `say` gets a line about the copy. Errors: environment, io.
    [[nodiscard]] static Expected<void> begin(Ready& ready, const fs::path& folder,
                                              const fs::path& attempts, const prepare::Say& say);
    ~Isolation();
    Isolation(const Isolation&) = delete;
    Isolation& operator=(const Isolation&) = delete;

    // Null: there is none.
    [[nodiscard]] std::shared_ptr<const exec::Sandbox> sandbox() const { return sandbox_; }
    // Lets the tests' sandbox write to a folder that they share, and answers on a port of theirs.
    // Errors: environment.
    [[nodiscard]] Expected<void> reach_hub(const fs::path& home,
                                           std::optional<exec::SandboxPort> port);
    // The sandbox of a program that belongs to no test: without a network, it writes to `folder`
    // alone. Errors: environment, io.
    [[nodiscard]] Expected<std::shared_ptr<const exec::Sandbox>> sandbox_of_helper(
        const fs::path& folder) const;
    // In the TMPDIR of a sandbox that is gone.
    void add_left(const exec::LeftFiles& left);
    // Files that the tests have written until now.
    [[nodiscard]] std::vector<WrittenFiles> writes() const;

  private:
    Isolation() = default;
    [[nodiscard]] Expected<void> copy_source_of(const Ready& ready, const prepare::Say& say);
    [[nodiscard]] Expected<void> enter_tree(plan::ChildSettings& child, const fs::path& home);
    [[nodiscard]] Expected<void> enter_sandbox(plan::ChildSettings& child, SandboxPlan plan);

    fs::path folder_;                     // the source's copy and HOME
    std::optional<TemporaryFolder> tmp_;  // TMPDIR outside a sandbox; empty: in one
    SourceCopy source_;
    SandboxPlan plan_;
    std::shared_ptr<const exec::Sandbox> sandbox_;
    WrittenFiles left_{"tmp"};
};

// Whether the settings leave the children the network.
[[nodiscard]] bool has_network(const Ready& ready);

// The children's isolation by the settings, for the parsers of their files.
[[nodiscard]] parsers::Isolation isolation_of(const Ready& ready);

}  // namespace compat::run

// The hub of one run: starts it as the settings say, tells the children of it, and takes what it
// did at the end. Not here: what a hub answers (runner/hub), and the variables by which clients
// find it (runner/plan/command.h).
#pragma once

#include <memory>
#include <optional>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/base/run/hub_use.h"
#include "runner/hub/hub.h"
#include "runner/run/ready.h"

namespace compat::run {

// Refuses settings that contradict each other, and a hub.names.json that is not valid. Errors:
// usage, suite.
[[nodiscard]] Expected<void> check_hub_settings(const config::Settings& settings,
                                                const suites::Suite& suite);

// The file that names what is recorded: the settings' one, else that of the suite's folder; for a
// project without suite.json in the results, because nothing is written to it unasked.
[[nodiscard]] fs::path hub_lock_of(const config::Settings& settings, const suites::Suite& suite);

// The work of a run's hubs so far, by the log in its folder: also of a runner that was killed.
// Empty: it had none.
[[nodiscard]] std::optional<HubUse> hub_use_so_far(const fs::path& run_folder);

class RunHub {
  public:
    // Changes `ready` so that its children ask a hub of their own; does nothing where the setting
    // is `off`, or where they have one. Call it once they are isolated. `folder` is the run's.
    // `say` gets what people should know. Errors: environment, usage, suite, io.
    [[nodiscard]] static Expected<void> begin(Ready& ready, const fs::path& folder,
                                              const prepare::Say& say);
    ~RunHub();
    RunHub(const RunHub&) = delete;
    RunHub& operator=(const RunHub&) = delete;

    // Stops it. Later calls return the same.
    [[nodiscard]] HubUse finish();

  private:
    explicit RunHub(fs::path folder);
    [[nodiscard]] Expected<void> start(Ready& ready, const prepare::Say& say);
    [[nodiscard]] Expected<hub::Program> generator(const Ready& ready) const;
    // Where the generator reads what the suite states of names; empty: it states nothing.
    [[nodiscard]] Expected<fs::path> stated_names(const suites::Suite& suite) const;

    // The run's: the clients' cache, and what the generator makes.
    fs::path home_, made_, log_;
    std::shared_ptr<hub::Hub> hub_;
};

}  // namespace compat::run

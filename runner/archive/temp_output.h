// Output that is removed if its command fails or is interrupted. Not for a run that is interrupted:
// its folder stays, and `resume` continues it.
#pragma once

#include <csignal>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runner/base/files/fs.h"

namespace compat::archive {

// While it lives kTerminationSignals, each unless it is ignored, remove `path` and what was added,
// whatever they are by then, and end the process with ExitCode::interrupted. One at a time in a
// process.
class TempOutput {
  public:
    // `on_interrupt` reports an interruption, on another thread, as the last call before the
    // process ends; `kept`: whether `keep` was called before it.
    TempOutput(fs::path path, std::function<void(bool kept)> on_interrupt);
    ~TempOutput();  // removes it, too, unless it was kept
    TempOutput(const TempOutput&) = delete;
    TempOutput& operator=(const TempOutput&) = delete;

    // Before its folder is made.
    void add(fs::path path);
    // From here on an interruption waits for `keep` or the destructor.
    void hold();
    void keep(const fs::path& path);

  private:
    void watch();
    void remove() const;

    sigset_t signals_;
    void (*before_)(int) = nullptr;  // what SIGUSR2, which ends the watch, did
    std::vector<fs::path> paths_;  // to remove
    std::function<void(bool kept)> on_interrupt_;
    std::mutex deciding_;
    std::unique_lock<std::mutex> held_;
    bool kept_ = false;
    bool over_ = false;
    std::thread watcher_;
};

}  // namespace compat::archive

// What a command makes and must not leave half-made: gone again where the command gives up or is
// interrupted. Not for what a run leaves when it is interrupted: that stays, and is gone on with
// (resume.cc).
#pragma once

#include <csignal>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

namespace compat::app {

// While it lives SIGINT, SIGTERM and SIGHUP, each unless it is ignored, remove `path`, whatever it
// is by then, and end the process with ExitCode::interrupted. One at a time in a process.
class HalfMade {
  public:
    // `kept`: what an interruption says once `keep` was called.
    HalfMade(std::filesystem::path path, std::string kept);
    ~HalfMade();  // removes it, too, unless it was kept
    HalfMade(const HalfMade&) = delete;
    HalfMade& operator=(const HalfMade&) = delete;

    // From here on an interruption waits until it is known whether it is to be kept.
    void hold();
    void keep();

  private:
    void watch();
    void remove() const;

    sigset_t signals_;
    std::filesystem::path path_;
    std::string said_of_kept_;
    std::mutex deciding_;
    std::unique_lock<std::mutex> held_;
    bool kept_ = false;
    bool over_ = false;
    std::thread watcher_;
};

}  // namespace compat::app

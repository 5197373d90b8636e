// A program of ours that is asked in lines on its input and answers in lines on its output. It ends
// with this object, whatever it does. Not for tests (runner/exec), nor for the lines' meaning.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "runner/base/error.h"
#include "runner/base/files/fd.h"
#include "runner/hub/hub.h"

namespace compat::hub {

class LineProcess {
  public:
    // All are called by a thread of this object, one at a time, with all signals blocked.
    struct Events {
        std::function<void(std::string_view)> line;  // without its newline
        std::function<void()> tick;                  // about once a second
        // The program ended by itself or was ended by `end`; why, with the end of its stderr.
        std::function<void(const std::string&)> ended;
    };
    // Errors: spawn.
    [[nodiscard]] static Expected<std::unique_ptr<LineProcess>> start(const Program& program,
                                                                      Events events);
    LineProcess(const LineProcess&) = delete;
    LineProcess& operator=(const LineProcess&) = delete;
    // Closes its input, gives it half a second, then kills it with all that it started. Not
    // from an event other than `ended`.
    ~LineProcess();

    // False: it does not read any more. From any thread.
    [[nodiscard]] bool send(const std::string& line);
    // Kills it, so that `ended` follows. From any thread.
    void end(std::string why);

  private:
    LineProcess(Fd input, Fd output, Fd errors, int pid, Events events);
    void read_lines();
    [[nodiscard]] std::string reap();

    Fd output_, errors_;
    int pid_;
    Events events_;
    std::mutex mutex_;
    Fd input_;         // guarded
    std::string why_;  // guarded
    std::atomic<bool> is_closing_ = false;
    std::thread thread_;  // last: it uses the others
};

}  // namespace compat::hub

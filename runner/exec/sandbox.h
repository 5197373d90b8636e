// A child in a sandbox: its process is the second of a process namespace of its own. The first, the
// init, is its parent in our place: it keeps the child's exit status until we ask for it, and
// with it everything in the namespace ends. Needs Linux. Not here: the options of the program that
// makes the namespaces (runner/run/isolation), and what a sandbox may do.
//
// The init and the child talk to us over a SOCK_SEQPACKET socket. Both announce themselves
// (`init`, `leader`), and the kernel adds their process ids as this process sees them. The child
// begins on `go`. The init answers `wait` with `ended`, the status and usage of wait4(2), and the
// files that are left in the sandbox's TMPDIR. Where the sandbox listens on a port, `init` comes
// with the listening socket.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/exec/event.h"
#include "runner/exec/fd.h"

namespace compat::exec {

// A port of each sandbox's own loopback on which somebody outside answers: the network of a sandbox
// without one.
struct SandboxPort {
    std::uint16_t number = 0;
    // Gets the listening socket before the child begins. Its result dies with the sandbox.
    std::function<std::shared_ptr<void>(Fd listening)> answer;
};

// Sandbox settings that the jobs of a run share.
struct Sandbox {
    // Makes the namespaces. Then come the options for one of them, and what is run in them.
    std::vector<std::string> argv;
    // Options of a server's: its children need a folder that can be written to, and make all of it
    // but their own read-only.
    std::vector<std::string> of_server;
    std::vector<std::string> init;  // the program and its words that make it an init (init_words)
    // For forked children (runner/harness/_compat_harness/namespaces.py), a JSON object: folders
    // that each has anew, and what stays visible in them.
    std::string forked;
    std::optional<SandboxPort> port{};
};

// The variable with `Sandbox::forked`, for the zygote alone.
inline constexpr const char* kSandboxVariable = "COMPAT_SANDBOX";
// Root's init names in it, for the zygote alone, a descriptor of a /proc that can be written and
// shows only processes.
inline constexpr const char* kProcessesVariable = "COMPAT_SANDBOX_PROCESSES";
// Stands before the name of each variable of a job until an init starts its program. Some decide
// what a program loads (LD_PRELOAD), and a suite's must not reach those that make its sandbox.
inline constexpr std::string_view kHeldVariable = "COMPAT_HELD_";
// `runner sandbox-init …`: no command for users.
inline constexpr std::string_view kInitWord = "sandbox-init";

// Makes `program` an init that listens on `port`; 0: on none. Its role follows.
[[nodiscard]] std::vector<std::string> init_words(const fs::path& program, std::uint16_t port);

// Where a sandbox shows its processes; null: this system has no sandboxes.
[[nodiscard]] const char* process_folder();

// Capabilities that root's init needs to prepare its sandbox; it drops them before any test.
[[nodiscard]] std::vector<std::string> rights_of_init();

// The child's program and its arguments, as an init runs them in the sandbox. `writable`: the
// folder of the run's that it may write to; empty: none.
[[nodiscard]] std::vector<std::string> in_sandbox(const Sandbox& sandbox,
                                                  const std::vector<std::string>& argv,
                                                  const fs::path& writable);
// A server has no socket to us of its own: its init passes on descriptor 3 and ends after its last
// child.
[[nodiscard]] std::vector<std::string> server_in_sandbox(const Sandbox& sandbox,
                                                         const std::vector<std::string>& argv);

// Two ends; ours receives the process ids of whoever writes to the other one. False: errno says
// why.
[[nodiscard]] bool open_sandbox_sockets(int (&ends)[2]);

class SandboxInit {
  public:
    struct End {
        int status = 0;  // of wait4(2)
        rusage used{};
        LeftFiles left;
    };

    // Waits until init and child have announced themselves. `outer`: the process that made the
    // namespaces, a child of ours; 0: none. Errors: spawn.
    [[nodiscard]] static Expected<std::unique_ptr<SandboxInit>> meet(const Sandbox& sandbox,
                                                                     Fd socket, int outer,
                                                                     Milliseconds timeout);
    // Ends the namespace with all its processes, and reaps `outer`.
    ~SandboxInit();
    SandboxInit(const SandboxInit&) = delete;
    SandboxInit& operator=(const SandboxInit&) = delete;

    [[nodiscard]] int leader() const { return leader_; }
    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] int outer() const { return outer_; }
    // The child may begin.
    void release();
    // Waits for the child's end. Nothing: the init is gone.
    [[nodiscard]] std::optional<End> wait(Milliseconds timeout);

  private:
    SandboxInit() = default;
    [[nodiscard]] Expected<void> listen(const Sandbox& sandbox, Fd listening);

    Fd socket_, process_;  // process_: the init's
    std::shared_ptr<void> answering_;  // on the sandbox's port
    int leader_ = 0, pid_ = 0, outer_ = 0;
};

// The program of an init: `words` follow kInitWord. Returns its exit status.
int run_sandbox_init(std::vector<std::string> words);

}  // namespace compat::exec

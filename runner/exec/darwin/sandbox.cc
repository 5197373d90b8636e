// sandbox.h on macOS, which has none.
#include "runner/exec/sandbox.h"

#include "runner/base/exit_code.h"

namespace compat::exec {

// macOS has no process namespaces; runner/run/isolation refuses a sandbox there before any job.

const char* process_folder() { return nullptr; }

std::vector<std::string> rights_of_init() { return {}; }

std::vector<std::string> init_words(const fs::path& program, std::uint16_t) {
    return {program, std::string(kInitWord)};
}

std::vector<std::string> in_sandbox(const Sandbox&, const std::vector<std::string>& argv,
                                    const fs::path&) {
    return argv;
}

std::vector<std::string> server_in_sandbox(const Sandbox&, const std::vector<std::string>& argv) {
    return argv;
}

bool open_sandbox_sockets(int (&)[2]) { return false; }

Expected<std::unique_ptr<SandboxInit>> SandboxInit::meet(const Sandbox&, Fd, int, Milliseconds) {
    return fail(ErrorKind::spawn, "sandboxes need Linux");
}

Expected<void> SandboxInit::listen(const Sandbox&, Fd) { return {}; }

SandboxInit::~SandboxInit() = default;
void SandboxInit::release() {}
std::optional<SandboxInit::End> SandboxInit::wait(Milliseconds) { return std::nullopt; }

int run_sandbox_init(std::vector<std::string>) { return static_cast<int>(ExitCode::usage); }

}  // namespace compat::exec

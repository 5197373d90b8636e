#include "runner/prepare/share.h"

#include <algorithm>
#include <system_error>

#include "runner/base/host.h"

namespace compat::prepare {

Expected<Share> find_share() {
    std::error_code error;
    const fs::path program = program_path();
    const fs::path share = program.parent_path().parent_path() / "share" / "runner";
    if (!fs::is_directory(share / "harness", error))
        return fail(ErrorKind::environment, "the data files of the runner are missing",
                    "reinstall the runner", share.string());
    return Share{share / "harness", share / "shim",  share / "suites", share / "prepare",
                 share / "shims",   share / "slurm", share / "hub"};
}

fs::path find_suite(const std::string& name, const Share& share) {
    std::error_code error;
    return fs::exists(name, error) ? fs::path(name) : shipped_suite(name, share).value_or(name);
}

std::optional<fs::path> shipped_suite(const std::string& name, const Share& share) {
    std::error_code error;
    const fs::path shipped = share.suites / fs::path(name).filename();
    const bool by_name =
        name.find('/') == std::string::npos || fs::path(name).parent_path() == "suites";
    if (by_name && fs::exists(shipped / "suite.json", error)) return shipped;
    return std::nullopt;
}

std::vector<std::string> shipped_suites(const Share& share) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(share.suites, error))
        if (fs::exists(entry.path() / "suite.json", error))
            names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

fs::path own_python() {
    std::error_code error;
    const fs::path prefix = program_path().parent_path().parent_path();
    const fs::path python = prefix / "bin" / "python";
    if (!fs::exists(python, error)) return {};
    for (const auto& version : fs::directory_iterator(prefix / "lib", error))
        if (fs::exists(version.path() / "site-packages" / "torch" / "version.py", error))
            return python;
    return {};
}

}  // namespace compat::prepare

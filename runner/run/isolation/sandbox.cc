#include "runner/run/isolation/sandbox.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runner/base/files.h"
#include "runner/base/files/temporary_folder.h"
#include "runner/base/host.h"
#include "runner/prepare/tool.h"
#include "runner/run/isolation/source_copy.h"

namespace compat::run {

namespace {

struct FreshFolder {
    std::string_view path, mode;
};
// Folders that each sandbox has anew and in memory. Tests and libraries write to the first three
// whatever TMPDIR says. The host's /run has sockets of its services, which a read-only file system
// does not close: D-Bus, Docker.
constexpr std::array<FreshFolder, 4> kFresh{
    {{kSandboxTmp, "1777"}, {"/var/tmp", "1777"}, {"/dev/shm", "1777"}, {"/run", "0755"}}};
// The folders in /run that name resolution needs.
constexpr std::array<std::string_view, 3> kResolvers{"/run/systemd/resolve", "/run/resolvconf",
                                                     "/run/NetworkManager"};
// Hidden in the user's home: credentials, and sockets of agents. docs/guide/isolation.md lists
// them.
constexpr std::array<std::string_view, 17> kHidden{".ssh",
                                                   ".gnupg",
                                                   ".aws",
                                                   ".azure",
                                                   ".kube",
                                                   ".docker",
                                                   ".netrc",
                                                   ".git-credentials",
                                                   ".pypirc",
                                                   ".npmrc",
                                                   ".config/gcloud",
                                                   ".config/gh",
                                                   ".config/op",
                                                   ".config/git/credentials",
                                                   ".cargo/credentials.toml",
                                                   ".password-store",
                                                   ".cache/huggingface/token"};
// Names of an accelerator's devices begin so.
constexpr std::array<std::string_view, 3> kDevices{"nvidia", "kfd", "dri"};

// docs/guide/isolation.md repeats both.
constexpr std::array<std::string_view, 19> kVariables{"PATH",
                                                      "LANG",
                                                      "LANGUAGE",
                                                      "TZ",
                                                      "TERM",
                                                      "USER",
                                                      "LOGNAME",
                                                      "SHELL",
                                                      "PYTHONPATH",
                                                      "PYTHONHASHSEED",
                                                      "LD_LIBRARY_PATH",
                                                      "CUDA_VISIBLE_DEVICES",
                                                      "NVIDIA_VISIBLE_DEVICES",
                                                      "HIP_VISIBLE_DEVICES",
                                                      "ROCR_VISIBLE_DEVICES",
                                                      "OMP_NUM_THREADS",
                                                      "MKL_NUM_THREADS",
                                                      "CUDA_HOME",
                                                      "PYTORCH_ALLOC_CONF"};
constexpr std::array<std::string_view, 6> kProxies{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
                                                   "http_proxy", "https_proxy", "no_proxy"};

constexpr const char* kAdvice = "apt-get install bubblewrap, or choose --isolate tree";
constexpr const char* kRefusedAdvice =
    "let users make namespaces (sysctl kernel.unprivileged_userns_clone=1, "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container: its seccomp profile), or "
    "choose --isolate tree";

bool is_covered(const fs::path& path) {
    return std::any_of(kFresh.begin(), kFresh.end(),
                       [&](const auto& folder) { return is_inside(path, folder.path); });
}

void add(std::vector<std::string>& words, std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
}

void hide_credentials(std::vector<std::string>& words, const fs::path& home) {
    std::error_code error;
    for (const auto name : kHidden) {
        const fs::path path = fs::canonical(home / name, error);
        if (error) continue;
        if (fs::is_directory(path, error))
            add(words, {"--size", "65536", "--tmpfs", path, "--remount-ro", path});
        else
            add(words, {"--ro-bind", "/dev/null", path});
    }
}

void add_devices(std::vector<std::string>& words) {
    add(words, {"--dev", "/dev"});
    std::error_code error;
    for (fs::directory_iterator it("/dev", error); !error && it != fs::directory_iterator();
         it.increment(error)) {
        const std::string name = it->path().filename();
        if (std::any_of(kDevices.begin(), kDevices.end(),
                        [&](std::string_view begin) { return name.starts_with(begin); }))
            add(words, {"--dev-bind", it->path(), it->path()});
    }
}

std::vector<std::string> namespaces(const std::string& bwrap, bool network) {
    std::vector<std::string> words{bwrap,           "--unshare-user", "--unshare-pid",
                                   "--unshare-ipc", "--unshare-uts",  "--die-with-parent",
                                   "--as-pid-1",    "--cap-drop",     "ALL"};
    if (!network) words.emplace_back("--unshare-net");
    for (const auto& right : exec::rights_of_init()) add(words, {"--cap-add", right});
    return words;
}

Expected<std::string> find_bwrap() {
    const fs::path found = prepare::find_program("bwrap");
    if (found.empty())
        return fail(ErrorKind::environment, "a sandbox needs bubblewrap, which is not installed",
                    kAdvice, "bwrap");
    return found.string();
}

// Options that mount folders, and of these the ones that a fork's fresh folders would cover.
struct Mounts {
    std::vector<std::string> words;
    std::vector<std::string> kept{};

    void bind(const char* option, const fs::path& from, const fs::path& to) {
        add(words, {option, from, to});
        keep(to);
    }
    void keep(const fs::path& path) {
        if (is_covered(path) && std::find(kept.begin(), kept.end(), path.string()) == kept.end())
            kept.push_back(path.string());
    }
};

// The folders that are made, with their modes.
nlohmann::json add_fresh_folders(std::vector<std::string>& words, std::uint64_t bytes) {
    nlohmann::json fresh = nlohmann::json::array();
    std::error_code error;
    for (const auto& [path, mode] : kFresh)
        if (fs::is_directory(path, error) || path == "/dev/shm") {
            add(words, {"--perms", std::string(mode), "--size", std::to_string(bytes)});
            add(words, {"--tmpfs", std::string(path)});
            fresh.push_back({path, mode});
        }
    return fresh;
}

// Sorted: a later mount covers what lies below it.
std::vector<fs::path> with_targets_of_links(std::vector<fs::path> paths) {
    std::error_code error;
    for (std::size_t i = 0, given = paths.size(); i < given; ++i)
        if (fs::path real = fs::canonical(paths[i], error); !error)
            paths.push_back(std::move(real));
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    return paths;
}

}  // namespace

Expected<std::shared_ptr<const exec::Sandbox>> make_sandbox(const SandboxPlan& plan) {
    if (!exec::process_folder())
        return fail(ErrorKind::environment, "a sandbox needs Linux", "choose --isolate tree");
    const auto bwrap = TRY(find_bwrap());
    auto made = std::make_shared<exec::Sandbox>();
    Mounts mounts{namespaces(bwrap, plan.network)};
    auto& words = mounts.words;
    std::error_code error;
    add(words, {"--ro-bind", "/", "/"});
    add_devices(words);
    add(words, {"--proc", exec::process_folder()});
    const nlohmann::json fresh = add_fresh_folders(words, plan.tmp_bytes);
    for (const fs::path resolver : kResolvers)
        if (plan.network && fs::exists(resolver, error))
            mounts.bind("--ro-bind", resolver, resolver);
    for (const auto& home : plan.homes) hide_credentials(words, home);
    for (const auto& path : with_targets_of_links(plan.visible))
        if (is_covered(path)) mounts.bind("--ro-bind", path, path);
    for (const auto& [from, to] : {plan.source, plan.home})
        if (!from.empty()) mounts.bind("--bind", from, to);
    for (const auto& path : plan.in_source) add(words, {"--ro-bind", path, path});
    for (const auto& path : plan.writable) mounts.bind("--bind", path, path);
    if (!plan.attempts.empty()) {
        made->of_server = {"--bind", plan.attempts, plan.attempts};
        mounts.keep(plan.attempts);
    }
    // Made by --dev, in memory and without a limit. Mounts below it stay as they are.
    add(words, {"--remount-ro", "/dev"});
    made->argv = std::move(words);
    made->port = plan.port;
    made->init = exec::init_words(program_path(), plan.port ? plan.port->number : 0);
    made->forked = nlohmann::json{{"init", made->init},      {"held", exec::kHeldVariable},
                                  {"fresh", fresh},          {"keep", mounts.kept},
                                  {"bytes", plan.tmp_bytes}, {"attempts", plan.attempts.string()},
                                  {"network", plan.network}}
                       .dump();
    return made;
}

Expected<void> check_sandbox() {
    SandboxPlan plan;
    plan.tmp_bytes = 1 << 20;
    plan.visible = {program_path()};
    const auto sandbox = TRY(make_sandbox(plan));
    const auto folder = TRY(TemporaryFolder::create("sandbox"));
    constexpr unsigned kLimit = 20;
    prepare::Tool tool{sandbox->argv};
    tool.argv.emplace_back("--");
    tool.argv.insert(tool.argv.end(), sandbox->init.begin(), sandbox->init.end());
    add(tool.argv, {"check", ""});
    tool.limit_s = kLimit;
    const auto works = prepare::run_tool(tool, folder.path() / "log");
    if (works) return {};
    return fail(ErrorKind::environment, "a sandbox cannot be made here: " + works.error().message,
                kRefusedAdvice, sandbox->argv.front());
}

plan::Variables variables_for_sandbox(const plan::Variables& inherited, bool network) {
    plan::Variables kept;
    for (const auto& variable : inherited) {
        const std::string_view name = variable.first;
        const auto is_in = [&](const auto& names) {
            return std::find(names.begin(), names.end(), name) != names.end();
        };
        if (name.starts_with("LC_") || is_in(kVariables) || (network && is_in(kProxies)))
            kept.push_back(variable);
    }
    return kept;
}

}  // namespace compat::run

#include "runner/plan/command.h"

#include <array>
#include <map>

#include "runner/base/device_kind.h"

namespace compat::plan {

namespace {

using Environment = std::map<std::string, std::string>;

std::string joined(const std::vector<std::string>& paths) {
    std::string text;
    for (const auto& path : paths) {
        if (path.empty()) continue;
        if (!text.empty()) text += ':';
        text += path;
    }
    return text;
}

std::string value_of(const Environment& env, const std::string& name) {
    const auto it = env.find(name);
    return it == env.end() ? std::string() : it->second;
}

// The value of `name`. Later sources win: inherited, suite, user.
std::string given(const suites::Suite& suite, const ChildSettings& settings,
                  const Environment& inherited, const std::string& name) {
    std::string value = value_of(inherited, name);
    for (const Variables* variables : {&suite.env, &settings.from_user})
        for (const auto& [key, text] : *variables)
            if (key == name) value = text;
    return value;
}

const std::string kLoopback = "127.0.0.1";

// They lead clients of a hub elsewhere: to caches of other runs, which have real weights, and to
// hubs of their own.
constexpr std::array<std::string_view, 13> kOtherHubs{"HF_HUB_CACHE",
                                                      "HUGGINGFACE_HUB_CACHE",
                                                      "HUGGINGFACE_ASSETS_CACHE",
                                                      "HF_ASSETS_CACHE",
                                                      "HF_XET_CACHE",
                                                      "HF_MODULES_CACHE",
                                                      "HF_DATASETS_CACHE",
                                                      "HF_METRICS_CACHE",
                                                      "HF_EVALUATE_CACHE",
                                                      "TRANSFORMERS_CACHE",
                                                      "PYTORCH_TRANSFORMERS_CACHE",
                                                      "HF_HUB_ENABLE_HF_TRANSFER",
                                                      "HF_TOKEN_PATH"};
constexpr std::array<std::string_view, 3> kTokens{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN",
                                                  "HUGGINGFACE_HUB_TOKEN"};

void hide_other_hubs(Environment& env, const ChildHub& hub) {
    if (hub.endpoint.empty()) return;
    for (const auto name : kOtherHubs) env.erase(std::string(name));
    for (const auto name : kTokens)
        if (!hub.takes_tokens) env.erase(std::string(name));
}

void enter_hub(Environment& env, const ChildHub& hub) {
    if (hub.endpoint.empty()) return;
    hide_other_hubs(env, hub);
    env["COMPAT_HUB_ENDPOINT"] = hub.endpoint;
    env["HF_ENDPOINT"] = hub.endpoint;
    env["HF_HOME"] = hub.home.string();
    env["TORCH_HOME"] = (hub.home / "torch").string();  // torch.hub's files, which may be generated
    for (const char* offline : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"})
        env[offline] = "0";
    env["HF_HUB_DISABLE_XET"] = "1";
    env["HF_HUB_DISABLE_TELEMETRY"] = "1";
    // In seconds: the first answer waits for a whole download, or for the generator's imports.
    env["HF_HUB_ETAG_TIMEOUT"] = "120";
    env["HF_HUB_DOWNLOAD_TIMEOUT"] = "3600";
}

// Later steps win: inherited, ours, the suite's, the hub's, the user's. Search paths are joined and
// not replaced: without ours in front there would be no shim and no suite.
Environment added(const suites::Suite& suite, const ChildSettings& settings,
                  const Environment& inherited) {
    const bool shim = !settings.shim_library.empty();
    const bool python = traits_of(suite.framework).in_python;
    Environment env;

    std::vector<std::string> python_path;
    if (shim) python_path.push_back(settings.activation.string());
    python_path.push_back(settings.hub.activation.string());
    for (const auto& folder : suite.layout.pythonpath)
        python_path.push_back(folder == "." ? settings.root.string()
                                            : (settings.root / folder).lexically_normal().string());
    python_path.push_back(given(suite, settings, inherited, "PYTHONPATH"));
    if (python) {
        env["PYTHONPATH"] = joined(python_path);
        // Suites start `python` and console scripts by name and mean their own environment's.
        env["PATH"] = joined(
            {settings.python.parent_path().string(), given(suite, settings, inherited, "PATH")});
    }

    if (shim) {
        env["ACTIVATE_TORCH_DEVICE"] = "1";
        env["COMPAT_SHIM_LIBRARY"] = settings.shim_library.string();
        env["COMPAT_SHIM_PYTHON"] = settings.activation.parent_path().string();
        env["TORCHDEVICE_MODE"] = settings.policy;
        env["TORCHDEVICE_MASQUERADE"] = settings.masquerade ? "on" : "off";
        if (!settings.simulate.empty()) {
            env["TORCHDEVICE_SIMULATE"] = settings.simulate;
            if (!settings.device_memory.empty())
                env["TORCHDEVICE_DEVICE_MEMORY"] = settings.device_memory;
            const DeviceKind& device = device_kind(settings.simulate);
            if (device.takes("macos") && !settings.macos.empty())
                env["TORCHDEVICE_MACOS"] = settings.macos;
            if (device.takes("start_method") && !settings.start_method.empty())
                env["TORCHDEVICE_START_METHOD"] = settings.start_method;
            if (device.takes("mac_like") && settings.mac_like) env["TORCHDEVICE_MAC_LIKE"] = "on";
            if (device.takes("sanitize") && settings.sanitize) env["TORCH_CUDA_SANITIZER"] = "1";
            if (settings.keep_going) env["TORCHDEVICE_KEEP_GOING"] = "on";
            if (settings.processes > 1)
                env["TORCHDEVICE_PROCESSES"] = std::to_string(settings.processes);
        }
        if (settings.default_device) env["TORCHDEVICE_DEFAULT_DEVICE"] = "on";
        if (settings.on_cpu) env["TORCHDEVICE_HOST"] = "cpu";
    }
    env["PYTORCH_ENABLE_MPS_FALLBACK"] = settings.fallback ? "1" : "0";
    if (settings.on_cpu) env["CUDA_VISIBLE_DEVICES"] = "";
    for (const auto& [name, value] : settings.device_library) env[name] = value;
    if (python && !inherited.contains("PYTHONHASHSEED")) env["PYTHONHASHSEED"] = "0";
    if (settings.threads > 0 && !inherited.contains("OMP_NUM_THREADS"))
        env["OMP_NUM_THREADS"] = std::to_string(settings.threads);

    const auto take = [&](const Variables& variables) {
        for (const auto& [name, value] : variables)
            if (!python || (name != "PYTHONPATH" && name != "PATH")) env[name] = value;
    };
    take(suite.env);
    enter_hub(env, settings.hub);
    take(settings.from_user);
    if (!settings.hub.endpoint.empty())
        for (const char* name : {"NO_PROXY", "no_proxy"}) {
            const std::string others = given(suite, settings, inherited, name);
            env[name] = others.empty() ? kLoopback : others + "," + kLoopback;
        }
    return env;
}

Environment whole(const suites::Suite& suite, const ChildSettings& settings,
                  const fs::path& record) {
    Environment env{settings.inherited.begin(), settings.inherited.end()};
    const bool shim = !settings.shim_library.empty();
    // Off even if the runner itself was started with the shim.
    if (!shim) env.erase("ACTIVATE_TORCH_DEVICE");
    env.erase("TORCHDEVICE_TEST");  // a test that started the runner itself
    for (const char* outer : {"COMPAT_HUB_ENDPOINT", "COMPAT_HUB_RECORD", "COMPAT_HUB_TEST"})
        env.erase(outer);
    hide_other_hubs(env, settings.hub);
    const Environment ours = added(suite, settings, env);
    for (const auto& [name, value] : settings.private_variables) env[name] = value;
    for (const auto& [name, value] : ours) env[name] = value;
    if (shim && !record.empty()) env["TORCHDEVICE_RECORD"] = record.string();
    // Nobody is to be told what the shim did, not by the shim either.
    if (shim && record.empty()) env["TORCHDEVICE_SUMMARY"] = "off";
    return env;
}

}  // namespace

// "1.devices.jsonl" → "1.hub.jsonl"
fs::path AttemptPaths::hub() const {
    const std::string name = devices.filename().string();
    return devices.parent_path() / (name.substr(0, name.find('.')) + ".hub.jsonl");
}

Variables added_variables(const suites::Suite& suite, const ChildSettings& settings) {
    const Environment env =
        added(suite, settings, {settings.inherited.begin(), settings.inherited.end()});
    return {env.begin(), env.end()};
}

Variables child_variables(const suites::Suite& suite, const ChildSettings& settings) {
    const Environment env = whole(suite, settings, {});
    return {env.begin(), env.end()};
}

ChildCommand child_command(const suites::Suite& suite, const ChildSettings& settings,
                           const Job& job, const AttemptPaths& paths) {
    ChildCommand command;
    command.argv = {settings.python.string(),
                    settings.harness.string(),
                    "--framework",
                    std::string(name_of(suite.framework)),
                    "--module",
                    job.module,
                    "--root",
                    settings.root.string(),
                    "--events",
                    paths.events.string(),
                    "--signed",
                    "--events-bytes",
                    std::to_string(suite.limits.events_bytes)};
    if (!job.only.empty()) command.argv.insert(command.argv.end(), {"--only", paths.only.string()});
    // A package's folder belongs to the system, so its tests write to another one.
    if (suite.source.kind == suites::SourceKind::debian)
        command.argv.insert(command.argv.end(),
                            {"--scratch", paths.events.parent_path() / "scratch"});
    if (!settings.keyword.empty())
        command.argv.insert(command.argv.end(), {"--select", settings.keyword});
    for (const auto* options : {&settings.device_options, &settings.options})
        for (const auto& option : *options)
            command.argv.insert(command.argv.end(), {"--option", option});
    if (settings.collect_only) command.argv.push_back("--collect-only");
    if (settings.maxfail > 0)
        command.argv.insert(command.argv.end(), {"--maxfail", std::to_string(settings.maxfail)});
    if (!settings.default_dtype.empty())
        command.argv.insert(command.argv.end(), {"--default-dtype", settings.default_dtype});
    if (paths.random_stream > 0)
        command.argv.insert(command.argv.end(),
                            {"--random-stream", std::to_string(paths.random_stream)});
    if (!paths.id.empty()) command.env.emplace_back("COMPAT_JOB", paths.id);
    if (!settings.shim_library.empty())
        command.env.emplace_back("TORCHDEVICE_RECORD", paths.devices.string());
    if (!settings.hub.endpoint.empty())
        command.env.emplace_back("COMPAT_HUB_RECORD", paths.hub().string());
    return command;
}

std::vector<std::string> zygote_argv(const suites::Suite& suite, const ChildSettings& settings,
                                     int socket, const std::vector<std::string>& preload) {
    std::vector<std::string> argv{settings.python.string(),
                                  settings.harness.string(),
                                  "--zygote",
                                  std::to_string(socket),
                                  std::string(name_of(suite.framework)),
                                  settings.root.string()};
    argv.insert(argv.end(), preload.begin(), preload.end());
    return argv;
}

Variables program_variables(const ChildSettings& settings, const fs::path& record) {
    const Environment env = whole({}, settings, record);
    return {env.begin(), env.end()};
}

}  // namespace compat::plan

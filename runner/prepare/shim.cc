// Builds the shim's library once per (torch version, git, Python ABI): the shim uses parts of torch
// that have no stable ABI. Not here: the shim itself (shim/).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

#include "runner/base/files.h"
#include "runner/base/host.h"
#include "runner/prepare/prepare.h"
#include "runner/prepare/tool.h"

namespace compat::prepare {

namespace {

// Whether the libraries are built from the file. shim/python is read as it is when a process
// starts, except for the package that is installed with the libraries.
bool is_built_from(const fs::path& file, const fs::path& folder) {
    static constexpr std::array<std::string_view, 5> kExtensions{".cc", ".h", ".py", ".json",
                                                                 ".in"};
    const fs::path below = file.lexically_relative(folder);
    const bool is_python = *below.begin() == "python";
    if (is_python && below.string().rfind("python/compat_devices/", 0) != 0) return false;
    return (below.filename() == "CMakeLists.txt" ||
            std::find(kExtensions.begin(), kExtensions.end(), below.extension()) !=
                kExtensions.end());
}

// A hash of the names and contents of all sources: a changed shim is rebuilt.
Expected<std::string> sources_key(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error))
        if (entry.is_regular_file() && is_built_from(entry.path(), folder))
            files.push_back(entry.path());
    if (files.empty())
        return fail(ErrorKind::environment, "the sources of the shim are missing",
                    "reinstall the runner or use --shim off", folder.string());
    std::sort(files.begin(), files.end());
    std::string all;
    // A table of the device library is made from the rules of diagnosis.
    if (const fs::path rules = folder.parent_path() / "parsers" / "diagnosis" / "rules.json";
        fs::exists(rules, error))
        files.push_back(rules);
    for (const auto& file : files) {
        auto text = TRY(read_file(file));
        all += content_key({file.lexically_relative(folder).string(), text});
    }
    return content_key({all});
}

// The library that COMPAT_SHIM_LIBRARY names; it finds the others of its folder.
fs::path library_in(const fs::path& folder) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (entry.path().filename().string().starts_with("_compat_shim.")) return entry.path();
    return {};
}

bool have_one_torch(const Environment& a, const Environment& b) {
    return a.torch_version == b.torch_version && a.torch_git == b.torch_git && a.soabi == b.soabi;
}

// The place of a library in the cache.
struct Names {
    std::string name, key;
};

Expected<Names> names_of(const Environment& environment, const Share& share) {
    TRY(check_gil(environment));
    if (environment.torch_version.empty())
        return fail(ErrorKind::environment, "this Python has no torch", kTorchAdvice,
                    environment.python.string());
    return sources_key(share.shim).map([&](const std::string& sources) {
        return Names{fmt::format("{}-{}", environment.torch_version, environment.soabi),
                     content_key({"shim 1", environment.torch_version, environment.torch_git,
                                  environment.soabi, sources})};
    });
}

fs::path find_library(const Names& names, const Share& share, const Cache& cache) {
    // An installed runner may include prebuilt libraries.
    if (auto built = library_in(share.shims / entry_name(names.name, names.key)); !built.empty())
        return built;
    const auto entry = cache.find("shims", names.name, names.key);
    return entry ? library_in(entry->folder) : fs::path();
}

}  // namespace

// "cpython-314t-x86_64-linux-gnu", or "314td" of a debug build.
Expected<void> check_gil(const Environment& environment) {
    const std::string& abi = environment.soabi;
    const size_t version = std::min(abi.find('-'), abi.size());
    if (abi.substr(version, abi.find('-', version + 1) - version).find('t') == std::string::npos)
        return {};
    return fail(ErrorKind::environment, "this Python has no GIL", kGilAdvice,
                environment.python.string());
}

Expected<fs::path> find_shim(const Environment& environment, const Share& share,
                             const Cache& cache) {
    return names_of(environment, share).map([&](const Names& names) {
        return find_library(names, share, cache);
    });
}

Expected<fs::path> get_shim(const Environment& environment, const Share& share, const Cache& cache,
                            const Say& say) {
    const auto names = TRY(names_of(environment, share));
    if (auto library = find_library(names, share, cache); !library.empty()) return library;
    const auto& [name, key] = names;
    std::error_code error;
    // An environment that an older runner described has no `headers`.
    if (!environment.headers.empty() && !fs::exists(environment.headers / "Python.h", error))
        return fail(ErrorKind::environment, "the headers of this Python are missing",
                    "install them (on Debian: apt-get install python3-dev), or use --shim off",
                    (environment.headers / "Python.h").string());
    const std::vector<std::pair<std::string, std::string>> env{
        {"COMPAT_TORCH_FOLDER", environment.torch_folder.string()}, {"PATH", build_path()}};

    auto entry =
        cache.get("shims", name, key,
                  [&](const fs::path& folder, const fs::path& log) -> Expected<std::string> {
                      say(
                          fmt::format("building the shim for torch {} (once per version of torch; "
                                      "takes minutes; its output: {})",
                                      environment.torch_version, log.string()));
                      const std::string build = folder.string() + ".build";
                      fs::remove_all(build, error);
                      const auto done =
                          run_tool({{"cmake", "-S", share.shim.string(), "-B", build, "-G", "Ninja",
                                     "-DCMAKE_BUILD_TYPE=Release",
                                     "-DPython_EXECUTABLE=" + environment.python.string(),
                                     "-DCMAKE_INSTALL_PREFIX=" + folder.string()},
                                    ".",
                                    env},
                                   log)
                              .and_then([&] {
                                  return run_tool({{"cmake", "--build", build}, ".", env}, log);
                              })
                              .and_then([&] {
                                  return run_tool({{"cmake", "--install", build}, ".", env}, log);
                              });
                      if (!done) {
                          Error error_with_advice = done.error();
                          error_with_advice.advice += ", or use --shim off";
                          return tl::unexpected(error_with_advice);
                      }
                      fs::remove_all(build, error);
                      return key;
                  });
    if (!entry) return tl::unexpected(entry.error());
    auto library = library_in(entry->folder);
    if (library.empty())
        return fail(ErrorKind::environment, "the built shim has no library",
                    "delete this folder and run again", entry->folder.string());
    return library;
}

Tool device_probe(const Environment& environment, const fs::path& shim_library) {
    // The program has no run path, so it needs the folder of torch's libraries.
    std::string libraries = (environment.torch_folder / "lib").string();
    if (const char* theirs = std::getenv(library_path_variable()); theirs && *theirs)
        libraries += std::string(":") + theirs;
    Tool tool;
    tool.argv = {(shim_library.parent_path() / "device-probe").string()};
    tool.env = {{library_path_variable(), libraries}};
    return tool;
}

Expected<std::string> probe_devices(const Environment& environment, const fs::path& shim_library) {
    constexpr unsigned kLimit = 20;
    Tool tool = device_probe(environment, shim_library);
    tool.limit_s = kLimit;
    return output_of(tool);
}

Expected<std::vector<std::string>> missing_in_torch(const Environment& environment,
                                                    const Share& share,
                                                    const fs::path& shim_library) {
    constexpr unsigned kLimit = 60;  // importing torch for the first time takes long
    constexpr const char* kAsk = R"(
import json
try:
    import TorchDevice, torch
    from compat_shim import default_device, patching, state
    off = default_device.apply(torch, state.library, "cpu")  # a setting that is off here
    answer = sorted(patching.missing + off)
except Exception as error:
    answer = str(error)
print(json.dumps(answer))
)";
    const auto output = TRY(output_of({{environment.python.string(), "-c", kAsk},
                                       kNoProject,
                                       {{"PYTHONPATH", (share.shim / "python").string()},
                                        {"ACTIVATE_TORCH_DEVICE", "1"},
                                        {"COMPAT_SHIM_LIBRARY", shim_library.string()},
                                        {"TORCHDEVICE_MODE", "missing"},
                                        {"TORCHDEVICE_SUMMARY", "off"}},
                                       {"TORCHDEVICE_DEFAULT_DEVICE", "TORCHDEVICE_HOST",
                                        "TORCHDEVICE_RECORD", "TORCHDEVICE_SIMULATE"},
                                       kLimit}));
    // Only the last line: what torch loads may print before it.
    const auto end = output.find_last_not_of('\n');
    const auto before = output.find_last_of('\n', end);
    const auto answer = nlohmann::json::parse(
        before == std::string::npos ? output : output.substr(before + 1), nullptr,
        /*allow_exceptions=*/false);
    if (answer.is_array()) return answer.get<std::vector<std::string>>();
    return fail(ErrorKind::environment,
                answer.is_string() ? answer.get<std::string>() : "it did not say what is missing",
                "", environment.python.string());
}

namespace {

constexpr auto kPolicy = std::launch::async | std::launch::deferred;

// A step that needs an environment and runs beside other steps. Deferred if no thread starts.
template <class Result>
class StepBeside {
  public:
    using Work = std::function<Expected<Result>(const Environment&)>;
    explicit StepBeside(Work work) : work_(std::move(work)) {}

    // Only the first call counts.
    void start(const Environment& environment) {
        if (result_.valid()) return;
        environment_ = environment;
        result_ = std::async(kPolicy, [this] { return work_(environment_); });
    }
    [[nodiscard]] bool is_under_way() const {
        return result_.valid() &&
               result_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
    }
    [[nodiscard]] const Environment& environment() const { return environment_; }
    [[nodiscard]] Expected<Result> get() { return result_.get(); }

  private:
    Work work_;
    Environment environment_;
    std::future<Expected<Result>> result_;  // destroyed before what its thread reads
};

bool has_local_source(const suites::Suite& suite, const Options& options) {
    return !options.root.empty() || suite.source.kind == suites::SourceKind::path ||
           suite.source.kind == suites::SourceKind::debian;
}

Expected<void> find_devices(Prepared& prepared, const Share& share) {
    auto devices = std::async(kPolicy, [&]() -> std::string {
        if (prepared.shim_library.empty()) return {};
        return probe_devices(prepared.environment, prepared.shim_library).value_or("");
    });
    auto accelerator = accelerator_of(prepared.environment, share);
    prepared.devices = devices.get();
    if (!accelerator) return tl::unexpected(accelerator.error());
    prepared.accelerator = std::move(*accelerator);
    return {};
}

}  // namespace

Expected<Prepared> prepare(const suites::Suite& suite, const Options& options, const Share& share,
                           const Cache& cache, const Say& say) {
    const bool is_local = has_local_source(suite, options);
    const bool from_pypi = !is_local && suite.source.kind != suites::SourceKind::git;
    const bool with_shim =
        options.shim && !options.source_only && traits_of(suite.framework).in_python;
    std::mutex one_line_at_a_time;
    const Say say_line = [&](std::string_view line) {
        const std::lock_guard lock(one_line_at_a_time);
        say(line);
    };
    // The source needs only pip. Compiling the shim takes as long as the downloads, and needs only
    // torch.
    StepBeside<Source> source([&](const Environment& environment) {
        return get_source(suite, options, environment, share, cache, say_line);
    });
    StepBeside<fs::path> shim([&](const Environment& environment) {
        return get_shim(environment, share, cache, say_line);
    });

    Prepared prepared;
    // An error of a source that is here needs no environment and no shim.
    if (is_local) prepared.source = TRY(get_source(suite, options, {}, share, cache, say_line));
    if (!options.source_only || from_pypi) {
        const auto start_steps = [&](const Environment& unfinished) {
            if (!is_local) source.start(unfinished);
            if (with_shim && !unfinished.torch_version.empty()) shim.start(unfinished);
        };
        auto environment = make_environment(suite, options, share, cache, say_line, start_steps);
        if (!environment) {
            if (source.is_under_way())
                say_line("the environment could not be made; waiting for the source");
            return tl::unexpected(environment.error());
        }
        prepared.environment = std::move(*environment);
    }
    if (with_shim) shim.start(prepared.environment);
    if (!is_local) {
        source.start(prepared.environment);
        prepared.source = TRY(source.get());
    }
    if (options.source_only) return prepared;

    if (with_shim) {
        // A requirement may have replaced torch.
        prepared.shim_library = TRY(have_one_torch(shim.environment(), prepared.environment)
                                        ? shim.get()
                                        : get_shim(prepared.environment, share, cache, say_line));
    }
    return find_devices(prepared, share).map([&] { return std::move(prepared); });
}

}  // namespace compat::prepare

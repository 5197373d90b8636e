// Creates a Python environment once per set of requirements. Pins torch, so that no requirement
// installs another build. Not here: the shim and the source.
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "runner/base/files.h"
#include "runner/prepare/prepare.h"
#include "runner/prepare/tool.h"

namespace compat::prepare {

const std::string_view kTorchRequirement = COMPAT_TORCH_REQUIREMENT;

namespace {

Expected<Environment> parse_probe(const std::string& text, const fs::path& python) {
    // Only the last line: a sitecustomize of that Python may print before it.
    const size_t before = text.find_last_of('\n', text.find_last_not_of('\n'));
    const auto json =
        nlohmann::json::parse(before == std::string::npos ? text : text.substr(before + 1), nullptr,
                              /*allow_exceptions=*/false);
    if (!json.is_object())
        return fail(ErrorKind::environment, "cannot read the packages of this Python",
                    "choose another with --python", python.string());
    Environment environment;
    environment.python = python;
    environment.version = json.value("version", "");
    environment.soabi = json.value("soabi", "");
    environment.headers = json.value("headers", "");
    if (const auto& torch = json["torch"]; torch.is_object()) {
        environment.torch_version = torch.value("version", "");
        environment.torch_git = torch.value("git", "");
        environment.torch_folder = torch.value("folder", "");
    }
    for (const auto& [name, version] : json["packages"].items())
        if (version.is_string()) environment.packages[name] = version;
    return environment;
}

Expected<std::string> probe_text(const fs::path& python, const Share& share) {
    return output_of({{python.string(), "-I", (share.prepare / "probe.py").string()}, ".", {}});
}

// Copies shim/python/site into site-packages, so that children that ignore PYTHONPATH (-E, -I) have
// the shim too. The files contain no paths, so a moved runner can use the environment; files of an
// older runner are replaced.
Expected<void> add_activation(const fs::path& environment, const Share& share) {
    std::error_code error;
    for (const auto& version : fs::directory_iterator(environment / "lib", error)) {
        const fs::path packages = version.path() / "site-packages";
        if (!fs::is_directory(packages, error)) continue;
        // The module first: the .pth imports it.
        for (const char* name : {"_compat_shim_site.py", "compat_shim.pth"}) {
            const auto text = TRY(read_file(share.shim / "python" / "site" / name));
            if (read_file(packages / name).value_or("") == text) continue;
            TRY(write_file(packages / name, text));
        }
    }
    return {};
}

// The inputs of an environment, and its key in the cache.
struct Recipe {
    std::string python;
    std::string key;
};

Expected<std::string> base_python(const Options& options) {
    const fs::path base = find_program(options.base_python);
    if (base.empty() && ::access(options.base_python.c_str(), X_OK) != 0)
        return fail(ErrorKind::environment,
                    fmt::format("cannot find the Python {}", options.base_python), kPythonAdvice);
    return base.empty() ? options.base_python : base.string();
}

Expected<Recipe> recipe_of(const suites::Suite& suite, const Options& options) {
    const auto base = TRY(base_python(options));
    const std::string& python = base;
    const auto version = TRY(output_of({{python, "--version"}, ".", {}}));

    std::string requirements;
    if (!suite.requirements.empty()) {
        auto text = read_file(suite.folder / suite.requirements);
        if (!text)
            return fail(ErrorKind::suite, "cannot read the requirements of the suite",
                        "add the file or remove \"requirements\" from suite.json",
                        (suite.folder / suite.requirements).string());
        requirements = std::move(*text);
    }
    return Recipe{python, content_key({"environment 1", name_of(suite.framework), python, version,
                                       options.torch_requirement, requirements})};
}

// `given` is an interpreter or the folder of an environment.
Expected<fs::path> interpreter_of(const fs::path& given) {
    std::error_code error;
    const fs::path python = fs::is_directory(given, error) ? given / "bin" / "python" : given;
    if (!fs::exists(python, error))
        return fail(ErrorKind::environment, "no Python at this path",
                    "name an interpreter: --python DIR/bin/python", python.string());
    return fs::absolute(python);
}

}  // namespace

Expected<Environment> probe(const fs::path& given, const Share& share) {
    const auto python = TRY(interpreter_of(given));
    return probe_text(python, share).and_then([&](const std::string& text) {
        return parse_probe(text, python);
    });
}

Expected<Environment> probe(const fs::path& given, const Share& share,
                            const std::vector<std::pair<std::string, std::string>>& variables) {
    constexpr const char* kActivation = "ACTIVATE_TORCH_DEVICE";
    const auto python = TRY(interpreter_of(given));
    Tool tool{{python.string(), (share.prepare / "probe.py").string()}, ".", {}, {kActivation}};
    for (const auto& variable : variables)
        if (variable.first != kActivation) tool.env.push_back(variable);
    return output_of(tool).and_then(
        [&](const std::string& text) { return parse_probe(text, python); });
}

namespace {

// Runs the harness for tests that are programs: any Python will do, and its packages do not matter.
Expected<Environment> harness_python(const Options& options, const Share& share) {
    return base_python(options)
        .and_then([&](const std::string& python) { return probe(python, share); })
        .map([](Environment environment) {
            return Environment{environment.python, environment.version, {}, {}, {}, {}, {}, {}};
        });
}

}  // namespace

Expected<std::optional<Environment>> find_environment(const suites::Suite& suite,
                                                      const Options& options, const Share& share,
                                                      const Cache& cache) {
    fs::path python = options.python;
    if (python.empty() && !traits_of(suite.framework).in_python)
        return harness_python(options, share).map([](Environment environment) {
            return std::optional(std::move(environment));
        });
    if (python.empty()) {
        const auto recipe = TRY(recipe_of(suite, options));
        const auto entry = cache.find("environments", suite.name, recipe.key);
        if (!entry) return std::nullopt;
        python = entry->folder;
    }
    return probe(python, share).map([](Environment environment) {
        return std::optional(std::move(environment));
    });
}

Expected<Environment> make_environment(const suites::Suite& suite, const Options& options,
                                       const Share& share, const Cache& cache, const Say& say,
                                       const OnProgress& on_progress) {
    if (!options.python.empty()) return probe(options.python, share);
    if (!traits_of(suite.framework).in_python) return harness_python(options, share);
    const auto recipe = TRY(recipe_of(suite, options));
    const std::string& python = recipe.python;
    auto entry = cache.get(
        "environments", suite.name, recipe.key,
        [&](const fs::path& folder, const fs::path& log) -> Expected<std::string> {
            // Before torch is fetched, which takes minutes.
            if (options.shim && !options.source_only) TRY(probe(python, share).and_then(check_gil));
            say(fmt::format("creating the Python environment of {} in {}", suite.name,
                            folder.string()));
            const std::string own = (folder / "bin" / "python").string();
            const std::string constraint = (folder / "constraints.txt").string();
            // Unlike -c, PIP_CONSTRAINT also applies to the isolated build environments of pip.
            const auto pip = [&](std::vector<std::string> arguments, const std::string& pins) {
                Tool tool{
                    {own, "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"},
                    kNoProject,
                    {{"PIP_CONSTRAINT", pins}}};
                tool.argv.insert(tool.argv.end(), arguments.begin(), arguments.end());
                return run_tool(tool, log);
            };
            return run_tool({{python, "-m", "venv", folder.string()}, kNoProject, {}}, log)
                .and_then([&] { return write_file(constraint, options.torch_requirement + "\n"); })
                .and_then([&] {
                    Environment pip_alone;
                    pip_alone.python = own;
                    if (on_progress) on_progress(pip_alone);
                    say(fmt::format("installing {}", options.torch_requirement));
                    // Pinned as well, a version that does not exist would be a conflict to pip.
                    return pip({options.torch_requirement}, "/dev/null");
                })
                .and_then([&] { return probe_text(own, share); })
                .and_then([&](const std::string& text) -> Expected<std::string> {
                    if (const auto with_torch = parse_probe(text, own); with_torch && on_progress)
                        on_progress(*with_torch);
                    if (suite.requirements.empty()) return text;
                    say(fmt::format("installing {}", (suite.folder / suite.requirements).string()));
                    return pip({"-r", fs::absolute(suite.folder / suite.requirements)}, constraint)
                        .and_then([&] { return probe_text(own, share); });
                })
                .and_then([&](const std::string& text) -> Expected<std::string> {
                    // The latest framework, unless the suite pins one.
                    const std::string package(traits_of(suite.framework).package);
                    if (package.empty() || parse_probe(text, own)->packages.contains(package))
                        return text;
                    return pip({package}, constraint).and_then([&] {
                        return probe_text(own, share);
                    });
                })
                .map([&](std::string text) {
                    // Compiles what it imports: a tenth of the files, which are most of what tests
                    // use. Python compiles the others at their first import. An error is torch's,
                    // and the tests report it.
                    // -I: the current folder may be a checkout of torch.
                    (void)run_tool({{own, "-I", "-c", "import torch"}, ".", {}}, log);
                    return text;
                });
        });
    if (!entry) return tl::unexpected(entry.error());
    // A shared cache may be read-only.
    if (const auto added = add_activation(entry->folder, share); !added)
        say(fmt::format("Python children with -I or -E run without the shim: {}",
                        to_line(added.error())));
    auto environment = parse_probe(entry->note, entry->folder / "bin" / "python");
    if (environment && entry->made)
        say(fmt::format("the environment has Python {} and torch {}", environment->version,
                        environment->torch_version));
    return environment;
}

namespace {

// An environment of the runner's own, filled once by `fill`, which gets its Python.
Expected<fs::path> own_environment(
    std::string_view name, std::string_view content, const Options& options, const Cache& cache,
    const std::function<Expected<void>(const std::string& own, const fs::path& log)>& fill) {
    const auto base = TRY(base_python(options));
    const auto version = TRY(output_of({{base, "--version"}, ".", {}}));
    const auto entry = TRY(
        cache.get("environments", name, content_key({base, version, content}),
                  [&](const fs::path& folder, const fs::path& log) -> Expected<std::string> {
                      TRY(run_tool({{base, "-m", "venv", folder.string()}, kNoProject, {}}, log));
                      TRY(fill((folder / "bin" / "python").string(), log));
                      return std::string();
                  }));
    return entry.folder / "bin" / "python";
}

Tool pip(const std::string& python, std::vector<std::string> arguments) {
    Tool tool{{python, "-m", "pip", "--disable-pip-version-check", "install"}, kNoProject, {}};
    tool.argv.insert(tool.argv.end(), arguments.begin(), arguments.end());
    return tool;
}

}  // namespace

Expected<fs::path> tool_python(std::string_view name, const fs::path& requirements,
                               const Options& options, const Cache& cache, const Say& say) {
    const auto text = TRY(read_file(requirements));
    return own_environment(name, text, options, cache,
                           [&](const std::string& own, const fs::path& log) {
                               say(fmt::format("creating a Python environment for {}", name));
                               return run_tool(pip(own, {"-r", requirements.string()}), log);
                           });
}

Expected<std::string> newest_torch(const Options& options, const Cache& cache,
                                   const fs::path& folder) {
    // An older pip downloads the whole wheel to learn its version. It serves where no newer one can
    // be installed.
    const std::string wanted = "pip>=23.3";
    const auto python =
        TRY(own_environment("pip", wanted, options, cache,
                            [&](const std::string& own, const fs::path& log) -> Expected<void> {
                                (void)run_tool(pip(own, {wanted}), log);
                                return {};
                            }));
    const std::string report = (folder / "torch.json").string();
    Tool find = pip(python.string(),
                    {"--dry-run", "--ignore-installed", "--no-deps", "--report", report, "torch"});
    find.name = "pip";
    TRY(run_tool(find, folder / "torch.log"));
    const auto text = TRY(read_file(report));
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    const auto version = nlohmann::json::json_pointer("/install/0/metadata/version");
    if (!json.contains(version) || !json[version].is_string())
        return fail(ErrorKind::environment, "pip's report names no version of torch",
                    "name a version instead of \"newest\"", report);
    return json[version].get<std::string>();
}

Expected<std::string> accelerator_of(const Environment& environment, const Share& share) {
    if (environment.torch_version.empty()) return "cpu";
    const auto script = share.shim / "python" / "compat_shim" / "hosts.py";
    return output_of({{environment.python.string(), "-I", script.string()},
                      ".",
                      {{"ACTIVATE_TORCH_DEVICE", "0"}}});
}

}  // namespace compat::prepare

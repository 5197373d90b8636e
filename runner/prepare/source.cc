// Source trees: from PyPI, git, a folder, or a Debian package; and what is known of a checkout.
#include <fmt/format.h>

#include "runner/base/files.h"
#include "runner/prepare/prepare.h"
#include "runner/prepare/tool.h"

namespace compat::prepare {

namespace fs = std::filesystem;
using suites::SourceKind;

namespace {

std::string trimmed(std::string text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    return text;
}

std::string version_of(const std::string& requirement) {
    const size_t at = requirement.find("==");
    return at == std::string::npos ? std::string() : requirement.substr(at + 2);
}

// Commit and dirty flag, where `root` is the top of a git checkout or inside one.
void describe_checkout(Source& source) {
    const std::string root = source.root.string();
    const auto commit = output_of({{"git", "-C", root, "rev-parse", "HEAD"}, ".", {}});
    if (!commit) return;
    source.commit = trimmed(*commit);
    const auto status = output_of(
        {{"git", "-C", root, "status", "--porcelain", "--untracked-files=no", "--", "."}, ".", {}});
    source.dirty = status && !trimmed(*status).empty();
}

Error out_of_reach(const suites::Suite& suite, const Error& error) {
    return {ErrorKind::environment,
            fmt::format("the source of {} ({} {}) cannot be had: {}", suite.name,
                        name_of(suite.source.kind), suite.source.what, error.message),
            "run again with --root DIR, a folder that holds it", error.where};
}

Expected<std::string> fetch_pypi(const suites::Suite& suite, const Environment& environment,
                                 const Share& share, const fs::path& folder, const fs::path& log) {
    const bool wheel = suite.source.kind == SourceKind::pypi_wheel;
    const fs::path archive = folder.string() + ".archive";
    std::error_code error;
    fs::remove_all(archive, error);
    const auto done =
        run_tool({{environment.python.string(), "-m", "pip", "--disable-pip-version-check",
                   "download", "--no-deps", wheel ? "--only-binary" : "--no-binary",
                   ":all:", "--dest", archive.string(), suite.source.what},
                  ".",
                  {}},
                 log);
    if (!done) return tl::unexpected(done.error());
    for (const auto& file : fs::directory_iterator(archive)) {
        auto hash = output_of({{environment.python.string(), (share.prepare / "unpack.py").string(),
                                file.path().string(), folder.string()},
                               ".",
                               {}});
        fs::remove_all(archive, error);
        return hash.map(trimmed);
    }
    return fail(ErrorKind::environment, "pip downloaded nothing", {}, archive.string());
}

Expected<std::string> fetch_git(const suites::Suite& suite, const fs::path& folder,
                                const fs::path& log) {
    const std::string dir = folder.string();
    const std::string rev = suite.source.rev.empty() ? "HEAD" : suite.source.rev;
    const auto git = [&](std::vector<std::string> arguments) {
        // Never waits for a password that nobody will type.
        Tool tool{{"git", "-C", dir}, ".", {{"GIT_TERMINAL_PROMPT", "0"}}};
        tool.argv.insert(tool.argv.end(), arguments.begin(), arguments.end());
        return run_tool(tool, log);
    };
    const auto done = git({"init", "--quiet"})
                          .and_then([&] {
                              return git({"remote", "add", "origin", suite.source.what});
                          })
                          .and_then([&] {
                              return git({"fetch", "--quiet", "--depth", "1", "origin", rev});
                          })
                          .and_then([&] {
                              return git({"checkout", "--quiet", "--detach", "FETCH_HEAD"});
                          });
    if (!done) return tl::unexpected(done.error());
    return std::string();
}

Expected<Source> installed_debian(const suites::Suite& suite) {
    if (!missing_system_packages({suite.source.what}).empty())
        return fail(ErrorKind::environment,
                    fmt::format("the Debian package {} is not installed", suite.source.what),
                    fmt::format("apt-get install {}", suite.source.what));
    Source source;
    source.root = "/";
    const auto version =
        output_of({{"dpkg-query", "-W", "-f=${Version}", suite.source.what}, ".", {}});
    if (version) source.commit = trimmed(*version);
    return source;
}

}  // namespace

std::vector<std::string> missing_system_packages(const std::vector<std::string>& packages) {
    std::vector<std::string> missing;
    if (packages.empty() || find_program("dpkg-query").empty()) return missing;
    for (const auto& package : packages) {
        const auto status =
            output_of({{"dpkg-query", "-W", "-f=${db:Status-Status}", package}, ".", {}});
        if (!status || *status != "installed") missing.push_back(package);
    }
    return missing;
}

Expected<Source> get_source(const suites::Suite& suite, const Options& options,
                            const Environment& environment, const Share& share, const Cache& cache,
                            const Say& say) {
    Source source;
    if (!options.root.empty() || suite.source.kind == SourceKind::path) {
        const fs::path root =
            options.root.empty() ? suite.folder / suite.source.what : options.root;
        std::error_code error;
        if (!fs::is_directory(root, error))
            return fail(ErrorKind::environment, "the suite's source is not a folder",
                        "name an existing one by --root DIR", root.string());
        source.root = fs::canonical(root, error);
        describe_checkout(source);
        return source;
    }
    if (suite.source.kind == SourceKind::debian) return installed_debian(suite);

    const auto key =
        content_key({"source 1", name_of(suite.source.kind), suite.source.what, suite.source.rev});
    auto entry =
        cache.get("sources", suite.name, key, [&](const fs::path& folder, const fs::path& log) {
            say(fmt::format("getting the source of {}: {} {}", suite.name,
                            name_of(suite.source.kind), suite.source.what));
            auto hash = suite.source.kind == SourceKind::git
                            ? fetch_git(suite, folder, log)
                            : fetch_pypi(suite, environment, share, folder, log);
            return hash.map_error([&](const Error& error) { return out_of_reach(suite, error); });
        });
    if (!entry) return tl::unexpected(entry.error());
    source.root = entry->folder;
    source.hash = entry->note;
    if (suite.source.kind == SourceKind::git)
        describe_checkout(source);
    else
        source.commit = version_of(suite.source.what);
    return source;
}

}  // namespace compat::prepare

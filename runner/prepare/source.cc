// Gets a source tree from PyPI, git, a folder or a Debian package, and describes a checkout. Not
// here: the Python environment.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "runner/base/files.h"
#include "runner/prepare/prepare.h"
#include "runner/prepare/tool.h"

namespace compat::prepare {

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

// Removes user and password from a remote, for storage.
std::string without_credentials(const std::string& remote) {
    const size_t scheme = remote.find("://");
    if (scheme == std::string::npos) return remote;
    const size_t host = scheme + 3;
    const size_t at = remote.find('@', host);
    if (at == std::string::npos || at > remote.find('/', host)) return remote;
    return remote.substr(0, host) + remote.substr(at + 1);
}

// Sets commit, remote and dirty flag if `root` is inside a git checkout.
void describe_checkout(Source& source) {
    const auto commit = output_of(git(source.root, {"rev-parse", "HEAD"}));
    if (!commit) return;
    source.commit = trimmed(*commit);
    if (const auto remote = output_of(git(source.root, {"remote", "get-url", "origin"})))
        source.remote = without_credentials(trimmed(*remote));
    const auto status =
        output_of(git(source.root, {"status", "--porcelain", "--untracked-files=no", "--", "."}));
    source.dirty = status && !trimmed(*status).empty();
}

Error unavailable(const suites::Suite& suite, const Error& error) {
    return {ErrorKind::environment,
            fmt::format("cannot get the source of {} ({} {}): {}", suite.name,
                        name_of(suite.source.kind), suite.source.spec, error.message),
            "use a local copy with --root DIR", error.where};
}

Expected<std::string> fetch_pypi(const suites::Suite& suite, const Environment& environment,
                                 const Share& share, const fs::path& folder, const fs::path& log) {
    const bool wheel = suite.source.kind == SourceKind::pypi_wheel;
    const fs::path archive = folder.string() + ".archive";
    std::error_code error;
    fs::remove_all(archive, error);
    TRY(run_tool({{environment.python.string(), "-m", "pip", "--disable-pip-version-check",
                   "download", "--no-deps", wheel ? "--only-binary" : "--no-binary",
                   ":all:", "--dest", archive.string(), suite.source.spec},
                  kNoProject,
                  {}},
                 log));
    for (const auto& file : fs::directory_iterator(archive, error)) {
        auto hash = output_of({{environment.python.string(), (share.prepare / "unpack.py").string(),
                                file.path().string(), folder.string()},
                               ".",
                               {}});
        fs::remove_all(archive, error);
        return hash.map(trimmed);
    }
    return fail(ErrorKind::environment, "pip downloaded no file",
                "use a local copy with --root DIR", archive.string());
}

Expected<std::string> fetch_git(const suites::Suite& suite, const fs::path& folder,
                                const fs::path& log) {
    const std::string rev = suite.source.rev.empty() ? "HEAD" : suite.source.rev;
    const std::vector<std::vector<std::string>> steps{
        {"init", "--quiet"},
        {"remote", "add", "origin", suite.source.spec},
        {"fetch", "--quiet", "--depth", "1", "origin", rev},
        {"checkout", "--quiet", "--detach", "FETCH_HEAD"}};
    for (const auto& step : steps) TRY(run_tool(git(folder, step), log));
    return std::string();
}

// The deepest folder with all files of the package outside /usr/share.
Expected<fs::path> folder_of_package(const std::string& package) {
    const auto listed = TRY(output_of({{"dpkg", "-L", package}, ".", {}}));
    fs::path common;
    for (std::istringstream lines(listed); !lines.eof();) {
        std::string file;
        std::getline(lines, file);
        std::error_code error;
        if (file.starts_with("/usr/share/") || !fs::is_regular_file(file, error)) continue;
        const fs::path folder = fs::path(file).parent_path();
        if (common.empty()) common = folder;
        while (std::mismatch(common.begin(), common.end(), folder.begin(), folder.end()).first !=
               common.end())
            common = common.parent_path();
    }
    if (common.empty())
        return fail(ErrorKind::environment, "the Debian package has no files outside /usr/share",
                    "name the folder of its tests with --root DIR", package);
    return common;
}

Expected<Source> installed_debian(const suites::Suite& suite) {
    if (!missing_system_packages({suite.source.spec}).empty())
        return fail(ErrorKind::environment,
                    fmt::format("the Debian package {} is not installed", suite.source.spec),
                    fmt::format("install it: apt-get install {}", suite.source.spec));
    const auto folder = TRY(folder_of_package(suite.source.spec));
    Source source;
    source.root = folder;
    const auto version =
        output_of({{"dpkg-query", "-W", "-f=${Version}", suite.source.spec}, ".", {}});
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
            options.root.empty() ? suite.folder / suite.source.spec : options.root;
        std::error_code error;
        if (!fs::is_directory(root, error))
            return fail(ErrorKind::environment, "the source of the suite is not a folder",
                        "choose an existing folder with --root DIR", root.string());
        source.root = fs::canonical(root, error);
        describe_checkout(source);
        return source;
    }
    if (suite.source.kind == SourceKind::debian) return installed_debian(suite);

    const auto key =
        content_key({"source 1", name_of(suite.source.kind), suite.source.spec, suite.source.rev});
    auto entry =
        TRY(cache.get("sources", suite.name, key, [&](const fs::path& folder, const fs::path& log) {
            say(fmt::format("fetching the source of {}: {} {}", suite.name,
                            name_of(suite.source.kind), suite.source.spec));
            auto hash = suite.source.kind == SourceKind::git
                            ? fetch_git(suite, folder, log)
                            : fetch_pypi(suite, environment, share, folder, log);
            return hash.map_error([&](const Error& error) { return unavailable(suite, error); });
        }));
    source.root = entry.folder;
    source.hash = entry.note;
    if (suite.source.kind == SourceKind::git)
        describe_checkout(source);
    else
        source.commit = version_of(suite.source.spec);
    return source;
}

}  // namespace compat::prepare

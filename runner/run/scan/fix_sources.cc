#include "runner/run/scan/fix_sources.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "runner/base/files.h"
#include "runner/prepare/tool.h"
#include "runner/run/ready.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;

namespace {

constexpr int kFixFormat = 2;  // runner/harness/scan/__main__.py

Expected<FixResult> parse_fix_result(const std::string& output) {
    try {
        const auto json = nlohmann::json::parse(output);
        if (json.at("format") != kFixFormat)
            return fail(ErrorKind::environment,
                        "the patch is of a format that this runner does not know");
        if (json.contains("error"))
            return fail(ErrorKind::usage,
                        fmt::format("scan --fix: {}", json["error"].get<std::string>()));
        FixResult result;
        result.patch = json.at("patch");
        result.own_cuda = json.at("own_cuda");
        result.conflict = json.at("conflict");
        for (const auto& change : json.at("changes"))
            result.changes.push_back({change.at("file"), change.at("real").get<std::string>(),
                                      change.at("place"), change.at("line"), change.at("symbol"),
                                      change.at("write")});
        for (const auto& file : json.at("skipped")) {
            const int line = file.at("line");
            result.skipped.push_back(fmt::format("{}{}: {}", file.at("file").get<std::string>(),
                                                 line > 0 ? fmt::format(":{}", line) : "",
                                                 file.at("reason").get<std::string>()));
        }
        return result;
    } catch (const nlohmann::json::exception& error) {
        return fail(ErrorKind::environment,
                    fmt::format("the program that makes the patch printed something else: {}",
                                error.what()));
    }
}

// A file with the places to change, which is removed with the value.
class PlacesFile {
  public:
    static Expected<PlacesFile> create(const std::vector<Replacement>& only) {
        std::error_code error;
        std::string pattern = (fs::temp_directory_path(error) / "runner-fix-XXXXXX").string();
        const int fd = ::mkstemp(pattern.data());
        if (fd < 0)
            return fail(ErrorKind::io, "cannot write a temporary file",
                        "set TMPDIR to a folder that can be written", pattern);
        ::close(fd);
        PlacesFile file(pattern);
        std::string text;
        for (const Replacement& one : only)
            text += fmt::format("{}:{}\n", one.real.string(), one.place);
        return write_file(pattern, text).map([&] { return std::move(file); });
    }
    PlacesFile(PlacesFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    PlacesFile& operator=(PlacesFile&&) = delete;
    ~PlacesFile() {
        std::error_code error;
        if (!path_.empty()) fs::remove(path_, error);
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    explicit PlacesFile(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

}  // namespace

long FixResult::files() const {
    std::set<fs::path> files;
    for (const Replacement& change : changes) files.insert(change.real);
    return static_cast<long>(files.size());
}

Fixer::Fixer(fs::path python, fs::path scanner)
    : python_(std::move(python)), scanner_(std::move(scanner)) {}

Expected<Fixer> Fixer::create(const config::Settings& settings, const prepare::Share& share,
                              const prepare::Say& say) {
    const fs::path scanner = share.harness / "scan";
    return prepare::tool_python("scan", scanner / "requirements.txt", prepare_options(settings),
                                prepare::Cache(settings.text(Setting::cache)), say)
        .map([&](fs::path python) { return Fixer(std::move(python), scanner); });
}

Expected<FixResult> Fixer::fix(const std::vector<std::string>& paths,
                               const FixOptions& options) const {
    prepare::Tool tool{{python_.string(), "-I", scanner_.string(), "--fix", options.torch}};
    if (options.write) tool.argv.emplace_back("--write");
    if (!options.device.empty()) tool.argv.push_back("--device=" + options.device);
    std::optional<PlacesFile> places;
    if (options.only) {
        auto file = PlacesFile::create(*options.only);
        if (!file) return tl::unexpected(file.error());
        places.emplace(std::move(*file));
        tool.argv.insert(tool.argv.end(), {"--only", places->path()});
    }
    tool.argv.emplace_back("--");
    tool.argv.insert(tool.argv.end(), paths.begin(), paths.end());
    return prepare::output_of(tool).and_then(parse_fix_result);
}

}  // namespace compat::run

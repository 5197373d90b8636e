#include "runner/site/write_site.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "reports/html/page.h"
#include "runner/archive/results.h"
#include "runner/base/files.h"
#include "runner/site/read_site.h"

namespace compat::site {

namespace {

// Names a folder as a site's.
constexpr std::string_view kMark = "site.json";
constexpr int kSiteFormat = 1;
// A site's own folders: what it did not write there is removed.
constexpr std::array<std::string_view, 3> kFolders{"suites", "runs", "badge"};

Expected<void> begin_folder(const fs::path& out) {
    std::error_code error;
    if (fs::exists(out / kMark, error)) {
        const auto text = TRY(read_file(out / kMark));
        const auto mark = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
        if (mark.is_object() && mark.value("format", 0) <= kSiteFormat) return {};
        return fail(ErrorKind::usage, "this site is from a newer runner, or its mark is damaged",
                    "update the runner, or name another folder", (out / kMark).string());
    }
    if (fs::exists(out, error) && (!fs::is_directory(out, error) || !fs::is_empty(out, error)))
        return fail(ErrorKind::usage, "the folder is not empty and is not a site",
                    "name an empty folder with --out", out.string());
    return make_directories(out).and_then([&] {
        return write_file(out / kMark, nlohmann::json{{"format", kSiteFormat}}.dump() + "\n");
    });
}

class SiteFolder {
  public:
    explicit SiteFolder(fs::path out) : out_(std::move(out)) {}

    Expected<void> write(const std::string& name, const std::string& bytes) {
        note(name, bytes.size());
        const fs::path file = out_ / name;
        std::error_code error;
        if (fs::file_size(file, error) == bytes.size() && !error)
            if (const auto old = read_file(file); old && *old == bytes) return {};
        ++written.changed;
        return make_directories(file.parent_path()).and_then([&] {
            return write_file(file, bytes);
        });
    }

    // A run's report, with the way back to the site.
    Expected<void> copy_report(const std::string& name, const fs::path& from) {
        constexpr std::string_view kBegin = "<!doctype html>\n<html lang=\"en\"",
                                   kRoot = " data-site=\"../../\"";
        std::error_code error;
        const fs::path to = out_ / name;
        const std::uint64_t size = fs::file_size(from, error) + kRoot.size();
        if (error) return fail(ErrorKind::io, error.message(), {}, from.string());
        note(name, size);
        if (fs::file_size(to, error) == size && !error &&
            fs::last_write_time(to, error) >= fs::last_write_time(from, error) && !error)
            return {};
        TRY(make_directories(to.parent_path()));
        auto file = TRY(AtomicFile::create(to));
        std::ifstream in(from, std::ios::binary);
        std::string piece(1 << 20, '\0');
        for (bool first = true; in; first = false) {
            in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
            std::string_view read(piece.data(), static_cast<std::size_t>(in.gcount()));
            if (first && read.starts_with(kBegin)) {
                file.write(kBegin);
                file.write(kRoot);
                read.remove_prefix(kBegin.size());
            }
            file.write(read);
        }
        if (in.bad()) return fail(ErrorKind::io, "this report cannot be read", {}, from.string());
        ++written.changed;
        return file.commit();
    }

    Expected<void> remove_others() {
        std::error_code error;
        for (const std::string_view folder : kFolders) {
            std::vector<fs::path> gone, folders;
            for (const auto& entry : fs::recursive_directory_iterator(out_ / folder, error)) {
                if (entry.is_directory(error) && !entry.is_symlink(error))
                    folders.push_back(entry.path());
                else if (!names_.contains(entry.path().lexically_relative(out_).generic_string()))
                    gone.push_back(entry.path());
            }
            for (const fs::path& file : gone) {
                if (!fs::remove(file, error))
                    return fail(ErrorKind::io, error.message(), "remove it", file.string());
                ++written.removed;
            }
            // The inner ones first; one that still holds a file stays.
            for (auto at = folders.rbegin(); at != folders.rend(); ++at) fs::remove(*at, error);
        }
        return {};
    }

    WrittenSite written;

  private:
    void note(const std::string& name, std::uint64_t size) {
        names_.insert(name);
        ++written.files;
        written.bytes += size;
    }

    fs::path out_;
    std::set<std::string> names_;
};

std::string page_of(const std::function<void(const reports::PartSink&)>& parts) {
    std::string page;
    reports::page_of_parts(parts, [&](std::string_view bytes) { page += bytes; });
    return page;
}

Expected<void> write_pages(SiteReader& site, SiteFolder& folder) {
    const auto view =
        TRY(site.matrix([&](const std::string& name, const reports::SiteTests& tests) {
            return folder.write(
                name, page_of([&](const reports::PartSink& sink) { tests_parts(tests, sink); }));
        }));
    for (const SiteSuite& suite : site.suites()) {
        const auto read = TRY(site.suite(suite));
        TRY(folder.write(suite.folder + "index.html",
                         page_of([&](const reports::PartSink& sink) { suite_parts(read, sink); })));
    }
    for (const SiteBadge& badge : site.badges())
        TRY(folder.write(badge.file,
                         reports::badge_svg(site.suites()[badge.suite].cells[badge.cell])));
    for (const auto& [run, from] : site.published())
        TRY(folder.copy_report(fmt::format("runs/{}/report.html", run), from / "report.html"));
    return folder.write("index.html",
                        page_of([&](const reports::PartSink& sink) { site_parts(view, sink); }));
}

}  // namespace

Expected<WrittenSite> write_site(const fs::path& results, const fs::path& out) {
    TRY(reports::can_write_html());
    const auto folder = TRY(archive::existing_results(results));
    const auto store = TRY(store::Store::open(folder / "runner.db", store::Store::Mode::read_only));
    TRY(begin_folder(out));
    SiteFolder pages(out);
    // All pages show the runs of one moment.
    const auto write_all = [&]() -> Expected<void> {
        auto site = TRY(SiteReader::open(store, folder));
        return write_pages(site, pages);
    };
    TRY(store.snapshot(write_all));
    TRY(pages.remove_others());
    pages.written.index = out / "index.html";
    return pages.written;
}

}  // namespace compat::site

#include "runner/serve/page_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "reports/html/gzip.h"
#include "runner/archive/run_folder.h"

namespace compat::serve {

namespace {

// A page is not made again for this multiple of the time that it took, so that a large run that
// goes on is not read all the time.
constexpr int kRestFactor = 4;

// Who waits gets an answer whatever happens.
Expected<MadePage> caught(const PageCache::Make& make) {
    try {
        return make();
    } catch (const std::exception& error) {
        return fail(ErrorKind::io, fmt::format("this page could not be made: {}", error.what()));
    }
}

SteadyTime now() { return std::chrono::steady_clock::now(); }

}  // namespace

Part make_part(const std::string& text) {
    auto gzip = std::make_shared<const std::string>(reports::gzipped(text));
    const std::string etag =
        fmt::format("\"{:x}-{:x}\"", text.size(), std::hash<std::string_view>{}(text));
    return {std::move(gzip), text.size(), etag};
}

std::uint64_t MadePage::bytes() const {
    std::uint64_t sum = document.gzip ? document.gzip->size() : 0;
    for (const auto& [name, part] : parts) sum += part.gzip->size();
    return sum;
}

std::string stamp_of(const std::vector<fs::path>& run_folders) {
    std::string stamp;
    for (const fs::path& folder : run_folders) {
        std::error_code error;
        const auto changed = fs::last_write_time(folder / "report.json", error);
        stamp += fmt::format("{} {} ", archive::RunLock::is_held(folder),
                             error ? 0 : changed.time_since_epoch().count());
        stamp += fs::exists(folder, error) ? '+' : '-';
    }
    return stamp;
}

std::shared_ptr<const MadePage> PageCache::fresh(const std::string& key) {
    const auto at = std::find_if(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return entry.key == key; });
    if (at == entries_.end()) return nullptr;
    if (at->until < now() || at->page->stamp != stamp_of(at->page->watched)) {
        entries_.erase(at);
        return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, at);
    return at->page;
}

void PageCache::get(const std::string& key, const Make& make, const Start& start, Use use) {
    std::unique_lock lock(mutex_);
    if (const auto page = fresh(key)) {
        lock.unlock();
        return use(page);
    }
    const bool goes_on = made_.contains(key);
    made_[key].push_back(std::move(use));
    lock.unlock();
    if (!goes_on) start([this, key, make] { finish(key, make); });
}

void PageCache::finish(const std::string& key, const Make& make) {
    const SteadyTime begun = now();
    auto made = caught(make);
    const SteadyTime ended = now();
    PageOrError result = std::move(made).map(
        [](MadePage&& page) { return std::make_shared<const MadePage>(std::move(page)); });
    std::unique_lock lock(mutex_);
    if (result) {
        const MadePage& page = **result;
        const auto kept =
            page.live ? std::max<SteadyTime::duration>(limits_.live, kRestFactor * (ended - begun))
                      : SteadyTime::duration(limits_.finished);
        entries_.push_front({key, *result, ended + kept, page.bytes()});
        std::uint64_t sum = 0;
        for (auto at = entries_.begin(); at != entries_.end();) {
            sum += at->bytes;
            at = at != entries_.begin() && sum > limits_.bytes ? entries_.erase(at) : std::next(at);
        }
    }
    const auto waiting = made_.extract(key);
    lock.unlock();
    for (const Use& use : waiting.mapped()) use(result);
}

}  // namespace compat::serve

// Pages that were made, each as its parts. One that is asked for by many at once is made once, and
// nobody waits in a thread. Not for how a page is made (page_makers.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/http/body.h"

namespace compat::serve {

struct Part {
    http::SharedText gzip;
    std::uint64_t size = 0;  // uncompressed
    std::string etag;
};
[[nodiscard]] Part make_part(const std::string& text);

struct MadePage {
    std::map<std::string, Part, std::less<>> parts;
    Part document;         // HTML, unless `type` says otherwise
    std::string type{};    // its media type; empty: HTML
    std::string redirect;  // instead of parts: where the page is
    bool live = false;     // its parts change by themselves
    // Folders of the runs that it shows, and their stamp before they were read: the page is made
    // again when one of them changes.
    std::vector<fs::path> watched{};
    std::string stamp{};

    [[nodiscard]] std::uint64_t bytes() const;
};
using PageOrError = Expected<std::shared_ptr<const MadePage>>;

struct CacheLimits {
    std::uint64_t bytes = 256 << 20;  // compressed; the latest page is kept whatever its size
    std::chrono::milliseconds live{2'000};
    std::chrono::milliseconds finished{300'000};  // attribution may know more runs by then
};

class PageCache {
  public:
    explicit PageCache(CacheLimits limits = {}) : limits_(limits) {}

    using Use = std::function<void(const PageOrError&)>;
    using Make = std::function<Expected<MadePage>()>;
    using Start = std::function<void(std::function<void()>)>;

    // Calls `use` with the page named `key`, now if it is fresh. Otherwise `start` gets the job of
    // making it, unless that goes on; then `use` is called by that job. Errors are not kept.
    void get(const std::string& key, const Make& make, const Start& start, Use use);

  private:
    struct Entry {
        std::string key;
        std::shared_ptr<const MadePage> page;
        SteadyTime until;
        std::uint64_t bytes = 0;
    };
    void finish(const std::string& key, const Make& make);
    // Null: there is none, or it is stale.
    std::shared_ptr<const MadePage> fresh(const std::string& key);

    CacheLimits limits_;
    std::mutex mutex_;
    std::list<Entry> entries_;                      // the latest used first
    std::map<std::string, std::vector<Use>> made_;  // being made: who waits
};

// Changes when a run goes on, ends, or gets new reports.
[[nodiscard]] std::string stamp_of(const std::vector<fs::path>& run_folders);

}  // namespace compat::serve

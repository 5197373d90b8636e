// The content of each address of a server: pages, their parts, and the files of runs. Reads in
// threads of its own, so that the server's thread never waits. Not for HTTP (runner/http) nor for
// how a page is made (page_makers.h).
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "runner/base/files/fs.h"
#include "runner/http/http_server.h"
#include "runner/serve/page_cache.h"
#include "runner/serve/page_makers.h"

namespace compat::serve {

using http::Request;
using http::Respond;
using http::Response;

class Pages {
  public:
    // Serves the results in this folder. `on_error` is called, from any thread, with errors of the
    // results, not with those of a request.
    explicit Pages(
        fs::path results, std::function<void(const Error&)> on_error = [](const Error&) {});
    ~Pages();  // waits for what is being read

    // As Handler.
    void answer(Request request, Respond respond);
    // Whether all reading ends within this time. Nothing is read afterwards.
    [[nodiscard]] bool end_within(std::chrono::milliseconds time);

  private:
    using Components = std::vector<std::string>;
    void answer_in_thread(const Request& request, const Components& path, const Respond& respond);
    void answer_site(const Request& request, const Components& path, const Respond& respond);
    void answer_page(const Request& request, const std::string& key, const PageCache::Make& make,
                     bool is_slow, std::string part, const Respond& respond);
    [[nodiscard]] Response file(const Request& request, const Components& path);
    [[nodiscard]] Response refusal_of(const Error& error);
    void start(boost::asio::thread_pool& pool, std::function<void()> job);

    PageMakers makers_;
    std::function<void(const Error&)> on_error_;
    PageCache cache_;
    std::atomic<int> jobs_ = 0;
    // Making the page of a large run takes seconds: others do not wait for it.
    boost::asio::thread_pool readers_{2}, makers_of_slow_pages_{2};
};

}  // namespace compat::serve

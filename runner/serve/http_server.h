// An HTTP/1.1 server for reading: GET and HEAD, the Host header checked, and limits that keep slow
// and many clients from harming others. One thread serves all connections. Not for what it answers
// (pages.h), and not for TLS or a public network.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/serve/body.h"

namespace compat::serve {

// docs/guide/serving.md lists these.
struct ServerLimits {
    std::size_t header_bytes = 16 << 10;
    std::chrono::milliseconds request{30'000};  // from a request's first byte to its last
    std::chrono::milliseconds idle{60'000};     // from an answer to the next request
    // An answer of N bytes may take `request` and the time for N bytes at this rate.
    std::uint64_t least_bytes_per_second = 64 << 10;
    std::size_t connections = 1024;  // at once; further ones wait until one ends
};

struct Request {
    std::string target;  // path and query, as they were sent
    std::string range;   // headers; empty: not sent
    std::string if_none_match;
    bool accepts_gzip = false;
};

struct Response {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::unique_ptr<Body> body;
    // In addition to those that every answer has.
    std::vector<std::pair<std::string, std::string>> headers{};
};

using Respond = std::function<void(Response)>;
// Calls `respond` once, from any thread, while the server lives, at once or later. Must not block.
using Handler = std::function<void(Request, Respond)>;

class HttpServer {
  public:
    // Binds to `host`, an address or a name, and listens. Port 0: a free one. Errors: usage, if the
    // port is in use or the address is not this machine's.
    [[nodiscard]] static Expected<HttpServer> listen(const std::string& host, std::uint16_t port,
                                                     ServerLimits limits = {});
    HttpServer(HttpServer&&) noexcept;
    HttpServer& operator=(HttpServer&&) = delete;
    ~HttpServer();

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] bool is_loopback() const;
    [[nodiscard]] std::string url() const;  // "http://127.0.0.1:8737/"

    // Until SIGINT, SIGTERM or SIGHUP, or `stop`. Answers that are being sent may end within 500
    // ms.
    void run(Handler handler);
    void stop();  // from any thread

  private:
    class Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace compat::serve

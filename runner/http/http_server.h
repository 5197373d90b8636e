// An HTTP/1.1 server for reading: GET, HEAD and small POSTs, the Host header checked, and limits
// that keep slow, many and hostile clients from harming others. One thread serves all connections.
// Not for what it answers (runner/serve, runner/hub), and not for TLS or a public network.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fd.h"
#include "runner/http/body.h"

namespace compat::http {

// docs/guide/serving.md lists these.
struct ServerLimits {
    std::size_t header_bytes = 16 << 10;
    std::chrono::milliseconds request{30'000};  // from a request's first byte to its last
    std::chrono::milliseconds idle{60'000};     // from an answer to the next request
    // An answer of N bytes may take `request` and the time for N bytes at this rate.
    std::uint64_t least_bytes_per_second = 64 << 10;
    std::size_t connections = 1024;        // at once; further ones wait until one ends
    std::size_t adopted_connections = 64;  // of each adopted socket; fewer where there are many
    std::uint64_t body_bytes = 0;          // of a POST; 0: none is allowed
};

enum class Method { get, head, post };

struct Request {
    std::string target;  // path and query, as they were sent
    std::string range;   // headers; empty: not sent
    std::string if_none_match;
    bool accepts_gzip = false;
    Method method = Method::get;
    std::string body{};  // of a POST
    std::string content_type{};
    std::string authorization{};  // a secret
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
// An exception of it is answered 500.
using Handler = std::function<void(Request, Respond)>;

// A server that runs beside others in a process leaves signals to them.
enum class EndBy { signals, stop_alone };

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

    // Accepts on a further listening TCP socket too, also one of another network namespace, until
    // the returned value dies. From any thread. Empty: it is no such socket.
    [[nodiscard]] std::shared_ptr<void> adopt(Fd listening);

    // Until SIGINT, SIGTERM or SIGHUP, or `stop`. Answers that are being sent may end within 500
    // ms.
    void run(Handler handler, EndBy end_by = EndBy::signals);
    void stop();  // from any thread

  private:
    class Impl;
    explicit HttpServer(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_;
};

}  // namespace compat::http

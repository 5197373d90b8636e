#include "runner/http/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <csignal>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "runner/http/address.h"
#include "runner/http/message_body.h"

namespace compat::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;

namespace {

constexpr std::chrono::milliseconds kGrace{500};     // for answers that are being sent at the end
constexpr std::chrono::milliseconds kLinger{2'000};  // for a client to read why it was refused
constexpr std::chrono::milliseconds kRetryAccept{100};
constexpr std::size_t kOwnFiles = 128;                       // descriptors that are not connections
constexpr std::size_t kAllAdopted = 256, kLeastAdopted = 4;  // connections; each may send a file

// Headers of every answer. Pages add a policy of their own (runner/serve).
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAlways{{
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
}};

const boost::system::error_category& http_errors() {
    return bhttp::make_error_code(bhttp::error::bad_method).category();
}

Response refusal(bhttp::status status, std::string words) {
    return {static_cast<unsigned>(status), "text/plain; charset=utf-8",
            text_body(std::move(words) + "\n")};
}

// Each connection is a descriptor. Systems often allow 1,024 unless a program asks for more.
std::size_t allowed_connections(std::size_t wanted) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
    const rlim_t needed = wanted + kOwnFiles;
    if (files.rlim_cur < needed) {
        files.rlim_cur = std::min<rlim_t>(needed, files.rlim_max);
        ::setrlimit(RLIMIT_NOFILE, &files);
        ::getrlimit(RLIMIT_NOFILE, &files);
    }
    const rlim_t free = files.rlim_cur - std::min<rlim_t>(files.rlim_cur, kOwnFiles);
    return std::clamp<rlim_t>(free, 1, wanted);
}

}  // namespace

class HttpServer::Impl {
  public:
    Impl(std::string name, ServerLimits limits) : limits_(limits), name_(std::move(name)) {
        limits_.connections = allowed_connections(limits.connections);
    }

    // A socket that connections are accepted on.
    struct Listener {
        explicit Listener(asio::io_context& io) : acceptor(io), timer(io) {}
        tcp::acceptor acceptor;
        asio::steady_timer timer;
        std::size_t open = 0;  // connections
        bool is_adopted = false, is_full = false;
    };

    Expected<void> listen(std::uint16_t port);
    void run(Handler handler, EndBy end_by);
    // In the server's thread.
    void adopt(const std::shared_ptr<Listener>& listener);
    // From any thread.
    void drop(const std::weak_ptr<Listener>& adopted) {
        asio::post(io_, [this, adopted] {
            const auto listener = adopted.lock();
            if (!listener) return;
            close(*listener);
            adopted_.erase(listener);
        });
    }
    asio::io_context& io() { return io_; }
    void stop() {
        asio::post(io_, [this] { end(); });
    }
    [[nodiscard]] tcp::endpoint endpoint() const { return endpoint_; }

    ~Impl() { is_ending_ = true; }

  private:
    class Connection;

    void accept(const std::shared_ptr<Listener>& listener);
    static void close(Listener& listener);
    void end();
    // Many sandboxes share what is allowed to all of them, so that tests which connect without end
    // exhaust neither the runner's descriptors nor each other.
    [[nodiscard]] std::size_t most_open(const Listener& listener) const {
        if (!listener.is_adopted) return limits_.connections;
        const std::size_t share = kAllAdopted / std::max<std::size_t>(1, adopted_.size());
        return std::clamp(share, kLeastAdopted, limits_.adopted_connections);
    }
    void connection_ended(const std::shared_ptr<Listener>& listener) {
        --listener->open;
        if (std::exchange(listener->is_full, false)) accept(listener);
    }

    // Before `io_`, whose end ends connections.
    std::size_t busy_ = 0;  // connections with a request that is not answered yet
    bool is_ending_ = false;
    asio::io_context io_;
    std::unordered_set<std::shared_ptr<Listener>> adopted_;
    ServerLimits limits_;
    std::string name_;  // as the user wrote it
    std::shared_ptr<Listener> listener_ = std::make_shared<Listener>(io_);
    tcp::endpoint endpoint_;
    asio::steady_timer timer_{io_};
    std::optional<KnownHosts> hosts_;
    Handler handler_;
    // Connections whose answer is being made, by number: other threads know the number alone, so
    // that a connection ends in its own thread.
    std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> waiting_;
    std::uint64_t asked_ = 0;
};

class HttpServer::Impl::Connection : public std::enable_shared_from_this<Connection> {
  public:
    Connection(Impl& server, std::shared_ptr<Listener> listener, tcp::socket socket)
        : server_(server),
          listener_(std::move(listener)),
          stream_(std::move(socket)),
          buffer_(server.limits_.header_bytes + kReadAhead) {
        ++listener_->open;
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { server_.connection_ended(listener_); }

    // A new connection has the time of a request from its start, so that one that sends nothing
    // ends soon.
    void read() {
        stream_.expires_after(server_.limits_.request);
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(server_.limits_.header_bytes));
        parser_->body_limit(boost::none);  // a body is refused below, before it is read
        // Not a relative end: a client that sends a byte a second does not get more time.
        bhttp::async_read_header(
            stream_, buffer_, *parser_,
            [self = shared_from_this()](error_code error, std::size_t) { self->on_header(error); });
    }

  private:
    static constexpr std::size_t kReadAhead = 4096;

    void wait_for_next() {
        if (buffer_.size() > 0) return read();
        stream_.expires_after(server_.limits_.idle);
        stream_.async_read_some(buffer_.prepare(kReadAhead),
                                [self = shared_from_this()](error_code error, std::size_t size) {
                                    if (error) return;
                                    self->buffer_.commit(size);
                                    self->read();
                                });
    }

    void on_header(error_code error) {
        stream_.expires_never();
        if (error == bhttp::error::end_of_stream || error == beast::error::timeout) return;
        const bool is_no_request = error && error.category() == http_errors();
        if (error && !is_no_request) return;
        ++server_.busy_;
        if (error == bhttp::error::header_limit || error == bhttp::error::buffer_overflow)
            return refuse(bhttp::status::request_header_fields_too_large,
                          "The request's header is too large.");
        if (is_no_request)
            return refuse(bhttp::status::bad_request, "This is not a request of HTTP/1.1.");
        const auto& request = parser_->get();
        is_head_ = request.method() == bhttp::verb::head;
        keeps_alive_ = request.keep_alive();
        version_ = request.version();
        const bool may_post = server_.limits_.body_bytes > 0;
        const bool is_post = may_post && request.method() == bhttp::verb::post;
        if (!is_head_ && !is_post && request.method() != bhttp::verb::get) {
            Response response = refusal(bhttp::status::method_not_allowed,
                                        "Only GET and HEAD are allowed: nothing can be changed.");
            response.headers.emplace_back("Allow", may_post ? "GET, HEAD, POST" : "GET, HEAD");
            keeps_alive_ = false;
            return send(std::move(response));
        }
        if (!is_post && !parser_->is_done())
            return refuse(bhttp::status::payload_too_large, "A request here has no body.");
        if (request.count(bhttp::field::host) != 1)
            return refuse(bhttp::status::bad_request, "The request needs one Host header.");
        if (!server_.hosts_->has(view(request[bhttp::field::host])))
            return refuse(bhttp::status::misdirected_request,
                          "This server does not have this name. Use its address, or name it with "
                          "--host.");
        const auto promised = parser_->content_length();
        if (is_post && promised && *promised > server_.limits_.body_bytes)
            return refuse(bhttp::status::payload_too_large, "The request's body is too large.");
        if (is_post) return read_body();
        answer(request, {});
    }

    // In the time that is left of the request's.
    void read_body() {
        body_.emplace(std::move(*parser_));
        body_->body_limit(server_.limits_.body_bytes);
        stream_.expires_after(server_.limits_.request);
        bhttp::async_read(
            stream_, buffer_, *body_,
            [self = shared_from_this()](error_code error, std::size_t) { self->on_body(error); });
    }

    void on_body(error_code error) {
        stream_.expires_never();
        if (error == bhttp::error::body_limit)
            return refuse(bhttp::status::payload_too_large, "The request's body is too large.");
        if (error && error.category() == http_errors())
            return refuse(bhttp::status::bad_request, "This is not a request of HTTP/1.1.");
        if (error) {
            --server_.busy_;
            return;
        }
        auto request = body_->release();
        answer(request, std::move(request.body()));
    }

    template <class Fields>
    void answer(const bhttp::header<true, Fields>& request, std::string body) {
        const std::string encodings(view(request[bhttp::field::accept_encoding]));
        const bool refuses_gzip = encodings.find("gzip;q=0") != encodings.npos &&
                                  encodings.find("gzip;q=0.") == encodings.npos;
        const auto field = [&](bhttp::field name) { return std::string(view(request[name])); };
        Request asked{std::string(view(request.target())),
                      field(bhttp::field::range),
                      field(bhttp::field::if_none_match),
                      encodings.find("gzip") != encodings.npos && !refuses_gzip,
                      is_head_                                ? Method::head
                      : request.method() == bhttp::verb::post ? Method::post
                                                              : Method::get,
                      std::move(body),
                      field(bhttp::field::content_type),
                      field(bhttp::field::authorization)};
        const std::uint64_t number = ++server_.asked_;
        server_.waiting_.emplace(number, shared_from_this());
        const Respond respond = [&server = server_, number](Response response) {
            auto shared = std::make_shared<Response>(std::move(response));
            asio::post(server.io_, [&server, number, shared] {
                const auto at = server.waiting_.extract(number);
                if (!at.empty()) at.mapped()->send(std::move(*shared));
            });
        };
        // A second answer finds nobody who waits.
        try {
            server_.handler_(std::move(asked), respond);
        } catch (const std::exception&) {
            respond(refusal(bhttp::status::internal_server_error, "The server failed."));
        }
    }

    // Also answers bytes that are not a request.
    void refuse(bhttp::status status, std::string words) {
        keeps_alive_ = false;
        send(refusal(status, std::move(words)));
    }

    template <class Message>
    void write(std::shared_ptr<Message> message, std::uint64_t bytes) {
        const std::chrono::milliseconds transfer(
            1000 * bytes / std::max<std::uint64_t>(1, server_.limits_.least_bytes_per_second));
        stream_.expires_after(server_.limits_.request + transfer);
        bhttp::async_write(stream_, *message,
                           [self = shared_from_this(), message](error_code error, std::size_t) {
                               self->on_sent(error);
                           });
    }

    template <class Message>
    void add_headers(Message& message, const Response& response, std::uint64_t bytes) {
        for (const auto& [name, value] : kAlways) message.set(text(name), text(value));
        if (!response.type.empty()) message.set(bhttp::field::content_type, response.type);
        for (const auto& [name, value] : response.headers) message.set(name, value);
        if (response.status != static_cast<unsigned>(bhttp::status::not_modified))
            message.content_length(bytes);
        message.keep_alive(keeps_alive_ && !server_.is_ending_);
    }

    void send(Response response) {
        if (!response.body) response.body = text_body(std::string());
        const std::uint64_t bytes = response.body->size();
        const auto status = static_cast<bhttp::status>(response.status);
        if (is_head_ || status == bhttp::status::not_modified) {
            auto message = std::make_shared<bhttp::response<bhttp::empty_body>>(status, version_);
            add_headers(*message, response, bytes);
            return write(message, 0);
        }
        auto message = std::make_shared<bhttp::response<BodyOfMessage>>(status, version_);
        add_headers(*message, response, bytes);
        message->body() = std::move(response.body);
        write(message, bytes);
    }

    void on_sent(error_code error) {
        --server_.busy_;
        if (server_.is_ending_ && server_.busy_ == 0) server_.io_.stop();
        if (error) return;
        if (keeps_alive_ && !server_.is_ending_) return wait_for_next();
        stream_.socket().shutdown(tcp::socket::shutdown_send, error);
        stream_.expires_after(kLinger);
        discard();
    }

    // Closing while a client still sends would take back the answer that it has not read.
    void discard() {
        stream_.async_read_some(asio::buffer(discarded_),
                                [self = shared_from_this()](error_code error, std::size_t) {
                                    if (!error) self->discard();
                                });
    }

    static std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }
    static beast::string_view text(std::string_view text) { return {text.data(), text.size()}; }

    Impl& server_;
    std::shared_ptr<Listener> listener_;
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<bhttp::request_parser<bhttp::empty_body>> parser_;
    std::optional<bhttp::request_parser<bhttp::string_body>> body_;
    std::array<char, 1024> discarded_;
    unsigned version_ = 11;
    bool is_head_ = false, keeps_alive_ = false;
};

Expected<void> HttpServer::Impl::listen(std::uint16_t port) {
    error_code error;
    tcp::resolver resolver(io_);
    const auto found =
        resolver.resolve(name_, std::to_string(port),
                         tcp::resolver::passive | tcp::resolver::numeric_service, error);
    if (error || found.empty())
        return fail(ErrorKind::usage, fmt::format("no address is known for \"{}\"", name_),
                    "name an address of this machine with --host");
    // A name may have addresses of a protocol that this machine does not use.
    tcp::acceptor& acceptor = listener_->acceptor;
    for (const auto& one : found) {
        acceptor = tcp::acceptor(io_);
        acceptor.open(one.endpoint().protocol(), error);
        if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
        if (!error) acceptor.bind(one.endpoint(), error);
        if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
        if (!error) break;
    }
    if (error == asio::error::address_in_use)
        return fail(ErrorKind::usage, fmt::format("port {} of {} is in use", port, name_),
                    "choose another with --port; --port 0 takes a free one");
    if (error)
        return fail(ErrorKind::usage,
                    fmt::format("cannot listen on port {} of {}: {}", port, name_, error.message()),
                    "name an address of this machine with --host, or another port with --port");
    endpoint_ = acceptor.local_endpoint();
    hosts_.emplace(endpoint_.address().to_string(), name_);
    return {};
}

void HttpServer::Impl::accept(const std::shared_ptr<Listener>& listener) {
    if (is_ending_ || !listener->acceptor.is_open()) return;
    if (listener->open >= most_open(*listener)) {
        listener->is_full = true;
        return;
    }
    listener->acceptor.async_accept([this, listener](error_code error, tcp::socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
            socket.set_option(tcp::no_delay(true), error);
            try {
                std::make_shared<Connection>(*this, listener, std::move(socket))->read();
            } catch (const std::exception&) {
                error = asio::error::no_memory;  // ends this connection, none that comes after it
            }
            return accept(listener);
        }
        // Out of descriptors: others close.
        listener->timer.expires_after(kRetryAccept);
        listener->timer.async_wait([this, listener](error_code stopped) {
            if (!stopped) accept(listener);
        });
    });
}

void HttpServer::Impl::adopt(const std::shared_ptr<Listener>& listener) {
    if (is_ending_) return;
    adopted_.insert(listener);
    accept(listener);
}

void HttpServer::Impl::close(Listener& listener) {
    error_code ignored;
    listener.acceptor.close(ignored);
    listener.timer.cancel();
}

void HttpServer::Impl::end() {
    if (std::exchange(is_ending_, true)) return;
    close(*listener_);
    for (const auto& listener : adopted_) close(*listener);
    if (busy_ == 0) return io_.stop();
    listener_->timer.expires_after(kGrace);
    listener_->timer.async_wait([this](error_code) { io_.stop(); });
}

void HttpServer::Impl::run(Handler handler, EndBy end_by) {
    handler_ = std::move(handler);
    std::optional<asio::signal_set> signals;
    if (end_by == EndBy::signals) {
        signals.emplace(io_, SIGINT, SIGTERM);
        struct sigaction hangup {};
        ::sigaction(SIGHUP, nullptr, &hangup);
        if (hangup.sa_handler != SIG_IGN) signals->add(SIGHUP);  // nohup ignores it
        signals->async_wait([this](error_code error, int) {
            if (!error) end();
        });
    }
    accept(listener_);
    // An exception ends the connection that it comes from, no other one. Memory is a cause.
    while (!io_.stopped()) {
        try {
            io_.run();
        } catch (const std::exception&) {
            continue;
        }
    }
}

HttpServer::HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Expected<HttpServer> HttpServer::listen(const std::string& host, std::uint16_t port,
                                        ServerLimits limits) {
    auto impl = std::make_shared<Impl>(host, limits);
    TRY(impl->listen(port));
    return HttpServer(std::move(impl));
}

std::uint16_t HttpServer::port() const { return impl_->endpoint().port(); }

bool HttpServer::is_loopback() const { return impl_->endpoint().address().is_loopback(); }

std::string HttpServer::url() const {
    const auto address = impl_->endpoint().address();
    const std::string number = address.to_string();
    return fmt::format("http://{}:{}/", address.is_v6() ? "[" + number + "]" : number, port());
}

std::shared_ptr<void> HttpServer::adopt(Fd listening) {
    int accepts = 0;
    socklen_t size = sizeof accepts;
    ::getsockopt(listening.get(), SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size);
    if (accepts == 0) return {};
    auto listener = std::make_shared<Impl::Listener>(impl_->io());
    listener->is_adopted = true;
    error_code error;
    listener->acceptor.assign(tcp::v4(), listening.get(), error);
    if (error) return {};
    listening.release();
    asio::post(impl_->io(), [impl = impl_.get(), listener] { impl->adopt(listener); });
    // Whoever holds it may outlive the server.
    const std::weak_ptr<Impl> server = impl_;
    const std::weak_ptr<Impl::Listener> adopted = listener;
    return {listener.get(), [server, adopted](void*) {
                if (const auto impl = server.lock()) impl->drop(adopted);
            }};
}

void HttpServer::run(Handler handler, EndBy end_by) { impl_->run(std::move(handler), end_by); }
void HttpServer::stop() { impl_->stop(); }

}  // namespace compat::http

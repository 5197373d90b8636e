#include "runner/serve/http_server.h"

#include <fmt/format.h>
#include <sys/resource.h>

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

#include "runner/serve/address.h"

namespace compat::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;

namespace {

constexpr std::chrono::milliseconds kGrace{500};     // for answers that are being sent at the end
constexpr std::chrono::milliseconds kLinger{2'000};  // for a client to read why it was refused
constexpr std::chrono::milliseconds kRetryAccept{100};
constexpr std::size_t kOwnFiles = 128;  // descriptors that are not connections

// Headers of every answer. Pages add a policy of their own (pages.cc).
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAlways{{
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
}};

// Beast's view of a Body.
struct BodyOfMessage {
    using value_type = std::unique_ptr<Body>;
    static std::uint64_t size(const value_type& body) { return body->size(); }

    class writer {
      public:
        using const_buffers_type = asio::const_buffer;
        template <bool isRequest, class Fields>
        writer(http::header<isRequest, Fields>&, value_type& body)
            : body_(*body), left_(body->size()) {}
        void init(error_code& error) { error = {}; }
        boost::optional<std::pair<const_buffers_type, bool>> get(error_code& error) {
            error = {};
            if (left_ == 0) return boost::none;
            const std::string_view piece = body_.next();
            // The header promised more: the connection is closed, which tells the client.
            if (piece.empty() || piece.size() > left_) {
                error = http::error::partial_message;
                return boost::none;
            }
            left_ -= piece.size();
            return {{asio::const_buffer(piece.data(), piece.size()), left_ > 0}};
        }

      private:
        Body& body_;
        std::uint64_t left_;
    };
};

const boost::system::error_category& http_errors() {
    return http::make_error_code(http::error::bad_method).category();
}

Response refusal(http::status status, std::string words) {
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

    Expected<void> listen(std::uint16_t port);
    void run(Handler handler);
    void stop() {
        asio::post(io_, [this] { end(); });
    }
    [[nodiscard]] tcp::endpoint endpoint() const { return endpoint_; }

    ~Impl() { is_ending_ = true; }

  private:
    class Connection;

    void accept();
    void end();
    void connection_ended() {
        --open_;
        if (std::exchange(is_full_, false)) accept();
    }

    // Before `io_`, whose end ends connections.
    std::size_t open_ = 0;  // connections
    std::size_t busy_ = 0;  // of them, those with a request that is not answered yet
    bool is_full_ = false, is_ending_ = false;
    asio::io_context io_;
    ServerLimits limits_;
    std::string name_;  // as the user wrote it
    tcp::acceptor acceptor_{io_};
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
    Connection(Impl& server, tcp::socket socket)
        : server_(server),
          stream_(std::move(socket)),
          buffer_(server.limits_.header_bytes + kReadAhead) {
        ++server_.open_;
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { server_.connection_ended(); }

    // A new connection has the time of a request from its start, so that one that sends nothing
    // ends soon.
    void read() {
        stream_.expires_after(server_.limits_.request);
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(server_.limits_.header_bytes));
        parser_->body_limit(boost::none);  // a body is refused below, before it is read
        // Not a relative end: a client that sends a byte a second does not get more time.
        http::async_read_header(
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
        if (error == http::error::end_of_stream || error == beast::error::timeout) return;
        const bool is_no_request = error && error.category() == http_errors();
        if (error && !is_no_request) return;
        ++server_.busy_;
        if (error == http::error::header_limit || error == http::error::buffer_overflow)
            return refuse(http::status::request_header_fields_too_large,
                          "The request's header is too large.");
        if (is_no_request)
            return refuse(http::status::bad_request, "This is not a request of HTTP/1.1.");
        const auto& request = parser_->get();
        is_head_ = request.method() == http::verb::head;
        keeps_alive_ = request.keep_alive();
        version_ = request.version();
        if (!is_head_ && request.method() != http::verb::get) {
            Response response = refusal(http::status::method_not_allowed,
                                        "Only GET and HEAD are allowed: nothing can be changed.");
            response.headers.emplace_back("Allow", "GET, HEAD");
            keeps_alive_ = false;
            return send(std::move(response));
        }
        if (!parser_->is_done())
            return refuse(http::status::payload_too_large, "A request here has no body.");
        if (request.count(http::field::host) != 1)
            return refuse(http::status::bad_request, "The request needs one Host header.");
        if (!server_.hosts_->has(view(request[http::field::host])))
            return refuse(http::status::misdirected_request,
                          "This server does not have this name. Use its address, or name it with "
                          "--host.");
        answer(request);
    }

    void answer(const http::request<http::empty_body>& request) {
        const std::string encodings(view(request[http::field::accept_encoding]));
        const bool refuses_gzip = encodings.find("gzip;q=0") != encodings.npos &&
                                  encodings.find("gzip;q=0.") == encodings.npos;
        Request asked{std::string(view(request.target())),
                      std::string(view(request[http::field::range])),
                      std::string(view(request[http::field::if_none_match])),
                      encodings.find("gzip") != encodings.npos && !refuses_gzip};
        const std::uint64_t number = ++server_.asked_;
        server_.waiting_.emplace(number, shared_from_this());
        server_.handler_(std::move(asked), [&server = server_, number](Response response) {
            auto shared = std::make_shared<Response>(std::move(response));
            asio::post(server.io_, [&server, number, shared] {
                const auto at = server.waiting_.extract(number);
                if (!at.empty()) at.mapped()->send(std::move(*shared));
            });
        });
    }

    // Also answers bytes that are not a request.
    void refuse(http::status status, std::string words) {
        keeps_alive_ = false;
        send(refusal(status, std::move(words)));
    }

    template <class Message>
    void write(std::shared_ptr<Message> message, std::uint64_t bytes) {
        const std::chrono::milliseconds transfer(
            1000 * bytes / std::max<std::uint64_t>(1, server_.limits_.least_bytes_per_second));
        stream_.expires_after(server_.limits_.request + transfer);
        http::async_write(stream_, *message,
                          [self = shared_from_this(), message](error_code error, std::size_t) {
                              self->on_sent(error);
                          });
    }

    template <class Message>
    void add_headers(Message& message, const Response& response, std::uint64_t bytes) {
        for (const auto& [name, value] : kAlways) message.set(text(name), text(value));
        if (!response.type.empty()) message.set(http::field::content_type, response.type);
        for (const auto& [name, value] : response.headers) message.set(name, value);
        if (response.status != static_cast<unsigned>(http::status::not_modified))
            message.content_length(bytes);
        message.keep_alive(keeps_alive_ && !server_.is_ending_);
    }

    void send(Response response) {
        if (!response.body) response.body = text_body(std::string());
        const std::uint64_t bytes = response.body->size();
        const auto status = static_cast<http::status>(response.status);
        if (is_head_ || status == http::status::not_modified) {
            auto message = std::make_shared<http::response<http::empty_body>>(status, version_);
            add_headers(*message, response, bytes);
            return write(message, 0);
        }
        auto message = std::make_shared<http::response<BodyOfMessage>>(status, version_);
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
    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::empty_body>> parser_;
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
    for (const auto& one : found) {
        acceptor_ = tcp::acceptor(io_);
        acceptor_.open(one.endpoint().protocol(), error);
        if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
        if (!error) acceptor_.bind(one.endpoint(), error);
        if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
        if (!error) break;
    }
    if (error == asio::error::address_in_use)
        return fail(ErrorKind::usage, fmt::format("port {} of {} is in use", port, name_),
                    "choose another with --port; --port 0 takes a free one");
    if (error)
        return fail(ErrorKind::usage,
                    fmt::format("cannot listen on port {} of {}: {}", port, name_, error.message()),
                    "name an address of this machine with --host, or another port with --port");
    endpoint_ = acceptor_.local_endpoint();
    hosts_.emplace(endpoint_.address().to_string(), name_);
    return {};
}

void HttpServer::Impl::accept() {
    if (is_ending_) return;
    if (open_ >= limits_.connections) {
        is_full_ = true;
        return;
    }
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
            socket.set_option(tcp::no_delay(true), error);
            std::make_shared<Connection>(*this, std::move(socket))->read();
            return accept();
        }
        // Out of descriptors: others close.
        timer_.expires_after(kRetryAccept);
        timer_.async_wait([this](error_code stopped) {
            if (!stopped) accept();
        });
    });
}

void HttpServer::Impl::end() {
    if (std::exchange(is_ending_, true)) return;
    error_code ignored;
    acceptor_.close(ignored);
    if (busy_ == 0) return io_.stop();
    timer_.expires_after(kGrace);
    timer_.async_wait([this](error_code) { io_.stop(); });
}

void HttpServer::Impl::run(Handler handler) {
    handler_ = std::move(handler);
    asio::signal_set signals(io_, SIGINT, SIGTERM);
    struct sigaction hangup {};
    ::sigaction(SIGHUP, nullptr, &hangup);
    if (hangup.sa_handler != SIG_IGN) signals.add(SIGHUP);  // nohup ignores it
    signals.async_wait([this](error_code error, int) {
        if (!error) end();
    });
    accept();
    io_.run();
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Expected<HttpServer> HttpServer::listen(const std::string& host, std::uint16_t port,
                                        ServerLimits limits) {
    auto impl = std::make_unique<Impl>(host, limits);
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

void HttpServer::run(Handler handler) { impl_->run(std::move(handler)); }
void HttpServer::stop() { impl_->stop(); }

}  // namespace compat::serve

// With real sockets and short limits. The installed program's limits: tests/e2e/test_serve.py.
#include "runner/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <thread>

namespace compat::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Http : public testing::Test {
  protected:
    void start(ServerLimits limits, Handler handler = answer_target) {
        server.emplace(HttpServer::listen("127.0.0.1", 0, limits).value());
        thread = std::thread([this, handler] { server->run(handler); });
    }
    ~Http() override {
        if (!thread.joinable()) return;
        server->stop();
        thread.join();
    }
    static void answer_target(Request request, const Respond& respond) {
        respond({200, "text/plain", text_body(request.target)});
    }

    class Client {
      public:
        explicit Client(std::uint16_t port) {
            socket.connect({asio::ip::address_v4::loopback(), port});
        }
        void send(std::string_view text) { asio::write(socket, asio::buffer(text)); }
        // Until the server closes.
        std::string rest() {
            std::string text;
            boost::system::error_code error;
            asio::read(socket, asio::dynamic_buffer(text), error);
            return text;
        }
        // The next answer, whose body has `size` bytes.
        std::string answer(std::size_t size) {
            std::string text;
            while (text.find("\r\n\r\n") == text.npos ||
                   text.size() < text.find("\r\n\r\n") + 4 + size) {
                char byte = 0;
                asio::read(socket, asio::buffer(&byte, 1));
                text += byte;
            }
            return text;
        }

      private:
        asio::io_context io;

      public:
        tcp::socket socket{io};
    };
    static std::string get(const std::string& target, const std::string& more = {}) {
        return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n";
    }

    std::optional<HttpServer> server;
    std::thread thread;
};

TEST_F(Http, AnswersSeveralRequestsOnOneConnection) {
    start({});
    Client client(server->port());
    client.send(get("/a") + get("/bb"));  // both at once
    EXPECT_THAT(client.answer(2), EndsWith("\r\n\r\n/a"));
    EXPECT_THAT(client.answer(3), EndsWith("\r\n\r\n/bb"));
    client.send(get("/c", "Connection: close\r\n"));
    EXPECT_THAT(client.rest(), EndsWith("\r\n\r\n/c"));
}

TEST_F(Http, EndsARequestThatComesByteByByte) {
    ServerLimits limits;
    limits.request = 300ms;
    start(limits);
    Client slow(server->port()), silent(server->port()), quick(server->port());
    const auto begun = std::chrono::steady_clock::now();
    std::thread sender([&] {
        const std::string text = get("/a");
        boost::system::error_code error;
        for (std::size_t i = 0; i < text.size() && !error; ++i) {
            asio::write(slow.socket, asio::buffer(&text[i], 1), error);
            std::this_thread::sleep_for(50ms);
        }
    });
    quick.send(get("/b", "Connection: close\r\n"));
    EXPECT_THAT(quick.rest(), EndsWith("/b"));
    EXPECT_EQ(slow.rest(), "");
    EXPECT_EQ(silent.rest(), "");
    const auto took = std::chrono::steady_clock::now() - begun;
    EXPECT_GE(took, 250ms);
    EXPECT_LT(took, 2s);
    sender.join();
}

TEST_F(Http, EndsAnIdleConnection) {
    ServerLimits limits;
    limits.idle = 200ms;
    start(limits);
    Client client(server->port());
    client.send(get("/a"));
    EXPECT_THAT(client.answer(2), EndsWith("/a"));
    EXPECT_EQ(client.rest(), "");
}

TEST_F(Http, EndsAClientThatDoesNotReadItsAnswer) {
    ServerLimits limits;
    limits.request = 200ms;
    limits.least_bytes_per_second = 1 << 30;
    start(limits, [](const Request&, const Respond& respond) {
        respond({200, "text/plain", text_body(std::string(64 << 20, 'x'))});
    });
    Client client(server->port());
    client.send(get("/"));
    std::this_thread::sleep_for(1s);
    EXPECT_LT(client.rest().size(), 64U << 20);
}

TEST_F(Http, LetsFurtherConnectionsWait) {
    ServerLimits limits;
    limits.connections = 2;
    start(limits);
    auto first = std::make_unique<Client>(server->port());
    Client second(server->port()), third(server->port());
    for (Client* client : {first.get(), &second}) {
        client->send(get("/a"));
        EXPECT_THAT(client->answer(2), EndsWith("/a"));
    }
    third.send(get("/c"));
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(third.socket.available(), 0U);
    first.reset();
    EXPECT_THAT(third.answer(2), EndsWith("/c"));
}

TEST_F(Http, AnswersFromOtherThreadsAndLate) {
    std::vector<std::thread> threads;
    start({}, [&](Request request, const Respond& respond) {
        threads.emplace_back([target = request.target, respond] {
            std::this_thread::sleep_for(target == "/late" ? 300ms : 0ms);
            respond({200, "text/plain", text_body(target)});
        });
    });
    Client late(server->port()), gone(server->port()), soon(server->port());
    late.send(get("/late", "Connection: close\r\n"));
    gone.send(get("/late"));
    gone.socket.close();
    soon.send(get("/soon", "Connection: close\r\n"));
    EXPECT_THAT(soon.rest(), EndsWith("/soon"));
    EXPECT_THAT(late.rest(), EndsWith("/late"));
    server->stop();
    thread.join();
    for (std::thread& one : threads) one.join();
}

TEST_F(Http, SaysHowItEndsABodyThatIsShorterThanPromised) {
    class Short : public Body {
        [[nodiscard]] std::uint64_t size() const override { return 10; }
        [[nodiscard]] std::string_view next() override {
            return std::exchange(is_read_, true) ? "" : "half";
        }
        bool is_read_ = false;
    };
    start({}, [](const Request&, const Respond& respond) {
        respond({200, "text/plain", std::make_unique<Short>()});
    });
    Client client(server->port());
    client.send(get("/"));
    const std::string text = client.rest();
    EXPECT_THAT(text, HasSubstr("Content-Length: 10\r\n"));
    EXPECT_THAT(text, testing::Not(EndsWith("halfhalf")));
}

TEST_F(Http, StopsAtOnceAlthoughClientsAreConnected) {
    start({});
    Client idle(server->port()), asking(server->port());
    asking.send("GET /");
    const auto begun = std::chrono::steady_clock::now();
    server->stop();
    thread.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 1500ms);
}

TEST(HttpListen, SaysWhatToDoAboutAPortInUse) {
    const auto first = HttpServer::listen("127.0.0.1", 0);
    ASSERT_TRUE(first);
    const auto second = HttpServer::listen("127.0.0.1", first->port());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::usage);
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(first->port())));
    EXPECT_THAT(second.error().advice, HasSubstr("--port"));
    EXPECT_TRUE(first->is_loopback());
    EXPECT_THAT(first->url(), StartsWith("http://127.0.0.1:"));
    EXPECT_FALSE(HttpServer::listen("0.0.0.0", 0)->is_loopback());
}

}  // namespace
}  // namespace compat::http

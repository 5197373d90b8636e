// The hub in replay, over real sockets: what is right, what is damaged, and what a hostile test may
// send. Real clients, recording and generating: tests/e2e/hub.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "runner/base/files.h"
#include "runner/hub/hub.h"
#include "runner/hub/store/digest.h"
#include "runner/hub/store/lock.h"
#include "tests/support/temp_tree.h"

namespace compat::hub {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

const std::string kCommit(40, 'a');

class HubServer : public testing::Test {
  protected:
    void SetUp() override {
        Repository one;
        one.name = "org/name";
        one.aliases = {"name"};
        one.revisions = {"main"};
        one.commit = kCommit;
        add(one, "config.json", "{}\n", false);
        add(one, "model.safetensors", "0123456789", true);
        add(one, "data/x.csv", "a,b\n", false);
        one.files["unused.bin"] = {"unused.bin", 5, std::string(40, '1'), "", false, false};
        catalog.merge(one);
    }
    void add(Repository& to, const std::string& path, const std::string& text, bool is_lfs) {
        const std::string sha256 = sha256_of(text);
        tree.write("store/blobs/" + sha256, text);
        Sha1 oid = git_blob(text.size());
        oid.add(text);
        to.files[path] = {path, text.size(), oid.hex(), sha256, is_lfs, true};
    }
    void start() {
        Settings settings;
        settings.store = tree.root() / "store";
        settings.lock = tree.write("hub.lock.json", lock_text(catalog));
        settings.log = tree.root() / "hub.jsonl";
        hub = Hub::start(settings).value();
    }
    // The whole answer to these bytes, until the hub closes.
    std::string raw(const std::string& bytes, std::uint16_t port = 0) const {
        asio::io_context io;
        tcp::socket socket(io);
        socket.connect({asio::ip::address_v4::loopback(), port ? port : hub->port()});
        boost::system::error_code error;
        asio::write(socket, asio::buffer(bytes), error);
        std::string text;
        asio::read(socket, asio::dynamic_buffer(text), error);
        return text;
    }
    std::string get(const std::string& target, const std::string& more = {},
                    const std::string& method = "GET", std::uint16_t port = 0) const {
        return raw(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                       more + "\r\n",
                   port);
    }
    static std::string body(const std::string& answer) {
        return answer.substr(answer.find("\r\n\r\n") + 4);
    }

    test::TempTree tree;
    Catalog catalog;
    std::unique_ptr<Hub> hub;
};

TEST_F(HubServer, ServesAFileWithItsTagAndCommit) {
    start();
    const std::string text = get("/org/name/resolve/main/config.json");
    EXPECT_THAT(text, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(text, HasSubstr("X-Repo-Commit: " + kCommit));
    EXPECT_THAT(text, HasSubstr("ETag: \"0967ef424bce6791893e9a57bb952f80fd536e93\""));  // git's
    EXPECT_EQ(body(text), "{}\n");
    const std::string large = get("/org/name/resolve/main/model.safetensors", "", "HEAD");
    EXPECT_THAT(large, HasSubstr("X-Linked-Etag: \"" + sha256_of("0123456789") + "\""));
    EXPECT_THAT(large, HasSubstr("Content-Length: 10\r\n"));
    EXPECT_EQ(body(large), "");
    EXPECT_THAT(get("/org/name/raw/main/model.safetensors"),
                EndsWith("oid sha256:" + sha256_of("0123456789") + "\nsize 10\n"));
}

TEST_F(HubServer, ServesRangesAndUnchangedFiles) {
    start();
    const std::string target = "/org/name/resolve/main/model.safetensors";
    const std::string part = get(target, "Range: bytes=3-5\r\n");
    EXPECT_THAT(part, StartsWith("HTTP/1.1 206"));
    EXPECT_THAT(part, HasSubstr("Content-Range: bytes 3-5/10"));
    EXPECT_EQ(body(part), "345");
    EXPECT_EQ(body(get(target, "Range: bytes=7-\r\n")), "789");
    EXPECT_THAT(get(target, "Range: bytes=10-\r\n"), StartsWith("HTTP/1.1 416"));
    EXPECT_THAT(get(target, "If-None-Match: \"" + sha256_of("0123456789") + "\"\r\n"),
                StartsWith("HTTP/1.1 304"));
}

TEST_F(HubServer, AnswersTheApiFromTheModel) {
    start();
    const json info = json::parse(body(get("/api/models/org/name?blobs=true")));
    EXPECT_EQ(info["sha"], kCommit);
    EXPECT_EQ(info["siblings"].size(), 4U);
    EXPECT_EQ(info["siblings"][2]["lfs"]["sha256"], sha256_of("0123456789"));
    const json tree_of_root = json::parse(body(get("/api/models/org/name/tree/main")));
    EXPECT_EQ(tree_of_root.size(), 4U);
    EXPECT_EQ(tree_of_root[0]["type"], "directory");
    EXPECT_EQ(json::parse(body(get("/api/models/org/name/tree/main?recursive=true"))).size(), 5U);
    EXPECT_EQ(json::parse(body(get("/api/models/org/name/tree/main/data")))[0]["path"],
              "data/x.csv");
    EXPECT_THAT(get("/api/models/org/name/tree/main/none"), HasSubstr("EntryNotFound"));
    const std::string form = "paths=data&paths=config.json&paths=none";
    const json paths =
        json::parse(body(get("/api/models/org/name/paths-info/main",
                             "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " +
                                 std::to_string(form.size()) + "\r\n\r\n" + form,
                             "POST")));
    EXPECT_EQ(paths.size(), 2U);
    EXPECT_EQ(json::parse(body(get("/api/models/org/name/refs")))["branches"][0]["targetCommit"],
              kCommit);
}

TEST_F(HubServer, RedirectsFromAnAlias) {
    start();
    EXPECT_THAT(get("/name/resolve/main/data/x.csv"),
                HasSubstr("Location: /org/name/resolve/main/data/x.csv"));
    EXPECT_EQ(json::parse(body(get("/api/models/name")))["id"], "org/name");
}

TEST_F(HubServer, NamesWhatIsMissing) {
    start();
    EXPECT_THAT(get("/api/models/org/none"), HasSubstr("X-Error-Code: RepoNotFound"));
    EXPECT_THAT(get("/api/models/org/none"), HasSubstr("X-Compat-Missing: 1"));
    EXPECT_THAT(get("/api/models/org/name/revision/v9"),
                HasSubstr("X-Error-Code: RevisionNotFound"));
    const std::string entry = get("/org/name/resolve/main/none.txt");
    EXPECT_THAT(entry, HasSubstr("X-Error-Code: EntryNotFound"));
    EXPECT_THAT(entry, HasSubstr("X-Repo-Commit: " + kCommit));
    EXPECT_THAT(entry, Not(HasSubstr("X-Compat-Missing")));  // clients look for optional files
    EXPECT_THAT(get("/org/name/resolve/main/unused.bin"), HasSubstr("HTTP/1.1 404"));
    EXPECT_THAT(get("/_url/https/example.org/a.jpg"), HasSubstr("HTTP/1.1 404"));
    EXPECT_THAT(get("/api/whoami-v2"), StartsWith("HTTP/1.1 401"));
    const Summary summary = hub->stop();
    std::vector<std::string> names;
    for (const Named& one : summary.missing) names.push_back(one.name);
    EXPECT_THAT(names, testing::UnorderedElementsAre("model org/none", "model org/name",
                                                     "model org/name: unused.bin",
                                                     "https://example.org/a.jpg"));
    EXPECT_TRUE(summary.problems.empty());
    EXPECT_THAT(read_file(tree.root() / "hub.jsonl").value(), HasSubstr("\"how\":\"missing\""));
}

// A file that nobody recorded and one that was lost are two different things.
TEST_F(HubServer, SaysThatContentIsDamagedOrLost) {
    start();
    const fs::path config = tree.root() / "store/blobs" / sha256_of("{}\n");
    tree.write(config, "{]\n");
    EXPECT_THAT(get("/org/name/resolve/main/config.json"), StartsWith("HTTP/1.1 500"));
    EXPECT_THAT(get("/org/name/resolve/main/config.json"), HasSubstr("damaged"));
    fs::remove(tree.root() / "store/blobs" / sha256_of("a,b\n"));
    EXPECT_THAT(get("/org/name/resolve/main/data/x.csv"), StartsWith("HTTP/1.1 500"));
    const fs::path model = tree.root() / "store/blobs" / sha256_of("0123456789");
    fs::rename(model, tree.root() / "elsewhere");
    fs::create_symlink(tree.root() / "elsewhere", model);
    EXPECT_THAT(get("/org/name/resolve/main/model.safetensors"), StartsWith("HTTP/1.1 500"));
    const Summary summary = hub->stop();
    EXPECT_EQ(summary.problems.size(), 3U);
    EXPECT_TRUE(summary.missing.empty());
}

// Too large to hash before the first byte goes out.
TEST_F(HubServer, WithholdsTheEndOfLargeDamagedContent) {
    Repository one;
    one.name = "org/large";
    one.revisions = {"main"};
    one.commit = std::string(40, 'b');
    std::string text(17 << 20, 'x');
    add(one, "large.bin", text, true);
    catalog.merge(one);
    start();
    EXPECT_EQ(body(get("/org/large/resolve/main/large.bin")), text);
    const fs::path blob = tree.root() / "store/blobs" / sha256_of(text);
    text[5] = 'y';
    tree.write(blob, text);
    EXPECT_LT(body(get("/org/large/resolve/main/large.bin")).size(), text.size());
    // Clients go on where an answer broke off.
    EXPECT_THAT(get("/org/large/resolve/main/large.bin", "Range: bytes=17000000-\r\n"),
                StartsWith("HTTP/1.1 500"));
    EXPECT_EQ(hub->stop().problems.size(), 1U);
}

// A part says nothing about the rest: the whole is hashed before the first one goes out.
TEST_F(HubServer, ChecksLargeContentBeforeItsFirstPart) {
    Repository one;
    one.name = "org/large";
    one.revisions = {"main"};
    one.commit = std::string(40, 'b');
    std::string text(17 << 20, 'x');
    add(one, "large.bin", text, true);
    const fs::path blob = tree.root() / "store/blobs" / sha256_of(text);
    add(one, "right.bin", text + "y", true);
    catalog.merge(one);
    text[5] = 'y';
    tree.write(blob, text);
    start();
    for (int i = 0; i < 2; ++i)
        EXPECT_THAT(get("/org/large/resolve/main/large.bin", "Range: bytes=17000000-17000009\r\n"),
                    StartsWith("HTTP/1.1 500"));
    const std::string right = "/org/large/resolve/main/right.bin";
    EXPECT_EQ(body(get(right, "Range: bytes=17825790-17825792\r\n")), "xxy");
    // Not again, until the file changes.
    text[5] = 'x';
    tree.write(tree.root() / "store/blobs" / sha256_of(text + "y"), text + "z");
    EXPECT_THAT(get(right, "Range: bytes=0-9\r\n"), StartsWith("HTTP/1.1 500"));
    EXPECT_EQ(hub->stop().problems.size(), 2U);
}

TEST_F(HubServer, LivesThroughHostileBytes) {
    start();
    const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n";
    EXPECT_THAT(raw(request + "X: " + std::string(1 << 20, 'a') + "\r\n\r\n"),
                StartsWith("HTTP/1.1 431"));
    EXPECT_THAT(raw("\x16\x03\x01 garbage\r\n\r\n"), StartsWith("HTTP/1.1 400"));
    EXPECT_THAT(raw("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n"),
                StartsWith("HTTP/1.1 4"));
    EXPECT_THAT(raw("POST /api/models/a/b/paths-info/main HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Length: 999999999999\r\n\r\n"),
                StartsWith("HTTP/1.1 413"));
    EXPECT_THAT(raw("GET / HTTP/1.1\r\nHost: evil.example.org\r\n\r\n"),
                StartsWith("HTTP/1.1 421"));
    EXPECT_THAT(raw("DELETE /org/name HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                StartsWith("HTTP/1.1 405"));
    for (const std::string& target :
         {std::string("/org/name/resolve/main/../../../../etc/passwd"),
          std::string("/org/name/resolve/main/%2e%2e%2f%2e%2e%2fetc%2fpasswd"), std::string("/%00"),
          std::string("/_url/https/%0d%0aX-Injected:%201/"), std::string("/_url/x"),
          std::string("/api/models/%ff%fe"), "/org/name/resolve/main/" + std::string(8'000, 'a'),
          std::string("//////")}) {
        const std::string text = get(target);
        EXPECT_THAT(text, StartsWith("HTTP/1.1 4")) << target;
        EXPECT_THAT(text, Not(HasSubstr("\nX-Injected"))) << target;
        EXPECT_THAT(text, Not(HasSubstr("root:"))) << target;
    }
    EXPECT_THAT(get("/org/name/resolve/main/config.json"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HubServer, LivesThroughHostileJson) {
    start();
    const auto post = [&](const std::string& json) {
        return get("/api/models/org/name/paths-info/main",
                   "Content-Type: application/json\r\nContent-Length: " +
                       std::to_string(json.size()) + "\r\n\r\n" + json,
                   "POST");
    };
    for (const char* key : {"expand", "paths"}) {
        const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
        EXPECT_THAT(post(fmt::format("{{\"{}\":{}}}", key, deep)), StartsWith("HTTP/1.1 200"));
    }
    std::string many = "{\"paths\":[\"config.json\"";
    for (int i = 0; i < 50'000; ++i) many += ",\"config.json\"";
    EXPECT_EQ(json::parse(body(post(many + "]}"))).size(), 1U);
    EXPECT_THAT(get("/org/name/resolve/main/config.json"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HubServer, RefusesAddressesThatNobodyHas) {
    start();
    EXPECT_THAT(get("/_url/https/h/" + std::string(4'000, 'a')), StartsWith("HTTP/1.1 404"));
    EXPECT_THAT(get("/_url/https/h/" + std::string(5'000, 'a')), StartsWith("HTTP/1.1 400"));
    EXPECT_EQ(hub->stop().missing.size(), 1U);
}

class Listener {
  public:
    Listener() : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
        ::listen(fd_.get(), 128);
        socklen_t size = sizeof address;
        ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
    }
    Fd take() { return std::move(fd_); }
    [[nodiscard]] std::uint16_t port() const { return port_; }

  private:
    Fd fd_;
    std::uint16_t port_ = 0;
};

TEST_F(HubServer, AcceptsOnFurtherSocketsUntilTheyAreLetGo) {
    start();
    Listener one;
    auto held = hub->listen_also(one.take());
    ASSERT_TRUE(held);
    const std::string target = "/org/name/resolve/main/config.json";
    EXPECT_EQ(body(get(target, "", "GET", one.port())), "{}\n");
    held.reset();
    bool is_closed = false;
    for (int i = 0; i < 100 && !is_closed; ++i) {
        asio::io_context io;
        tcp::socket socket(io);
        boost::system::error_code error;
        socket.connect({asio::ip::address_v4::loopback(), one.port()}, error);
        is_closed = static_cast<bool>(error);
        std::this_thread::sleep_for(20ms);
    }
    EXPECT_TRUE(is_closed);
    EXPECT_EQ(body(get(target)), "{}\n");
    EXPECT_FALSE(hub->listen_also(Fd(::open("/dev/null", O_RDONLY))));
}

TEST_F(HubServer, ManyConnectionsOfOneSandboxHarmNoOther) {
    start();
    Listener bad, good;
    const auto first = hub->listen_also(bad.take()), second = hub->listen_also(good.take());
    asio::io_context io;
    std::vector<tcp::socket> sockets;
    for (int i = 0; i < 150; ++i) {
        sockets.emplace_back(io);
        boost::system::error_code error;
        sockets.back().connect({asio::ip::address_v4::loopback(), bad.port()}, error);
        asio::write(sockets.back(), asio::buffer(std::string("GET /")), error);
    }
    const std::string target = "/org/name/resolve/main/config.json";
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(body(get(target, "", "GET", good.port())), "{}\n");
        EXPECT_EQ(body(get(target)), "{}\n");
    }
    long files = 0;
    for (const auto& one : fs::directory_iterator("/proc/self/fd")) files += one.exists();
    EXPECT_LT(files, 150 + 64 + 40);  // ours, the hub's of that socket, and others
}

TEST_F(HubServer, AHandleMayOutliveTheHub) {
    start();
    Listener one;
    auto held = hub->listen_also(one.take());
    hub.reset();
    held.reset();
}

TEST_F(HubServer, SaysWhereALockIsWrong) {
    Settings settings;
    settings.store = tree.root() / "store";
    settings.lock = tree.write("hub.lock.json", "{\"format\": 1,\n\"x\": 2}");
    const auto hub_or_error = Hub::start(settings);
    ASSERT_FALSE(hub_or_error);
    EXPECT_THAT(to_line(hub_or_error.error()), HasSubstr("hub.lock.json:2:6"));
}

TEST_F(HubServer, StopsTwiceWithOneSummary) {
    start();
    (void)get("/api/models/org/name");
    EXPECT_EQ(hub->stop().requests, 1U);
    EXPECT_EQ(hub->stop().requests, 1U);
}

}  // namespace
}  // namespace compat::hub

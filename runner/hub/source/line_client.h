// Requests to a program of ours, each a line of JSON with a number, and its answers in any order.
// Starts the program when it is first needed, and again after it died. Not for what is asked
// (fetcher.h, generator.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/hub/source/line_process.h"

namespace compat::hub {

class LineClient {
  public:
    // Called once, by a thread of the client or the one that asks. An error (spawn): no answer;
    // why.
    using Done = std::function<void(Expected<nlohmann::json>)>;

    // `name`: in errors. `limit`: without any answer while one is due; 0: none. `on_tick`: about
    // once a second while the program runs.
    LineClient(Program program, std::string name, std::chrono::seconds limit,
               std::function<void()> on_tick = {});
    LineClient(const LineClient&) = delete;
    LineClient& operator=(const LineClient&) = delete;
    ~LineClient() { stop(); }

    // `request`: an object, which gets the member "id".
    void ask(nlohmann::json request, Done done);
    // Starts the program, and gives its first line, which has no "id".
    void greet(Done done);
    // Ends the program. Requests without an answer get none. Nothing is called any more when it
    // returns. Not from what is called.
    void stop();

  private:
    struct Pending {
        std::string line;  // empty: the first line is due
        Done done;
        bool is_sent = false;
    };
    using Failed = std::vector<std::pair<Done, Error>>;
    void add(std::uint64_t id, std::string line, Done done);
    // All with `mutex_` held; what failed is called without it.
    void start_and_send(Failed& failed);
    void send_more();
    void fail_all(const Error& error, Failed& failed);
    void on_line(std::string_view line);
    void on_tick();
    void on_end(const std::string& why);
    [[nodiscard]] Error error_of(const std::string& why) const;

    const Program program_;
    const std::string name_;
    const std::chrono::seconds limit_;
    const std::function<void()> tick_;
    std::mutex mutex_;
    std::map<std::uint64_t, Pending> pending_;  // by age
    std::uint64_t last_id_ = 0;
    std::size_t under_way_ = 0;  // bytes that are sent, of requests without an answer
    int starts_ = 0;             // since it answered a request
    int endings_ = 0;            // calls of `on_end` under way
    bool is_stopped_ = false;
    std::condition_variable ended_;  // one fewer of them
    std::chrono::steady_clock::time_point progress_;
    std::unique_ptr<LineProcess> process_;
};

}  // namespace compat::hub

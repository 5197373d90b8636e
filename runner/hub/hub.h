// A hub of models and datasets on this machine, for the tests of one run: an HTTP server on a
// thread of its own that answers as the Hugging Face hub does, from a store of files. Files that
// the store lacks are fetched (record) or made (generate). Not for which run has one (runner/run),
// and not for the content of a generated model (the generator).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fd.h"
#include "runner/base/files/fs.h"

namespace compat::hub {

enum class Mode { off, replay, record, generate };

[[nodiscard]] std::string_view name_of(Mode mode);
[[nodiscard]] std::optional<Mode> mode_named(std::string_view name);

// Commits of generated repositories begin with these digits: "generated" in ASCII.
inline constexpr std::string_view kGeneratedCommit = "67656e657261746564";
inline constexpr std::uint64_t kDefaultMaxBytes = std::uint64_t{20} << 30;

// A program that is started when it is first needed, with JSON lines on its input and output.
struct Program {
    std::vector<std::string> argv;                               // argv[0]: a path
    std::vector<std::pair<std::string, std::string>> variables;  // its whole environment
    fs::path folder;  // its current folder, and where it writes the files that it makes
};

struct Settings {
    Mode mode = Mode::replay;
    fs::path store;                                   // "<cache>/hub"; made where there is none
    fs::path lock;                                    // hub.lock.json; need not exist
    std::uint64_t max_bytes = kDefaultMaxBytes;       // record: fetched by this run at most
    fs::path python;                                  // record: a Python with ssl, 3.8 or newer
    fs::path fetcher;                                 // record: <share>/hub/upstream.py
    std::string upstream = "https://huggingface.co";  // record: http for tests alone
    std::optional<Program> generator;                 // generate
    fs::path log;                                     // hub.jsonl, appended to; empty: none
};

// A name with the reason for what is said about it.
struct Named {
    std::string name;  // "model org/name", "dataset org/name: train.csv", "https://host/path"
    std::string why;
};

// Lists have no name twice and at most 1,000.
struct Summary {
    std::uint64_t requests = 0;
    std::uint64_t bytes_fetched = 0;
    std::vector<std::string> served;     // repositories and addresses that were answered
    std::vector<std::string> generated;  // of them, those with generated content
    std::vector<Named> missing;          // neither in the store, nor fetched, nor made
    std::vector<Named> problems;         // damaged blobs, the limit of bytes, a dead generator
};

class Hub {
  public:
    // Binds to a free port of 127.0.0.1 and serves. Touches no signals. Errors: usage and suite (a
    // lock that cannot be read, with file:line:column), io, environment.
    [[nodiscard]] static Expected<std::unique_ptr<Hub>> start(Settings settings);
    Hub(const Hub&) = delete;
    Hub& operator=(const Hub&) = delete;
    ~Hub();  // stops it

    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] std::string endpoint() const;  // "http://127.0.0.1:8737"

    // Accepts on a further listening socket, a sandbox's, until the returned value dies. Its
    // connections have a limit of their own. From any thread.
    [[nodiscard]] std::shared_ptr<void> listen_also(Fd listener);

    // Ends requests, the programs and the thread, and writes the lock. Later calls return the
    // same, with the error of the lock that could not be written among `problems`.
    [[nodiscard]] Summary stop();

  private:
    class Impl;
    explicit Hub(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace compat::hub

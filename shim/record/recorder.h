// Counts what the shim did, by place in the user's code. One recorder for kernels, hooks and Python
// remedies alike. It knows no file and no format: record.py takes the rows and writes them.
//
// State is guarded by the GIL. Threads that Python does not know have no calling line; they are
// counted apart under a mutex, so that they never have to become Python threads.
#pragma once

#include <Python.h>
#include <c10/core/Device.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fork_safe_mutex.h"
#include "record/frame.h"

namespace compat::shim {

// The words of the record (docs/reference/file-formats.md).
enum class EventKind : std::uint8_t { redirect, fold, override_, stub, refusal, fallback };

inline constexpr std::array<std::string_view, 6> kEventKinds{"redirect", "fold",    "override",
                                                             "stub",     "refusal", "fallback"};

enum class LogLevel { debug, info, warning, error };

// Index into the names of ops and symbols, from Recorder::op_id.
using OpId = std::uint32_t;

struct Event {
    OpId op = 0;
    EventKind kind = EventKind::redirect;
    std::optional<c10::Device> from;
    std::optional<c10::Device> to;

    friend bool operator==(const Event&, const Event&) = default;
};

// One line of the record: empty `file` where no Python line called.
struct SiteRow {
    std::string kind, op, from, to, file;
    int line = 0;
    std::uint64_t count = 0;
};

class Recorder {
  public:
    static Recorder& instance();

    // Frames of files under these prefixes are never the caller: torch's package, the shim itself,
    // frozen and generated code. Called once, before the first event, with the GIL held.
    void configure(std::vector<std::string> internal_prefixes, LogLevel level);

    // The callers that ask for host memory: beginnings of files' names, and a function's name or
    // nothing. After `configure`, before the first event, with the GIL held.
    struct Caller {
        std::string file, function;
    };
    void set_host_callers(std::vector<Caller> callers) { host_callers_ = std::move(callers); }
    // Whether one of them stands between this thread's op and the user's line; or there is no such
    // line. From any thread, with or without the GIL.
    [[nodiscard]] bool called_for_the_host() noexcept;

    // With the GIL held, once: `hook`, a Python callable, is called by the main thread, between two
    // of its instructions and at most once a second, after sites were counted that are new. Whoever
    // writes the record need not wait for an orderly end.
    void call_after_new_sites(PyObject* hook);

    // With the GIL held.
    [[nodiscard]] OpId op_id(std::string_view name);

    // From any thread, with or without the GIL.
    void note(const Event& event) noexcept;

    // With the GIL held: torch's function that the innermost line of the user's has called and that
    // has not returned; null where that line called no Python function of torch's.
    [[nodiscard]] OwnedFrame call_of_the_users_line();

    // With the GIL held: what was counted since the last take, one row a site, in order of file and
    // line. `take` starts the count anew.
    [[nodiscard]] std::vector<SiteRow> rows();
    [[nodiscard]] std::vector<SiteRow> take();
    void clear();

    // Sites held in memory, live or waiting to be taken: what must not grow with the count.
    [[nodiscard]] std::size_t size() const;

  private:
    struct SiteKey {
        int last_instruction;
        Event event;
        friend bool operator==(const SiteKey&, const SiteKey&) = default;
    };
    struct SiteKeyHash {
        std::size_t operator()(const SiteKey& key) const noexcept;
    };
    struct Site {
        std::uint64_t count = 0;
        int line = -1;  // -1: not resolved yet
    };
    // Hangs in a code object's extra slot and dies with it, hence no reference back is owned.
    struct CodeSites {
        PyCodeObject* code;
        bool internal;
        bool for_host;
        std::string file;
        std::unordered_map<SiteKey, Site, SiteKeyHash> sites;
    };
    using RowKey = std::tuple<std::string, int, OpId, EventKind, std::string, std::string>;
    using Rows = std::map<RowKey, std::uint64_t>;

    Recorder() = default;
    CodeSites* sites_of(PyCodeObject* code);
    bool is_internal(PyFrameObject* frame);
    void count_at_caller(const Event& event);
    void settle(CodeSites& code, Rows& into);
    [[nodiscard]] Rows python_rows();
    void forget_python();
    [[nodiscard]] Rows take_native();
    static void add(const Rows& rows, Rows& into);
    void ask_for_the_hook();
    static int call_the_hook(void* self);
    [[nodiscard]] std::vector<SiteRow> listed(const Rows& rows) const;
    void tell(const Event& event, std::string_view file, int line) const;
    [[nodiscard]] static RowKey row_key(const Event& event, const std::string& file, int line);
    static void code_is_freed(void* sites);

    LogLevel level_ = LogLevel::warning;
    Py_ssize_t slot_ = -1;
    std::vector<std::string> internal_prefixes_;
    std::vector<Caller> host_callers_;
    std::vector<std::string> op_names_;
    std::unordered_map<std::string, OpId> op_ids_;
    std::unordered_set<CodeSites*> touched_;  // those with a count since the last take
    Rows settled_;                            // counts of code objects that are gone
    PyObject* hook_ = nullptr;
    bool new_sites_ = false;  // since the hook was called
    bool asked_ = false;      // that it be called
    std::chrono::steady_clock::time_point called_;
    ForkSafeMutex native_mutex_;
    Rows native_;
};

}  // namespace compat::shim

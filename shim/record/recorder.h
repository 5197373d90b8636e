// Counts what the shim did, by source line. Kernels, hooks and Python remedies use one recorder. It
// knows no file and no format: compat_shim/record.py takes the rows and writes them.
//
// The GIL guards the state. Threads that Python does not know have no calling line. They are
// counted separately under a mutex, so that they never have to become Python threads.
#pragma once

#include <Python.h>
#include <c10/core/Device.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "record/frame.h"
#include "runtime/export.h"
#include "runtime/fork_safe_mutex.h"

namespace compat::shim {

// Names as in the record (docs/reference/file-formats.md).
enum class EventKind : std::uint8_t {
    redirect,
    fold,
    override_,
    stub,
    refusal,
    fallback,
    collective,
    optimizer_step
};

inline constexpr std::array<std::string_view, 8> kEventKinds{
    "redirect", "fold", "override", "stub", "refusal", "fallback", "collective", "optimizer_step"};

enum class LogLevel { debug, info, warning, error };

// Index into the names of ops and symbols, and texts of refusals, from Recorder::op_id.
using OpId = std::uint32_t;

inline constexpr OpId kNoName = std::numeric_limits<OpId>::max();

struct Event {
    OpId op = 0;
    EventKind kind = EventKind::redirect;
    std::optional<c10::Device> from;
    std::optional<c10::Device> to;
    OpId message = kNoName;  // of a refusal that was not raised
    OpId group = kNoName;    // of a collective, as torch names it
    int ranks = 0;           // of that group; of an optimizer's step, of all groups together

    friend bool operator==(const Event&, const Event&) = default;
};

// One line of the record; `file` is empty if no Python line called.
struct SiteRow {
    std::string kind, op, from, to, message, file;
    int line = 0;
    std::uint64_t count = 0;
    int ranks = 0;            // of a collective and of an optimizer's step
    std::string group;        // this and the bytes: of a collective
    std::uint64_t bytes = 0;  // of all calls
};

class COMPAT_EXPORT Recorder {
  public:
    static Recorder& instance();

    // Frames of files under these prefixes are never the caller: torch's package, the shim itself,
    // frozen and generated code. Called once, before the first event, with the GIL held.
    void configure(std::vector<std::string> internal_prefixes, LogLevel level);

    // One more, of files that have not run yet. With the GIL held.
    void add_internal_prefix(std::string prefix) {
        internal_prefixes_.push_back(std::move(prefix));
    }

    // Callers that need host memory: prefixes of file names, and a function's name or nothing.
    // Called after `configure` and before the first event, with the GIL held.
    struct Caller {
        std::string file, function;
    };
    void set_host_callers(std::vector<Caller> callers) { host_callers_ = std::move(callers); }
    // Whether one of these callers is between this thread's op and the user's line, or there is no
    // user's line. From any thread, with or without the GIL.
    [[nodiscard]] bool called_for_the_host() noexcept;
    // Code inside torch that passes on the device which it is given. Called like
    // `set_host_callers`.
    void set_passing_on(std::vector<Caller> callers) { passing_on_ = std::move(callers); }
    // With the GIL held: torch.compile made this code of the user's. It keeps the user's file and
    // lines, but also names devices that the user's code did not name.
    void note_compiled(PyCodeObject* code);
    // Whether the innermost Python line is the user's, or of code that passes on what the user's
    // line gave it. From any thread, with or without the GIL.
    [[nodiscard]] bool called_by_the_user() noexcept;
    // With the GIL held: whether the innermost Python line is one of these callers.
    [[nodiscard]] bool line_is_for_the_host();

    // With the GIL held, once. The main thread calls `hook`, a Python callable, between two
    // instructions, at most once a second, after new sites were counted. So the record can be
    // written before the process ends.
    void call_after_new_sites(PyObject* hook);

    // With the GIL held.
    [[nodiscard]] OpId op_id(std::string_view name);

    // From any thread, with or without the GIL.
    void note(const Event& event) noexcept { note(event, 0); }
    // One more call of a collective: its name, its group and the ranks of that, and the bytes of
    // the larger of its tensors on this rank. Becomes a Python thread for it.
    void note_collective(std::string_view name, std::string_view group, int ranks,
                         std::uint64_t bytes) noexcept;
    // "train.py:12", the innermost of the user's lines in this thread; empty if there is none. From
    // any thread, with or without the GIL.
    [[nodiscard]] std::string users_line() noexcept;

    // With the GIL held: the torch function that the user's innermost line called and that has not
    // returned; null if that line called no Python function of torch.
    [[nodiscard]] OwnedFrame call_of_the_users_line();

    // With the GIL held: counts since the last take, one row for each site, ordered by file and
    // line. `take` resets the counts.
    [[nodiscard]] std::vector<SiteRow> rows();
    [[nodiscard]] std::vector<SiteRow> take();
    void clear();

    // Sites in memory, live or waiting to be taken. Must not grow with the counts.
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
    struct Tally {
        std::uint64_t count = 0, bytes = 0;
    };
    struct Site {
        Tally tally;
        int line = -1;  // -1: not resolved yet
    };
    // Attached to a code object's extra slot and freed with it, so it owns no reference back.
    struct CodeSites {
        PyCodeObject* code;
        bool internal;
        bool for_host;
        bool passes_on;
        bool compiled;
        std::string file;
        std::unordered_map<SiteKey, Site, SiteKeyHash> sites;
    };
    using RowKey =
        std::tuple<std::string, int, OpId, EventKind, std::string, std::string, OpId, OpId, int>;
    using Rows = std::map<RowKey, Tally>;

    Recorder() = default;
    void note(const Event& event, std::uint64_t bytes) noexcept;
    [[nodiscard]] OwnedFrame users_frame();
    CodeSites* sites_of(PyCodeObject* code);
    bool is_internal(PyFrameObject* frame);
    // Asks `decide` (CodeSites to optional<bool>) of this thread's frames, innermost first, until
    // it answers; `undecided` if it does not.
    template <class Decide>
    [[nodiscard]] bool ask_frames(bool undecided, Decide decide) noexcept;
    void count_at_caller(const Event& event, std::uint64_t bytes);
    void settle(CodeSites& code, Rows& into);
    [[nodiscard]] Rows python_rows();
    void forget_python();
    [[nodiscard]] Rows take_native();
    static void add(const Rows& rows, Rows& into);
    static void add(const Tally& more, Tally& to);
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
    std::vector<Caller> passing_on_;
    std::vector<std::string> op_names_;
    std::unordered_map<std::string, OpId> op_ids_;
    std::unordered_set<CodeSites*> touched_;  // with counts since the last take
    Rows settled_;                            // counts of freed code objects
    PyObject* hook_ = nullptr;
    bool new_sites_ = false;  // since the last call of the hook
    bool asked_ = false;      // a call of the hook is pending
    std::chrono::steady_clock::time_point called_;
    ForkSafeMutex native_mutex_;
    Rows native_;
};

}  // namespace compat::shim

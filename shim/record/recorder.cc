#include "record/recorder.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "record/frame.h"

namespace compat::shim {
namespace {

std::string_view name_of(EventKind kind) { return kEventKinds[static_cast<std::size_t>(kind)]; }

// As code writes it; torch has no name for the override's device.
std::string device_name(const std::optional<c10::Device>& device) {
    if (!device) return {};
    return device->is_cpu() && device->index() < -1 ? "cpu:-1" : device->str();
}

std::string utf8(PyObject* text) {
    Py_ssize_t size = 0;
    if (const char* bytes = PyUnicode_AsUTF8AndSize(text, &size))
        return {bytes, static_cast<std::size_t>(size)};
    PyErr_Clear();  // a lone surrogate in a file name
    std::string result;
    if (PyObject* encoded = PyUnicode_AsEncodedString(text, "utf-8", "replace")) {
        result.assign(PyBytes_AS_STRING(encoded),
                      static_cast<std::size_t>(PyBytes_GET_SIZE(encoded)));
        Py_DECREF(encoded);
    } else {
        PyErr_Clear();
    }
    return result;
}

// The frame keeps its code object alive, so the pointer may be borrowed while the frame lives.
PyCodeObject* code_of(PyFrameObject* frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    Py_DECREF(code);
    return code;
}

// Reading frames must not clear an exception that is being raised.
class KeepError {
  public:
    KeepError() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~KeepError() { PyErr_Restore(type_, value_, traceback_); }
    KeepError(const KeepError&) = delete;
    KeepError& operator=(const KeepError&) = delete;

  private:
    PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

class HoldGil {
  public:
    HoldGil() : state_(PyGILState_Ensure()) {}
    ~HoldGil() { PyGILState_Release(state_); }
    HoldGil(const HoldGil&) = delete;
    HoldGil& operator=(const HoldGil&) = delete;

  private:
    PyGILState_STATE state_;
};

std::size_t packed(const std::optional<c10::Device>& device) {
    return device ? static_cast<std::size_t>(static_cast<int>(device->type()) + 1) * 512 +
                        static_cast<std::size_t>(device->index() + 129)
                  : 0;
}

}  // namespace

std::size_t Recorder::SiteKeyHash::operator()(const SiteKey& key) const noexcept {
    std::size_t hash = static_cast<std::size_t>(key.last_instruction);
    for (const std::size_t part :
         {std::size_t{key.event.op}, std::size_t(key.event.kind), packed(key.event.from),
          packed(key.event.to), std::size_t{key.event.message}, std::size_t{key.event.group}})
        hash = hash * 1'000'003 + part;
    return hash;
}

Recorder& Recorder::instance() {
    // Never destroyed: kernels and code objects may outlive every static.
    static auto* recorder = new Recorder();
    return *recorder;
}

void Recorder::configure(std::vector<std::string> internal_prefixes, LogLevel level) {
    internal_prefixes_ = std::move(internal_prefixes);
    level_ = level;
    if (slot_ < 0) slot_ = request_code_slot(&Recorder::code_is_freed);
}

OpId Recorder::op_id(std::string_view name) {
    const auto [it, fresh] =
        op_ids_.try_emplace(std::string(name), static_cast<OpId>(op_names_.size()));
    if (fresh) op_names_.emplace_back(name);
    return it->second;
}

void Recorder::note(const Event& event, std::uint64_t bytes) noexcept {
    if (!Py_IsInitialized()) return;
    try {
        if (!PyGILState_GetThisThreadState()) {
            const std::lock_guard lock(native_mutex_);
            add({1, bytes}, native_[row_key(event, {}, 0)]);
            return;
        }
        const HoldGil gil;
        const KeepError keep;
        count_at_caller(event, bytes);
    } catch (const std::bad_alloc&) {
        // The count is lost; the program's request continues.
    }
}

void Recorder::note_collective(std::string_view name, std::string_view group, int ranks,
                               std::uint64_t bytes) noexcept {
    if (!Py_IsInitialized()) return;
    try {
        const HoldGil gil;
        note({op_id(name), EventKind::collective, {}, {}, kNoName, op_id(group), ranks}, bytes);
    } catch (const std::bad_alloc&) {
        // As in `note`.
    }
}

std::string Recorder::users_line() noexcept {
    if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return {};
    try {
        const HoldGil gil;
        const KeepError keep;
        const OwnedFrame frame = users_frame();
        const CodeSites* code = frame ? sites_of(code_of(frame.get())) : nullptr;
        if (!code) return {};
        return code->file + ":" + std::to_string(PyFrame_GetLineNumber(frame.get()));
    } catch (const std::bad_alloc&) {
        return {};
    }
}

OwnedFrame Recorder::users_frame() {
    OwnedFrame frame(PyThreadState_GetFrame(PyThreadState_Get()));
    while (frame && is_internal(frame.get())) frame.reset(PyFrame_GetBack(frame.get()));
    return frame;
}

void Recorder::count_at_caller(const Event& event, std::uint64_t bytes) {
    const OwnedFrame frame = users_frame();
    CodeSites* caller = frame ? sites_of(code_of(frame.get())) : nullptr;
    if (!caller) {
        add({1, bytes}, settled_[row_key(event, {}, 0)]);
        return;
    }
    const auto [it, fresh] =
        caller->sites.try_emplace(SiteKey{last_instruction(frame.get()), event});
    if (it->second.tally.count == 0) touched_.insert(caller);
    add({1, bytes}, it->second.tally);
    new_sites_ |= fresh;
    if (new_sites_) ask_for_the_hook();
    if (level_ == LogLevel::debug || (fresh && level_ == LogLevel::info))
        tell(event, caller->file, PyCode_Addr2Line(caller->code, it->first.last_instruction));
}

void Recorder::call_after_new_sites(PyObject* hook) { hook_ = Py_NewRef(hook); }

void Recorder::ask_for_the_hook() {
    constexpr std::chrono::seconds kApart(1);
    if (!hook_ || asked_ || std::chrono::steady_clock::now() - called_ < kApart) return;
    asked_ = Py_AddPendingCall(&Recorder::call_the_hook, this) == 0;
}

// An exception of the program's own handler (Ctrl-C, an alarm) is passed on. Without memory or
// stack, the record is written later.
int Recorder::call_the_hook(void* self) {
    auto& recorder = *static_cast<Recorder*>(self);
    recorder.asked_ = recorder.new_sites_ = false;
    recorder.called_ = std::chrono::steady_clock::now();
    if (PyObject* result = PyObject_CallNoArgs(recorder.hook_))
        Py_DECREF(result);
    else if (PyErr_ExceptionMatches(PyExc_MemoryError) ||
             PyErr_ExceptionMatches(PyExc_RecursionError))
        PyErr_Clear();
    else
        return -1;
    return 0;
}

bool Recorder::is_internal(PyFrameObject* frame) {
    const CodeSites* code = sites_of(code_of(frame));
    return !code || code->internal;
}

OwnedFrame Recorder::call_of_the_users_line() {
    const KeepError keep;
    OwnedFrame call;
    OwnedFrame frame(PyThreadState_GetFrame(PyThreadState_Get()));
    while (frame && is_internal(frame.get())) {
        call = std::move(frame);
        frame.reset(PyFrame_GetBack(call.get()));
    }
    return call;
}

template <class Decide>
bool Recorder::ask_frames(bool undecided, Decide decide) noexcept {
    if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return undecided;
    try {
        const HoldGil gil;
        const KeepError keep;
        OwnedFrame frame(PyThreadState_GetFrame(PyThreadState_Get()));
        for (; frame; frame.reset(PyFrame_GetBack(frame.get()))) {
            const CodeSites* code = sites_of(code_of(frame.get()));
            if (!code) break;
            if (const std::optional<bool> decided = decide(*code)) return *decided;
        }
    } catch (const std::bad_alloc&) {
        // The request is unchanged.
    }
    return undecided;
}

bool Recorder::called_for_the_host() noexcept {
    return ask_frames(true, [](const CodeSites& code) -> std::optional<bool> {
        if (code.for_host) return true;
        if (!code.internal) return false;
        return std::nullopt;
    });
}

bool Recorder::called_by_the_user() noexcept {
    return ask_frames(false, [](const CodeSites& code) -> std::optional<bool> {
        if (code.compiled) return false;
        if (!code.internal) return true;
        if (!code.passes_on) return false;
        return std::nullopt;
    });
}

void Recorder::note_compiled(PyCodeObject* code) {
    if (CodeSites* sites = sites_of(code)) sites->compiled = true;
}

bool Recorder::line_is_for_the_host() {
    if (host_callers_.empty()) return false;
    const OwnedFrame frame(PyThreadState_GetFrame(PyThreadState_Get()));
    const CodeSites* code = frame ? sites_of(code_of(frame.get())) : nullptr;
    return code && code->for_host;
}

Recorder::CodeSites* Recorder::sites_of(PyCodeObject* code) {
    if (void* known = code_slot(code, slot_)) return static_cast<CodeSites*>(known);
    auto fresh = std::make_unique<CodeSites>(
        CodeSites{code, false, false, false, false, utf8(code->co_filename), {}});
    for (const auto& prefix : internal_prefixes_)
        fresh->internal |= fresh->file.starts_with(prefix);
    const auto is_one_of = [&](const std::vector<Caller>& callers) {
        return std::any_of(callers.begin(), callers.end(), [&](const Caller& caller) {
            return fresh->file.starts_with(caller.file) &&
                   (caller.function.empty() || caller.function == utf8(code->co_name));
        });
    };
    fresh->passes_on = is_one_of(passing_on_);
    fresh->for_host = is_one_of(host_callers_);
    if (!set_code_slot(code, slot_, fresh.get())) {
        PyErr_Clear();
        return nullptr;
    }
    return fresh.release();
}

// Called when a code object is freed, while its line table still exists.
void Recorder::code_is_freed(void* sites) {
    if (!sites) return;
    const std::unique_ptr<CodeSites> code(static_cast<CodeSites*>(sites));
    auto& self = instance();
    if (self.touched_.erase(code.get()) > 0) self.settle(*code, self.settled_);
}

void Recorder::settle(CodeSites& code, Rows& into) {
    for (auto& [key, site] : code.sites) {
        if (site.tally.count == 0) continue;
        if (site.line < 0) site.line = PyCode_Addr2Line(code.code, key.last_instruction);
        add(site.tally, into[row_key(key.event, code.file, site.line)]);
    }
}

Recorder::RowKey Recorder::row_key(const Event& event, const std::string& file, int line) {
    return {file,
            line,
            event.op,
            event.kind,
            device_name(event.from),
            device_name(event.to),
            event.message,
            event.group,
            event.ranks};
}

std::vector<SiteRow> Recorder::rows() {
    Rows all = python_rows();
    {
        const std::lock_guard lock(native_mutex_);
        add(native_, all);
    }
    return listed(all);
}

std::vector<SiteRow> Recorder::take() {
    Rows all = python_rows();
    add(take_native(), all);
    forget_python();
    return listed(all);
}

void Recorder::clear() {
    forget_python();
    (void)take_native();
    asked_ = false;  // after a fork: it was asked of the parent's main thread
}

Recorder::Rows Recorder::python_rows() {
    Rows all = settled_;
    for (CodeSites* code : touched_) settle(*code, all);
    return all;
}

void Recorder::forget_python() {
    for (CodeSites* code : touched_)
        for (auto& [key, site] : code->sites) site.tally = {};
    touched_.clear();
    settled_.clear();
}

// In one step: threads without the GIL keep counting.
Recorder::Rows Recorder::take_native() {
    const std::lock_guard lock(native_mutex_);
    return std::exchange(native_, {});
}

void Recorder::add(const Rows& rows, Rows& into) {
    for (const auto& [key, tally] : rows) add(tally, into[key]);
}

void Recorder::add(const Tally& more, Tally& to) {
    to.count += more.count;
    to.bytes += more.bytes;
}

std::vector<SiteRow> Recorder::listed(const Rows& rows) const {
    std::vector<SiteRow> result;
    result.reserve(rows.size());
    const auto name = [&](OpId id) { return id == kNoName ? std::string() : op_names_[id]; };
    for (const auto& [key, tally] : rows) {
        const auto& [file, line, op, kind, from, to, message, group, ranks] = key;
        result.push_back({std::string(name_of(kind)), op_names_[op], from, to, name(message), file,
                          line, tally.count, ranks, name(group), tally.bytes});
    }
    return result;
}

std::size_t Recorder::size() const {
    std::size_t total = settled_.size();
    for (const CodeSites* code : touched_) total += code->sites.size();
    return total;
}

void Recorder::tell(const Event& event, std::string_view file, int line) const {
    const auto side = [](const std::optional<c10::Device>& device) {
        return device ? device_name(device) : std::string("-");
    };
    std::fprintf(stderr, "compat_shim: %.*s:%d: %s %s: %s -> %s\n", static_cast<int>(file.size()),
                 file.data(), line, std::string(name_of(event.kind)).c_str(),
                 op_names_[event.op].c_str(), side(event.from).c_str(), side(event.to).c_str());
}

}  // namespace compat::shim

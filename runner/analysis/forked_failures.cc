#include "runner/analysis/forked_failures.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "parsers/diagnosis/signature.h"

namespace compat::analysis {

using parsers::CaseRecord;
using parsers::Cause;
using parsers::Failure;

namespace {

constexpr std::array kCausesOfForks{Cause::timeout,     Cause::crash,          Cause::resource,
                                    Cause::shim_defect, Cause::infrastructure, Cause::unknown};

// In "Type: message". "Cannot re-initialize CUDA in forked subprocess" is torch/cuda/__init__.py's.
const RE2& words_of_forks() {
    static const RE2 pattern(
        "(?i)fork|multiprocess|subprocess|start[ _]method|spawn|daemonic|thread|semaphore|mutex|"
        "deadlock|\\b(un-?)?lock(s|ed|file|ing)?\\b|re-?initiali[sz]|initiali[sz]ation error|"
        "already (in use|been|running|initiali[sz]ed|started|exist)|in use\\b|\\bport\\b|"
        "\\bErrno (4|9|11|16|17|22|23|24|26|32|98|110)\\b|\\bbusy\\b|broken ?pipe|BlockingIO|"
        "resource (temporarily|is|exhausted|unavailable)|FileExists|EOFError|InterruptedError|"
        "ChildProcess|event loop|file (descriptor|handle)|too many open|memory|"
        "\\bsignal (only|handler)|\\bSIG[A-Z]{2,}|time[d]?[ -]?out");
    return pattern;
}

// A frame's file.
const RE2& modules_of_forks() {
    static const RE2 pattern(
        "(^|/)(multiprocessing|concurrent/futures|joblib)/|(^|/)(threading|subprocess|"
        "socketserver)\\.py$|torch/(multiprocessing|distributed)/|torch/utils/data/_utils/worker");
    return pattern;
}

bool is_in(const std::string& file, std::string_view module) {
    return file.ends_with(module) &&
           (file.size() == module.size() || file[file.size() - module.size() - 1] == '/');
}

// Only an unreachable network is the same for all modules, wherever they notice it: these failures
// count as one signature. A model that does not exist, or may not be read, is its module's matter.
bool misses_network(const Failure& failure) {
    static const RE2 pattern(
        "(?i)couldn't (connect to|reach) '|OfflineModeIsEnabled|offline mode is enabled|"
        "outgoing traffic has been disabled|name resolution|name or service not known|"
        "network is unreachable|no route to host");
    return failure.diagnosis && failure.diagnosis->cause == Cause::hub &&
           RE2::PartialMatch(failure.message.substr(0, 4096), pattern);
}

// A device refuses an operator in every process alike, in a text of its own. It may refuse a dtype
// in one process alone: the default dtype belongs to the process.
bool is_refusal(const Failure& failure) {
    return failure.diagnosis && failure.diagnosis->confidence == parsers::Confidence::high &&
           failure.diagnosis->cause == Cause::op_missing;
}

bool is_equal_everywhere(const Failure& failure) {
    return misses_network(failure) || is_refusal(failure);
}

// Without the function that raised it, where that says nothing.
std::string shared_signature(const Failure& failure) {
    if (misses_network(failure)) return std::string(name_of(Cause::hub));
    if (is_refusal(failure)) return failure.signature.substr(0, failure.signature.rfind(" @ "));
    return failure.signature;
}

bool needs_own_confirmation(const Failure& failure, std::string_view module) {
    if (failure.signature.empty() || !failure.diagnosis) return true;
    if (std::find(kCausesOfForks.begin(), kCausesOfForks.end(), failure.diagnosis->cause) !=
        kCausesOfForks.end())
        return true;
    const parsers::Frame* frame = parsers::signature_frame(failure);
    if (!frame || (is_in(frame->file, module) && !is_equal_everywhere(failure))) return true;
    // Signatures use only the beginning of a long message, too.
    return RE2::PartialMatch(failure.type + ": " + failure.message.substr(0, 4096),
                             words_of_forks()) ||
           std::any_of(failure.frames.begin(), failure.frames.end(), [](const auto& at) {
               return RE2::PartialMatch(at.file, modules_of_forks());
           });
}

template <class Visit>
void each_failure(const CaseRecord& test, Visit visit) {
    if (test.failure) visit(*test.failure);
    for (const Failure& failure : test.also) visit(failure);
    for (const auto& sub : test.subcases)
        if (sub.failure) visit(*sub.failure);
}

}  // namespace

std::set<std::string> signatures_of(const CaseRecord& test) {
    std::set<std::string> all;
    each_failure(test, [&](const Failure& failure) { all.insert(shared_signature(failure)); });
    return all;
}

std::set<std::string> stored_signatures_of(const CaseRecord& test) {
    std::set<std::string> all;
    each_failure(test, [&](const Failure& failure) { all.insert(failure.signature); });
    return all;
}

bool needs_own_confirmation(const CaseRecord& test, std::string_view module) {
    bool has_failure = false, own = false;
    each_failure(test, [&](const Failure& failure) {
        has_failure = true;
        own = own || needs_own_confirmation(failure, module);
    });
    return !has_failure || own;
}

}  // namespace compat::analysis

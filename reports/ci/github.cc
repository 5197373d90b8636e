#include "reports/ci/github.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/text.h"
#include "reports/ci/outcome.h"
#include "runner/base/names.h"
#include "runner/base/text.h"

namespace compat::reports {

namespace {

// More than a reader of an annotation sees.
constexpr size_t kMessageBytes = 2000;

// The text as one line of a workflow command, which GitHub decodes. `in_property`: before the "::"
// that ends the properties.
std::string escaped_command(std::string_view text, bool in_property) {
    std::string out;
    const std::string valid = parsers::valid_utf8(parsers::without_ansi(text));
    std::string_view rest = valid;
    while (!rest.empty()) {
        const char c = rest.front();
        const bool separates =
            c == '%' || c == '\n' || c == '\r' || (in_property && (c == ':' || c == ','));
        const auto bytes = std::max<size_t>(deceptive_character(rest).bytes, 1);
        if (separates)
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        else if (bytes > 1 || static_cast<unsigned char>(c) < 0x80)
            out += printable(rest.substr(0, bytes));
        else
            out += c;
        rest.remove_prefix(bytes);
    }
    return out;
}

std::string cut_message(std::string text) {
    if (text.size() <= kMessageBytes) return text;
    const size_t end = first_bytes(text, kMessageBytes).size();
    const size_t left = text.size() - end;
    text.resize(end);
    return text + fmt::format("… ({} more bytes in the report)", left);
}

struct Place {
    std::string file;
    int line = 0;
};

// Where it broke in the test's own file, else the test's first line.
Place place_of_failure(const CaseView& test) {
    Place place{test.file, test.line};
    if (const FailureView* const failure = failure_of(test))
        for (const FrameView& frame : failure->frames)  // outermost first
            if (frame.file == test.file && frame.line > 0) place.line = frame.line;
    return place;
}

class GithubAnnotations : public Renderer {
  public:
    GithubAnnotations(const ReportModel& model, GithubOptions options, Sink sink)
        : framework_(model.run.framework), options_(std::move(options)), sink_(std::move(sink)) {}

    void add(const ModuleView& module) override {
        for (const CaseView& test : module.cases) {
            if (!fails(ci_outcome_of(test, framework_))) continue;
            if (!is_new(module, test)) {
                ++known_;
                continue;
            }
            std::string message = cut_message(ci_message_of(test));
            if (message.empty()) message = name_of(test.state);
            if (test.reproduce) message += "\nTo reproduce: " + test.reproduce->runner;
            annotate(place_of_failure(test), fmt::format("{}: {}", test.id, name_of(test.state)),
                     message);
        }
        using enum parsers::ModuleOutcome;
        const bool broke = module.outcome == crashed || module.outcome == timed_out ||
                           module.outcome == load_error || module.outcome == spawn_failed;
        // It has no test that could be compared.
        if (broke && module.cases.empty())
            annotate({module.path, 0}, fmt::format("{}: {}", module.path, name_of(module.outcome)),
                     module.reason);
    }

    void finish() override {
        std::string text;
        if (new_ > kGithubAnnotations)
            text +=
                fmt::format("{} of {} new failures have an annotation. ", kGithubAnnotations, new_);
        if (known_ > 0)
            text += fmt::format("{} failed in the run before, too ({}). ", counted(known_, "test"),
                                options_.run_before);
        if (!text.empty())
            sink_(fmt::format("::notice title=runner::{}The summary has all.\n",
                              escaped_command(text, false)));
    }

  private:
    [[nodiscard]] static bool fails(CiOutcome outcome) {
        return outcome == CiOutcome::failed || outcome == CiOutcome::errored;
    }

    [[nodiscard]] bool is_new(const ModuleView& module, const CaseView& test) const {
        return !options_.failed_before || !options_.failed_before(module.path, test.id);
    }

    void annotate(const Place& place, std::string_view title, std::string_view message) {
        if (++new_ > kGithubAnnotations) return;
        std::string line = "::error ";
        if (options_.prefix && !place.file.empty() && !place.file.starts_with('/')) {
            line += fmt::format("file={},", escaped_command(*options_.prefix + place.file, true));
            if (place.line > 0) line += fmt::format("line={},", place.line);
        }
        sink_(fmt::format("{}title={}::{}\n", line, escaped_command(title, true),
                          escaped_command(message, false)));
    }

    std::string framework_;
    GithubOptions options_;
    Sink sink_;
    long new_ = 0;
    long known_ = 0;
};

}  // namespace

std::unique_ptr<Renderer> github_annotations(const ReportModel& model, GithubOptions options,
                                             Sink sink) {
    return std::make_unique<GithubAnnotations>(model, std::move(options), std::move(sink));
}

}  // namespace compat::reports

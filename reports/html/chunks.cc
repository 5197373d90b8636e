#include "reports/html/chunks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "reports/compare/compare.h"
#include "reports/html/summary.h"
#include "reports/issue_text.h"
#include "reports/json_parts.h"
#include "reports/porting/pages.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kReasonBytes = 300;  // in the list of tests
constexpr std::size_t kOwnRedirections = 20;
constexpr std::size_t kPastStates = 30;

// As kMarkBits in states.ts; the bits after these are of members that are no marks.
constexpr std::array<std::string_view, 6> kMarksByBit{"device",     "fallback",  "race",
                                                      "redirected", "untouched", "generated"};

int marks_of(const CaseView& test) {
    int bits = 0;
    for (std::size_t bit = 0; bit < kMarksByBit.size(); ++bit)
        if (std::find(test.marks.begin(), test.marks.end(), kMarksByBit[bit]) != test.marks.end())
            bits |= 1 << bit;
    const std::array<bool, 4> more{test.flaky, test.fork_sensitive, test.pseudo,
                                   test.used_accelerator};
    for (std::size_t i = 0; i < more.size(); ++i)
        if (more[i]) bits |= 1 << (kMarksByBit.size() + i);
    return bits;
}

// The elements of a JSON list, or the members of an object, as text.
class ListText {
  public:
    void add(std::string_view json) {
        if (count_++ > 0) text_ += ',';
        text_ += json;
    }
    void add(std::int64_t number) { add(std::string_view(fmt::format_int(number).c_str())); }
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] const std::string& text() const { return text_; }
    void clear() {
        text_.clear();
        count_ = 0;
    }

  private:
    std::string text_;
    std::int64_t count_ = 0;
};

std::string quoted(std::string_view text) {
    std::string out;
    append_string(out, text);
    return out;
}

std::string member(std::string_view name, std::string_view value) {
    return quoted(name) + ':' + quoted(value);
}

Json refusal_json(const RefusalView& refusal) {
    return {{"message", refusal.message}, {"place", refusal.place}, {"url", or_null(refusal.url)}};
}

// Whether a page of the test's own has more to show than its row.
bool has_details(const CaseView& c) {
    return needs_attention(c.state) || c.failure || c.diagnosis || c.attribution || c.expectation ||
           c.reproduce || !c.reason.empty() || !c.attempts.empty() || !c.subtests.empty() ||
           !c.refusals.empty() || !c.redirections.empty() || !c.redirected_at.empty() ||
           !c.history.empty() || c.generated.any() || c.missing.any();
}

// An excerpt of the test's log, or why there is none; neither: the test has no log.
struct TestLog {
    std::optional<LogExcerptView> excerpt{};
    std::string left_out{};
};

std::string detail_json(const CaseView& c, const TestLog& log,
                        const std::optional<std::string>& issue) {
    JsonText to;
    to.object([&] {
        test_members(to, c);
        to.member_or_null("log_url", c.log_url);
        to.member("redirected_at",
                  c.redirected_at.empty()
                      ? Json(nullptr)
                      : Json{{"place", c.redirected_at}, {"url", or_null(c.redirected_url)}});
        to.member("redirections", list_of(c.redirections, redirection_json, kOwnRedirections));
        to.member("refusals", list_of(c.refusals, refusal_json));
        Json history = Json::array();
        for (std::size_t i = c.history.size() - std::min(c.history.size(), kPastStates);
             i < c.history.size(); ++i)
            history.push_back({{"run", c.history[i].run},
                               {"started", iso8601(c.history[i].started)},
                               {"state", name_of(c.history[i].state)}});
        to.member("history", history);
        to.member("issue", or_null(issue));
        to.key("log_excerpt");
        if (log.excerpt)
            to.object([&] {
                to.member("first_line", log.excerpt->first_line);
                to.key("lines");
                to.list(log.excerpt->lines, [&](const std::string& line) { to.value(line); });
                to.member("about_test", log.excerpt->about_test);
            });
        else
            to.value(nullptr);
        to.member_or_null("no_excerpt", log.left_out);
    });
    return to.take();
}

Json index_module_json(const ModuleView& m) {
    Json out = module_json(m);
    out.erase("cases");
    out["log_url"] = or_null(m.log_url);
    out["refusals"] = list_of(m.refusals, refusal_json);
    return out;
}

// A list or an object in parts "NAME-0", "NAME-1", …
class SplitPart {
  public:
    SplitPart(std::string name, std::string before, std::string after)
        : name_(std::move(name)), before_(std::move(before)), after_(std::move(after)) {}

    struct Place {
        std::int64_t part, row;
    };
    template <class Give>
    Place add(std::string_view json, Give give) {
        const Place place{number_, items_.count()};
        items_.add(json);
        if (items_.text().size() >= kPartBytes) close(give);
        return place;
    }
    template <class Give>
    void close(Give give) {
        if (items_.count() == 0) return;
        give(fmt::format("{}-{}", name_, number_++), before_ + items_.text() + after_);
        items_.clear();
    }

  private:
    std::string name_, before_, after_;
    ListText items_;
    std::int64_t number_ = 0;
};

// Links of tests to their lines: a template for each file, and the links that differ from it.
class IndexFiles {
  public:
    // The file's index; -1: unknown.
    std::int64_t add(const CaseView& test, std::int64_t row) {
        if (test.file.empty()) {
            if (!test.url.empty()) urls_.add(member(std::to_string(row), test.url));
            return -1;
        }
        const auto [at, added] = known_.try_emplace(test.file, File{});
        File& file = at->second;
        if (added) file.index = static_cast<std::int64_t>(known_.size()) - 1;
        const std::string line = std::to_string(test.line);
        if (file.url.empty() && test.line > 0) {
            const std::size_t place = test.url.rfind(line);
            if (place != std::string::npos)
                file.url = std::string(test.url).replace(place, line.size(), kLine);
        }
        if (filled(file.url, line) != test.url) urls_.add(member(std::to_string(row), test.url));
        return file.index;
    }
    [[nodiscard]] Json files() const {
        Json list(known_.size(), nullptr);
        for (const auto& [path, file] : known_)
            list[static_cast<std::size_t>(file.index)] = {{"path", path},
                                                          {"url", or_null(file.url)}};
        return list;
    }
    [[nodiscard]] const std::string& urls() const { return urls_.text(); }

  private:
    static constexpr std::string_view kLine = "{line}";
    struct File {
        std::int64_t index = 0;
        std::string url;  // with {line}
    };
    static std::string filled(std::string url, const std::string& line) {
        const std::size_t place = url.rfind(kLine);
        return place == std::string::npos ? url : url.replace(place, kLine.size(), line);
    }
    std::unordered_map<std::string, File> known_;
    ListText urls_;
};

class RunParts : public Renderer {
  public:
    RunParts(const ReportModel& model, PageSources sources, PartSink sink)
        : model_(model), sources_(std::move(sources)), sink_(std::move(sink)) {
        for (const auto& [cause, tests] : causes_by_tests(model)) {
            causes_.emplace(cause, causes_.size());
            cause_names_.push_back(cause);
        }
        for (const ClusterView& cluster : model.clusters)
            clusters_.emplace(cluster.signature, clusters_.size());
    }

    void add(const ModuleView& module) override {
        modules_.add(compact(index_module_json(module)));
        const auto logs = read_logs(module);
        for (const CaseView& test : module.cases) {
            const auto log = logs.find(&test);
            add_test(module, test, log == logs.end() ? TestLog{} : log->second);
        }
    }

    void finish() override {
        details_.close(give_);
        if (!model_.clusters.empty())
            give_("clusters", compact(list_of(model_.clusters, cluster_json)));
        if (model_.changes) give_("changes", compare_json(*model_.changes));
        const CopiedSources sources = sources_.copies ? sources_.copies() : CopiedSources{};
        if (!sources.prefix.empty()) add_sources(sources);
        give_("index", index());
        sink_(kSummaryPart, run_summary(model_, sources, parts_));
    }

  private:
    // Each log is read once, whatever the number of its tests.
    std::unordered_map<const CaseView*, TestLog> read_logs(const ModuleView& module) {
        std::unordered_map<const CaseView*, TestLog> logs;
        if (!sources_.excerpts) return logs;
        std::map<std::string, std::vector<const CaseView*>> tests;  // by log
        for (const CaseView& test : module.cases) {
            if (!needs_attention(test.state) || test.log.empty()) continue;
            if (excerpts_ < kMostExcerpts) {
                ++excerpts_;
                tests[test.log].push_back(&test);
            } else {
                logs[&test].left_out =
                    fmt::format("only the first {} failing tests have one here", kMostExcerpts);
            }
        }
        for (const auto& [log, of_log] : tests) {
            std::vector<std::string> ids;
            for (const CaseView* const test : of_log) ids.push_back(test->id);
            auto read = sources_.excerpts(log, ids);
            for (std::size_t i = 0; i < of_log.size(); ++i)
                if (TestLog& to = logs[of_log[i]]; read)
                    to.excerpt = std::move(read->at(i));
                else
                    to.left_out = read.error();
        }
        return logs;
    }

    void add_test(const ModuleView& module, const CaseView& test, const TestLog& log) {
        const std::int64_t row = module_.count();
        const std::string start = module.path + "::";
        const bool usual = test.id.starts_with(start);
        name_.add(quoted(std::string_view(test.id).substr(usual ? start.size() : 0)));
        if (!usual) ids_.add(member(std::to_string(row), test.id));
        module_.add(modules_.count() - 1);
        state_.add(static_cast<std::int64_t>(test.state));
        marks_.add(marks_of(test));
        ms_.add(std::llround(test.duration_s * 1000));
        file_.add(files_.add(test, row));
        line_.add(test.line);
        const FailureView* const failure = needs_attention(test.state) ? failure_of(test) : nullptr;
        cause_.add(failure ? found(causes_, failure->cause) : -1);
        cluster_.add(failure ? found(clusters_, failure->signature) : -1);
        reason_.add(failure || test.reason.empty() ? -1 : index_of_reason(test.reason));
        SplitPart::Place place{-1, -1};
        if (has_details(test)) {
            // A running run's page is made again and again.
            const bool may =
                model_.issue_texts && !model_.run.running && issue_texts_ < kMostIssueTexts;
            const auto issue = may ? issue_text(model_.run, test) : std::nullopt;
            issue_texts_ += issue.has_value();
            place = details_.add(detail_json(test, log, issue), give_);
        }
        block_.add(place.part);
        row_.add(place.row);
    }

    // Most tests are skipped for one of a few reasons.
    std::int64_t index_of_reason(const std::string& reason) {
        const auto [at, is_new] =
            reasons_.try_emplace(reason.substr(0, kReasonBytes), reasons_.size());
        if (is_new) reason_texts_.add(quoted(std::string_view(at->first)));
        return static_cast<std::int64_t>(at->second);
    }

    void add_sources(const CopiedSources& sources) {
        SplitPart texts("source", R"({"files":{)", "}}");
        Json files = Json::object(), left_out = Json::array();
        for (const auto& file : sources.files)
            files[file.path] = texts.add(member(file.path, file.text), give_).part;
        texts.close(give_);
        for (const auto& file : sources.left_out)
            left_out.push_back({{"path", file.path}, {"why", file.why}});
        give_("sources", compact({{"files", std::move(files)}, {"left_out", std::move(left_out)}}));
    }

    [[nodiscard]] std::string index() const {
        std::vector<std::string_view> signatures;
        for (const ClusterView& cluster : model_.clusters) signatures.push_back(cluster.signature);
        std::string text = R"({"modules":[)" + modules_.text() + R"(],"files":)" +
                           compact(files_.files()) + R"(,"causes":)" + compact(cause_names_) +
                           R"(,"signatures":)" + compact(signatures) + R"(,"reasons":[)" +
                           reason_texts_.text() + R"(],"urls":{)" + files_.urls() + R"(},"ids":{)" +
                           ids_.text() + "}";
        const std::array<std::pair<std::string_view, const ListText*>, 12> columns{
            {{"module", &module_},
             {"name", &name_},
             {"state", &state_},
             {"marks", &marks_},
             {"ms", &ms_},
             {"file", &file_},
             {"line", &line_},
             {"cause", &cause_},
             {"cluster", &cluster_},
             {"reason", &reason_},
             {"block", &block_},
             {"row", &row_}}};
        for (const auto& [name, column] : columns)
            text.append(",\"").append(name).append("\":[").append(column->text()).append("]");
        return text + "}";
    }

    template <class Map>
    static std::int64_t found(const Map& map, const std::string& key) {
        const auto at = map.find(key);
        return at == map.end() ? -1 : static_cast<std::int64_t>(at->second);
    }

    const ReportModel& model_;
    PageSources sources_;
    std::size_t excerpts_ = 0, issue_texts_ = 0;
    PartSink sink_;
    std::vector<std::string> parts_;
    // Notes the part's name for the summary.
    std::function<void(std::string, std::string)> give_ = [this](std::string name,
                                                                 std::string json) {
        sink_(name, std::move(json));
        parts_.push_back(std::move(name));
    };
    std::vector<std::string> cause_names_;
    std::unordered_map<std::string, std::size_t> causes_;
    std::unordered_map<std::string_view, std::size_t> clusters_;  // into the model
    SplitPart details_{"details", "[", "]"};
    IndexFiles files_;
    // Each as the text of its JSON: the smallest that needs no second pass.
    ListText modules_, ids_, module_, name_, state_, marks_, ms_, file_, line_, cause_, cluster_,
        reason_, reason_texts_, block_, row_;
    std::unordered_map<std::string, std::size_t> reasons_;
};

}  // namespace

std::unique_ptr<Renderer> run_parts(const ReportModel& model, PageSources sources, PartSink sink) {
    return std::make_unique<RunParts>(model, std::move(sources), std::move(sink));
}

void compare_parts(const CompareView& view, const PartSink& sink) {
    sink("changes", compare_json(view));
    std::string title = view.baseline.id;
    for (const Comparison& column : view.columns) title += fmt::format(" → {}", column.run.id);
    sink(kSummaryPart, page_summary("compare", title, "changes"));
}

void porting_parts(const PortingView& view, const PartSink& sink) {
    std::string json;
    porting_json(view, [&](std::string_view bytes) { json += bytes; });
    sink("porting", std::move(json));
    sink(kSummaryPart, page_summary("porting", view.suite + " on other devices", "porting"));
}

}  // namespace compat::reports

#include "reports/html/page.h"

#include <fmt/format.h>

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <nlohmann/json.hpp>

#include "reports/html/gzip.h"
#include "reports/html/web_assets.h"
#include "reports/markdown/text.h"

namespace compat::reports {

namespace {

// Boost's iterators: a documented interface, unlike the function of Beast.
std::string base64(const std::string& bytes) {
    namespace it = boost::archive::iterators;
    using Encoder = it::base64_from_binary<it::transform_width<const char*, 6, 8>>;
    std::string text(Encoder(bytes.data()), Encoder(bytes.data() + bytes.size()));
    return text.append((3 - bytes.size() % 3) % 3, '=');
}

std::string policy_of(std::string_view connect) {
    const WebAssets& app = web_assets();
    return fmt::format(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src {}; "
        "base-uri 'none'; form-action 'none'",
        app.script_hash, app.style_hash, connect);
}

// Differences between a page from disk and one from a server.
struct PageKind {
    std::string root;  // attributes of its root element
    std::string head;
    std::string_view without_script;
};

// The page without its parts and its end.
void write_start(const PageKind& kind, const std::string& summary, const Sink& sink) {
    const WebAssets& app = web_assets();
    const std::string title = nlohmann::json::parse(summary).at("title");
    sink(fmt::format("<!doctype html>\n<html lang=\"en\"{}>\n<head>\n<meta charset=\"utf-8\">\n{}",
                     kind.root, kind.head));
    sink(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n");
    sink(fmt::format("<title>{}</title>\n<!--\n", html(title)));
    sink(app.licences);
    sink("-->\n<style>");
    sink(app.style);
    sink("</style>\n</head>\n<body>\n<div id=\"app\"></div>\n<noscript>");
    sink(kind.without_script);
    sink("</noscript>\n<script type=\"application/json\" id=\"summary\">");
    sink(summary);
    sink("</script>\n<script>");
    sink(app.script);
    sink("</script>\n");
}

constexpr std::string_view kEnd = "</body>\n</html>\n";

// Collects parts and writes the page.
class Page {
  public:
    void add(std::string_view name, std::string json) {
        if (name == kSummaryPart)
            summary_ = std::move(json);
        else
            parts_.push_back({std::string(name), gzipped(json)});
    }

    void write(const Sink& sink) const {
        const std::string policy = fmt::format(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy_of("'none'"));
        write_start({"", policy,
                     "This report needs JavaScript. report.md and report.json, beside it, show the "
                     "same results without it."},
                    summary_, sink);
        for (const Part& part : parts_) {
            sink(
                fmt::format("<script type=\"text/plain\" id=\"part-{}\" "
                            "data-encoding=\"gzip-base64\">",
                            part.name));
            sink(base64(part.bytes));
            sink("</script>\n");
        }
        sink(kEnd);
    }

  private:
    struct Part {
        std::string name, bytes;
    };
    std::string summary_;
    std::vector<Part> parts_;
};

class HtmlReport : public Renderer {
  public:
    HtmlReport(const ReportModel& model, PageSources sources, Sink sink)
        : sink_(std::move(sink)),
          parts_(
              run_parts(model, std::move(sources), [this](std::string_view name, std::string json) {
                  page_.add(name, std::move(json));
              })) {}

    void add(const ModuleView& module) override { parts_->add(module); }
    void finish() override {
        parts_->finish();
        page_.write(sink_);
    }

  private:
    Sink sink_;
    Page page_;
    std::unique_ptr<Renderer> parts_;
};

}  // namespace

void page_of_parts(const std::function<void(const PartSink&)>& parts, const Sink& sink) {
    Page page;
    parts([&](std::string_view name, std::string json) { page.add(name, std::move(json)); });
    page.write(sink);
}

Expected<void> can_write_html() {
    if (web_assets().missing.empty()) return {};
    return fail(ErrorKind::usage,
                fmt::format("this runner was built without HTML reports: {}", web_assets().missing),
                "install Node.js 18 or newer with npm, and build the runner again");
}

std::unique_ptr<Renderer> html_report(const ReportModel& model, PageSources sources, Sink sink) {
    return std::make_unique<HtmlReport>(model, std::move(sources), std::move(sink));
}

void compare_html(const CompareView& view, const Sink& sink) {
    page_of_parts([&](const PartSink& part) { compare_parts(view, part); }, sink);
}

void porting_html(const PortingView& view, const Sink& sink) {
    page_of_parts([&](const PartSink& part) { porting_parts(view, part); }, sink);
}

std::string served_policy() { return policy_of("'self'"); }

std::string served_page(const std::string& summary, std::string_view parts) {
    std::string page;
    const Sink sink = [&](std::string_view bytes) { page += bytes; };
    write_start({fmt::format(" data-parts=\"{}\"", html(std::string(parts))), "",
                 "This page needs JavaScript. `runner report` writes the same results as "
                 "Markdown and JSON."},
                summary, sink);
    sink(kEnd);
    return page;
}

}  // namespace compat::reports

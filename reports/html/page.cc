#include "reports/html/page.h"

#include <fmt/format.h>
#include <zlib.h>

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <cassert>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/html/web_assets.h"
#include "reports/markdown_text.h"

namespace compat::reports {

namespace {

constexpr int kGzipLevel = 6;

std::string gzipped(const std::string& text) {
    z_stream stream{};
    constexpr int kGzipWindow = 15 + 16;
    if (deflateInit2(&stream, kGzipLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();  // its only error with these arguments
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    [[maybe_unused]] const int ended = deflate(&stream, Z_FINISH);
    assert(ended == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

// Boost's iterators: a documented interface, unlike the function of Beast.
std::string base64(const std::string& bytes) {
    namespace it = boost::archive::iterators;
    using Encoder = it::base64_from_binary<it::transform_width<const char*, 6, 8>>;
    std::string text(Encoder(bytes.data()), Encoder(bytes.data() + bytes.size()));
    return text.append((3 - bytes.size() % 3) % 3, '=');
}

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
        const WebAssets& app = web_assets();
        const std::string title = nlohmann::json::parse(summary_).at("title");
        sink("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        sink(fmt::format(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "script-src '{}'; style-src '{}'; img-src data:; connect-src 'none'; "
            "base-uri 'none'; form-action 'none'\">\n",
            app.script_hash, app.style_hash));
        sink(
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"referrer\" content=\"no-referrer\">\n");
        sink(fmt::format("<title>{}</title>\n<!--\n", html(title)));
        sink(app.licences);
        sink("-->\n<style>");
        sink(app.style);
        sink(
            "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n"
            "<noscript>This report needs JavaScript. report.md and report.json, beside it, show "
            "the "
            "same results without it.</noscript>\n"
            "<script type=\"application/json\" id=\"summary\">");
        sink(summary_);
        sink("</script>\n<script>");
        sink(app.script);
        sink("</script>\n");
        for (const Part& part : parts_) {
            sink(
                fmt::format("<script type=\"text/plain\" id=\"part-{}\" "
                            "data-encoding=\"gzip-base64\">",
                            part.name));
            sink(base64(part.bytes));
            sink("</script>\n");
        }
        sink("</body>\n</html>\n");
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

template <class View>
void write_page(const View& view, void (*parts)(const View&, const PartSink&), const Sink& sink) {
    Page page;
    parts(view, [&](std::string_view name, std::string json) { page.add(name, std::move(json)); });
    page.write(sink);
}

}  // namespace

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
    write_page(view, compare_parts, sink);
}

void porting_html(const PortingView& view, const Sink& sink) {
    write_page(view, porting_parts, sink);
}

}  // namespace compat::reports

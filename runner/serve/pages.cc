#include "runner/serve/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <span>
#include <thread>

#include "reports/html/page.h"
#include "reports/markdown/text.h"
#include "runner/base/files/fd.h"
#include "runner/http/file_response.h"
#include "runner/serve/run_files.h"

namespace compat::serve {

using http::components_of;
using http::encoded_component;
using http::text_body;
using http::unzipped_body;

namespace {

using Components = std::vector<std::string>;

constexpr unsigned kFound = 302, kNotModified = 304, kBadRequest = 400, kNotFound = 404,
                   kServerError = 500;
constexpr std::string_view kParts = "parts";
constexpr std::string_view kSite = "site";  // begins the addresses of a site's files
constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kJson = "application/json";
// A file's own: report.html may run its script, but as a page of no origin, which can read nothing
// of this server.
constexpr std::string_view kFilePolicy =
    "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox; default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

// Pages by the first component of their address, and the names that follow it.
struct PageRow {
    std::string_view first;
    std::size_t names;
    bool is_slow;    // made from all tests of a run
    bool has_files;  // of a run's folder
    Expected<MadePage> (*make)(const PageMakers& makers, const Components& path);
};
constexpr std::array<PageRow, 5> kPages{{
    {"", 0, false, false, [](const PageMakers& make, const Components&) { return make.runs(); }},
    {"runs", 1, true, true,
     [](const PageMakers& make, const Components& path) { return make.run(path[1]); }},
    {"compare", 2, true, false,
     [](const PageMakers& make, const Components& path) {
         return make.comparison(path[1], path[2]);
     }},
    {"tests", 1, false, false,
     [](const PageMakers& make, const Components& path) { return make.test(path[1]); }},
    {"gaps", 0, false, false,
     [](const PageMakers& make, const Components&) { return make.gap_log(); }},
}};

Response text_response(unsigned status, std::string words) {
    return {status,
            "text/plain; charset=utf-8",
            text_body(std::move(words) + "\n"),
            {{"Cache-Control", "no-store"}}};
}

Response redirect_to(std::string address) {
    Response response = text_response(kFound, address);
    response.headers.emplace_back("Location", std::move(address));
    return response;
}

// For people who followed a link: with the way back.
Response not_found(std::string_view what, std::string_view advice = {}) {
    using reports::html;
    Response response{
        kNotFound,
        std::string(kHtml),
        text_body(fmt::format("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                              "<title>Not found</title>\n<h1>Not found</h1>\n<p>{}</p>\n{}"
                              "<p><a href=\"/\">All runs</a></p>\n</html>\n",
                              html(what),
                              advice.empty() ? "" : fmt::format("<p>{}</p>\n", html(advice)))),
        {{"Cache-Control", "no-store"}, {"Content-Security-Policy", "default-src 'none'"}}};
    return response;
}

Response no_such_page() { return not_found("There is no such page."); }

Response part_response(const Request& request, const Part& part, std::string_view type,
                       bool is_live) {
    Response response;
    response.headers = {{"Vary", "Accept-Encoding"},
                        {"Cache-Control", is_live ? "no-store" : "no-cache"}};
    if (!is_live) {
        response.headers.emplace_back("ETag", part.etag);
        if (http::has_etag(request.if_none_match, part.etag)) {
            response.status = kNotModified;
            response.type.clear();
            return response;
        }
    }
    response.type = type;
    response.headers.emplace_back("Content-Security-Policy", reports::served_policy());
    if (request.accepts_gzip) {
        response.headers.emplace_back("Content-Encoding", "gzip");
        response.body = text_body(part.gzip);
    } else {
        response.body = unzipped_body(part.gzip, part.size);
    }
    return response;
}

// "" of the list of runs has no component: "/parts/NAME" is its part.
const PageRow* row_of(const Components& path) {
    const std::string first = path.empty() || path.front() == kParts ? "" : path.front();
    for (const PageRow& row : kPages)
        if (row.first == first) return &row;
    return nullptr;
}

std::string joined(const Components& path) {
    std::string address;
    for (const std::string& component : path) address += "/" + encoded_component(component);
    return address + "/";
}

}  // namespace

Pages::Pages(fs::path results, std::function<void(const Error&)> on_error)
    : makers_(std::move(results)), on_error_(std::move(on_error)) {}

Pages::~Pages() {
    readers_.join();
    makers_of_slow_pages_.join();
}

bool Pages::end_within(std::chrono::milliseconds time) {
    readers_.stop();
    makers_of_slow_pages_.stop();
    const auto end = std::chrono::steady_clock::now() + time;
    while (jobs_ > 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return jobs_ == 0;
}

void Pages::start(boost::asio::thread_pool& pool, std::function<void()> job) {
    boost::asio::post(pool, [this, job = std::move(job)] {
        ++jobs_;
        job();
        --jobs_;
    });
}

Response Pages::refusal_of(const Error& error) {
    if (error.kind == ErrorKind::usage) return not_found(error.message, error.advice);
    on_error_(error);
    return text_response(
        kServerError, error.advice.empty() ? error.message : error.message + "\n" + error.advice);
}

void Pages::answer(Request request, Respond respond) {
    const auto path = components_of(request.target);
    if (!path) return respond(text_response(kBadRequest, "This is not a valid address."));
    start(readers_, [this, request = std::move(request), path = *path,
                     respond = std::move(respond)] { answer_in_thread(request, path, respond); });
}

void Pages::answer_in_thread(const Request& request, const Components& path,
                             const Respond& respond) {
    if (path.size() == 1 && path[0] == "latest") return respond(redirect_to("/runs/latest/"));
    if (!path.empty() && path[0] == kSite) return answer_site(request, path, respond);
    const PageRow* const row = row_of(path);
    if (!row) return respond(no_such_page());
    const auto begin = path.begin();
    const std::size_t own = row->first.empty() ? 0 : 1 + row->names;
    const Components names(begin, begin + static_cast<std::ptrdiff_t>(std::min(own, path.size())));
    const Components rest(begin + static_cast<std::ptrdiff_t>(names.size()), path.end());
    if (names.size() < own || std::find(names.begin(), names.end(), "") != names.end())
        return respond(no_such_page());
    if (rest.empty() && own > 0) return respond(redirect_to(joined(names)));
    const bool is_page = rest.empty() || (rest.size() == 1 && rest[0].empty());
    const bool is_part = rest.size() == 2 && rest[0] == kParts;
    if (!is_page && !is_part) return respond(row->has_files ? file(request, path) : no_such_page());
    answer_page(
        request, joined(names), [this, row, names] { return row->make(makers_, names); },
        row->is_slow, is_part ? rest[1] : "", respond);
}

// The addresses below /site/ are those of the files that `runner site` writes, so that the links of
// both lead to the same.
void Pages::answer_site(const Request& request, const Components& path, const Respond& respond) {
    Components names(path.begin() + 1, path.end());
    if (names.empty() || names == Components{""}) return respond(redirect_to("/site/index.html"));
    if (names.size() == 3 && names[0] == "runs" && names[2] == "report.html")
        return respond(redirect_to(run_address(names[1])));
    std::string part;
    if (names.size() > 2 && names.end()[-2] == kParts) {
        part = names.back();
        names.resize(names.size() - 2);
    }
    std::string name;
    for (const std::string& component : names) name += (name.empty() ? "" : "/") + component;
    answer_page(
        request, "/site/" + name, [this, name] { return makers_.site(name); }, /*is_slow=*/true,
        std::move(part), respond);
}

void Pages::answer_page(const Request& request, const std::string& key, const PageCache::Make& make,
                        bool is_slow, std::string part, const Respond& respond) {
    const auto start_job = [this, is_slow](std::function<void()> job) {
        if (is_slow)
            start(makers_of_slow_pages_, std::move(job));
        else
            job();
    };
    cache_.get(
        key, make, start_job,
        [this, request, part = std::move(part), respond](const PageOrError& made) {
            if (!made) return respond(refusal_of(made.error()));
            const MadePage& page = **made;
            if (!page.redirect.empty()) return respond(redirect_to(page.redirect));
            if (part.empty())
                return respond(part_response(request, page.document,
                                             page.type.empty() ? kHtml : page.type, page.live));
            const auto at = page.parts.find(part);
            respond(at == page.parts.end() ? text_response(kNotFound, "This page has no such part.")
                                           : part_response(request, at->second, kJson, page.live));
        });
}

Response Pages::file(const Request& request, const Components& path) {
    const auto folder = makers_.folder_of(path[1]);
    if (!folder) return refusal_of(folder.error());
    const auto open = open_below(*folder, std::span(path).subspan(2));
    if (!open) return text_response(kNotFound, "not found");
    return http::file_response(
        request,
        {open->size,
         fmt::format("\"{:x}-{:x}\"", open->size, open->changed),
         std::string(type_of(path.back())),
         {{"Cache-Control", "no-cache"}, {"Content-Security-Policy", std::string(kFilePolicy)}},
         [fd = std::make_shared<Fd>(open->fd)](http::ByteRange range) {
             return http::file_body(fd->release(), range.first, range.size);
         }});
}

}  // namespace compat::serve

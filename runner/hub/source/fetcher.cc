#include "runner/hub/source/fetcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include "runner/base/secrets.h"
#include "runner/hub/server/routes.h"
#include "runner/hub/store/digest.h"
#include "runner/hub/store/lock.h"

extern char** environ;

namespace compat::hub {

namespace {

using nlohmann::json;

constexpr unsigned kBadGateway = 502;

// The program finds proxies and certificates in our environment, as every client of the user does.
Program program_of(const Settings& settings) {
    Program program;
    program.argv = {settings.python.string(),  "-I",
                    settings.fetcher.string(), settings.store.string(),
                    settings.upstream,         std::to_string(settings.max_bytes)};
    for (char** one = environ; *one; ++one) {
        const std::string_view text = *one;
        const std::size_t equals = text.find('=');
        if (equals == text.npos || text.starts_with("HF_") || text.starts_with("HUGGING")) continue;
        program.variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return program;
}

json request_of(const Need& need) {
    json request{{"kind", plural_of(need.kind)},
                 {"name", need.name},
                 {"revision", need.revision},
                 {"authorization", need.authorization}};
    switch (need.what) {
        case Need::What::repository:
            request["do"] = "repository";
            break;
        case Need::What::file:
            request["do"] = "file";
            request["revision"] = need.commit;
            request["path"] = need.path;
            request["size"] = need.file.size;
            request["oid"] = need.file.oid;
            request["sha256"] = need.file.is_lfs ? need.file.sha256 : "";
            break;
        case Need::What::address:
            request["do"] = "address";
            request["url"] = need.asked_url;
            break;
    }
    return request;
}

std::string text_in(const json& from, const char* key) {
    const auto at = from.find(key);
    return at != from.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::uint64_t number_in(const json& from, const char* key) {
    const auto at = from.find(key);
    return at != from.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

Got bad_answer(std::string_view why) {
    return {kBadGateway, "", fmt::format("the hub's answer cannot be used: {}", why)};
}

// Everything in it came from elsewhere and is checked again here, for it goes into the lock.
Got repository_of(const Need& need, const json& answer) {
    Repository to;
    to.kind = need.kind;
    to.name = text_in(answer, "name");
    to.commit = text_in(answer, "commit");
    if (!is_repository_name(to.name)) return bad_answer("its name is none");
    if (!is_hex(to.commit, 40)) return bad_answer("its commit is none");
    if (to.name != need.name) to.aliases = {need.name};
    if (need.revision != to.commit) to.revisions = {need.revision};
    const std::string gated = text_in(answer, "gated");
    if (gated == "auto" || gated == "manual") to.gated = gated;
    const json empty = json::object();
    const auto info = answer.find("info");
    to.info = kept_info(info != answer.end() && info->is_object() ? *info : empty);
    const auto files = answer.find("files");
    if (files == answer.end() || !files->is_array()) return bad_answer("it lists no files");
    for (const json& one : *files) {
        auto file = file_of(one);
        // A name that no file of the store could have is left out. Clients ask for others.
        if (!file && !is_path(text_in(one.is_object() ? one : empty, "path"))) continue;
        if (!file) return bad_answer("a file: " + file.error().message);
        file->is_kept = false;
        std::string path = file->path;
        to.files.insert_or_assign(std::move(path), std::move(*file));
    }
    Got got;
    got.repository = std::move(to);
    return got;
}

Got content_of(const Need& need, const json& answer) {
    const std::string sha256 = text_in(answer, "sha256");
    Got got;
    got.bytes_fetched = number_in(answer, "fetched");
    if (need.what == Need::What::file) {
        if (!is_hex(sha256, 64)) return bad_answer("it has no digest");
        got.file = need.file;
        got.file->sha256 = sha256;
        got.file->is_kept = true;
        return got;
    }
    Address address{need.url, static_cast<unsigned>(number_in(answer, "http")),
                    mask_own_secrets(text_in(answer, "type")), number_in(answer, "size"), sha256};
    if (address.status < 200 || address.status > 499 || (!sha256.empty() && !is_hex(sha256, 64)))
        return bad_answer("it is incomplete");
    if (address.type.size() > 200 || address.type.find_first_of("\r\n") != std::string::npos)
        address.type = "application/octet-stream";
    got.address = std::move(address);
    return got;
}

Got got_of(const Need& need, const Expected<json>& answer) {
    if (!answer) return {kBadGateway, "", answer.error().message};
    const auto status = static_cast<unsigned>(number_in(*answer, "status"));
    if (status == 200)
        return need.what == Need::What::repository ? repository_of(need, *answer)
                                                   : content_of(need, *answer);
    if (status < 400 || status > 599) return bad_answer("it has no status");
    Got got{status, text_in(*answer, "code"), mask_own_secrets(text_in(*answer, "why"))};
    got.is_lasting = need.what == Need::What::repository && status < 500 && !got.code.empty();
    return got;
}

}  // namespace

Fetcher::Fetcher(const Settings& settings, std::function<void()> on_tick)
    : client_(program_of(settings), "the download", std::chrono::seconds(0), std::move(on_tick)) {}

void Fetcher::get(const Need& need, Done done) {
    client_.ask(request_of(need), [need, done = std::move(done)](const Expected<json>& answer) {
        done(got_of(need, answer));
    });
}

}  // namespace compat::hub

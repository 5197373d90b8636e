// Answers of the hub's API, made from the model alone. Pure. Not for content (store/blobs.h), nor
// for what the model lacks (hub.cc).
#pragma once

#include <string>
#include <string_view>

#include "runner/http/address.h"
#include "runner/http/http_server.h"
#include "runner/hub/server/routes.h"
#include "runner/hub/store/model.h"

namespace compat::hub {

// An answer that clients turn into an exception of theirs, by its code: "RepoNotFound",
// "RevisionNotFound", "EntryNotFound", "GatedRepo". Empty: none.
struct Refusal {
    unsigned status = 404;
    std::string code;
    std::string message;  // for people; any bytes
};
// `commit`: of the repository that it is about; may be empty.
[[nodiscard]] http::Response refused(const Refusal& refusal, const std::string& commit = {});

[[nodiscard]] http::Response info_answer(const Repository& repository, const Asked& asked);
// 404 EntryNotFound where there is no such folder.
[[nodiscard]] http::Response tree_answer(const Repository& repository, const Asked& asked);
[[nodiscard]] http::Response paths_answer(const Repository& repository, const Asked& asked);
// `entries`: all of this name in the catalogs.
[[nodiscard]] http::Response refs_answer(const std::vector<const Repository*>& entries);

// A file's tag, and the headers that clients read of it.
[[nodiscard]] std::string etag_of(const File& file);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> file_headers(
    const Repository& repository, const File& file);

// The text that git has in place of a file in LFS.
[[nodiscard]] std::string lfs_pointer(const File& file);

}  // namespace compat::hub

#include "runner/hub/store/digest.h"

#include <gtest/gtest.h>

namespace compat::hub {
namespace {

std::string sha1_of(std::string_view bytes) {
    Sha1 digest;
    digest.add(bytes);
    return digest.hex();
}

// Examples of FIPS 180-2, appendices A and B.
TEST(HubDigest, HasTheValuesOfTheStandard) {
    EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha1_of("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(sha1_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    const std::string million(1'000'000, 'a');
    EXPECT_EQ(sha256_of(million),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    EXPECT_EQ(sha1_of(million), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(HubDigest, DoesNotDependOnHowBytesArrive) {
    const std::string text(200, 'x');
    for (std::size_t step = 1; step < 130; ++step) {
        Sha256 pieces;
        for (std::size_t at = 0; at < text.size(); at += step) pieces.add(text.substr(at, step));
        EXPECT_EQ(pieces.hex(), sha256_of(text)) << step;
    }
}

// `printf 'hello\n' | git hash-object --stdin`
TEST(HubDigest, NamesAFileAsGitDoes) {
    Sha1 digest = git_blob(6);
    digest.add("hello\n");
    EXPECT_EQ(digest.hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

}  // namespace
}  // namespace compat::hub

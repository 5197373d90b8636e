#include "runner/base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace compat {
namespace {

using ::testing::ElementsAre;

TEST(Secrets, AreTheValuesOfVariablesWithSecretNames) {
    EXPECT_THAT(secret_values({{"HF_TOKEN", "short1"},
                               {"PATH", "/usr/bin"},
                               {"DB_PASSWORD", "a longer one"},
                               {"USE_KEYS", "1"},
                               {"MAX_TOKENS", "100000"},
                               {"AUTH_MODE", "password"},
                               {"KEYMAP", "german"},
                               {"SECRETS_DIR", "/workspace"},
                               {"PWD", "/home/me"}}),
                ElementsAre("a longer one", "short1"));
}

TEST(Secrets, AreMaskedWhereverTheyStand) {
    EXPECT_EQ(mask_secrets("x=short1 short1short1", {"short1"}), "x=<set> <set><set>");
    EXPECT_EQ(mask_secrets("abcdef", {"abcdef", "abc"}), "<set>");
    EXPECT_EQ(mask_secrets("", {"abcdef"}), "");
}

TEST(Secrets, AreMaskedBehindTheirNames) {
    EXPECT_EQ(mask_secrets("export HF_TOKEN=abc B=c", {}), "export HF_TOKEN=<set> B=c");
    EXPECT_EQ(mask_secrets("A=B_TOKEN=x", {}), "A=B_TOKEN=<set>");
    EXPECT_EQ(mask_secrets("{'API_KEY': 'x y', 'B': 1}", {}), "{'API_KEY': '<set>', 'B': 1}");
    EXPECT_EQ(mask_secrets(R"(KEY="a 'b' c" x)", {}), R"(KEY="<set>" x)");
    EXPECT_EQ(mask_secrets("KEY='cut at the end", {}), "KEY='<set>");
    EXPECT_EQ(mask_secrets("assert SECRET == 'x'", {}), "assert SECRET == '<set>'");
    EXPECT_EQ(mask_secrets(R"(ENV="HF_TOKEN=sekret99" B=c)", {}), R"(ENV="HF_TOKEN=<set>" B=c)");
    EXPECT_EQ(mask_secrets(R"(PASSWORD="my long phrase")", {}), R"(PASSWORD="<set>")");
    EXPECT_EQ(mask_secrets("git clone https://me:pw@host/x", {}),
              "git clone https://me:<set>@host/x");
}

TEST(Secrets, AreQuotedPasswordsOfAnyName) {
    EXPECT_EQ(mask_secrets(R"(connect(password="my long phrase", port=1))", {}),
              R"(connect(password="<set>", port=1))");
    EXPECT_EQ(mask_secrets("{'db_passwd': 'x', 'client_secret': 'y'}", {}),
              "{'db_passwd': '<set>', 'client_secret': '<set>'}");
    EXPECT_EQ(mask_secrets("apiKey == 'x' != 'y'", {}), "apiKey == '<set>' != 'y'");
}

TEST(Secrets, AreTokensOfKnownForms) {
    const std::string tail = "0123456789abcdefghij";
    for (const char* start : {"hf_", "ghp_", "github_pat_", "glpat-", "sk-", "Bearer ", "xoxb-", "pypi-0123456789ab",
          "rk_live_", "dckr_pat_", "hvs."})
        EXPECT_EQ(mask_secrets("got " + (start + tail) + ", no", {}), "got <set>, no") << start;
    EXPECT_EQ(mask_secrets("AKIAIOSFODNN7EXAMPLE", {}), "<set>");
    EXPECT_EQ(mask_secrets("(eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln)", {}), "(<set>)");
}

TEST(Secrets, AreValuesOfOptions) {
    for (const auto& [text, masked] : std::initializer_list<std::pair<const char*, const char*>>{
             {"login --password hunter2 -v", "login --password <set> -v"},
             {"login --db-passwd=hunter2", "login --db-passwd=<set>"},
             {"['--api-key', 'abc def']", "['--api-key', '<set>']"},
             {R"(["--client_secret", "x y"])", R"(["--client_secret", "<set>"])"},
             {"--token x1y2 --hub-token \"a b\"", "--token <set> --hub-token \"<set>\""},
             {"usage: x [--password PASSWORD] [--api-key <key>]",
              "usage: x [--password PASSWORD] [--api-key <key>]"},
             {"--pad-token x --max-new-tokens 20 --key-size 5 --keyword a",
              "--pad-token x --max-new-tokens 20 --key-size 5 --keyword a"},
             {"use --password instead of --token.", "use --password instead of --token."},
             {"Authorization::HasSchemeAndValue", "Authorization::HasSchemeAndValue"},
             {"--password $PASSWORD --secret --verbose", "--password $PASSWORD --secret --verbose"}})
        EXPECT_EQ(mask_secrets(text, {}), masked);
}

TEST(Secrets, AreCredentialsInHeaders) {
    for (const auto& [text, masked] : std::initializer_list<std::pair<const char*, const char*>>{
             {"Authorization: Basic dXNlcjpwdw==", "Authorization: Basic <set>"},
             {"{'authorization': 'token abc', 'a': 1}", "{'authorization': 'token <set>', 'a': 1}"},
             {"Proxy-Authorization: 0123456789abcdef", "Proxy-Authorization: <set>"},
             {"authorization: required", "authorization: required"},
             {"X-Api-Key: abcdef1", "X-Api-Key: <set>"},
             {"Set-Cookie: id=1; Path=/", "Set-Cookie: <set>"},
             {"Cookie: none", "Cookie: none"}})
        EXPECT_EQ(mask_secrets(text, {}), masked);
}

TEST(Secrets, ArePrivateKeys) {
    const std::string begin = "-----BEGIN RSA PRIVATE KEY-----", end = "-----END RSA PRIVATE KEY-----";
    EXPECT_EQ(mask_secrets("a\n" + begin + "\nMIIE\nabc\n" + end + "\nb", {}),
              "a\n" + begin + "\n<set>\n\n" + end + "\nb");
    EXPECT_EQ(mask_secrets(begin + "\nMIIE\nab", {}), begin + "\n<set>\n") << "it was cut";
    EXPECT_EQ(mask_secrets("K = '" + begin + R"(\nMIIE\nab\n)" + end + "'", {}),
              "K = '" + begin + "<set>" + end + "'");
    EXPECT_EQ(mask_secrets("if '" + begin + "' in text:\n    raise Found(1)", {}),
              "if '" + begin + "' in text:\n    raise Found(1)");
    EXPECT_EQ(mask_secrets("E   " + begin + "\nE   MIIE\nE   abc\nE   " + end, {}),
              "E   " + begin + "\n<set>\n\nE   " + end);
    EXPECT_EQ(mask_secrets("a b\nMIIE\nabc=\n" + end + "\nb", {}),
              "a b\n<set>\n\n" + end + "\nb") << "its begin was cut off";
    EXPECT_EQ(mask_secrets("-----BEGIN PUBLIC KEY-----\nab", {}),
              "-----BEGIN PUBLIC KEY-----\nab");
}

TEST(Secrets, OfSeveralLinesArePrintedLineByLine) {
    const auto values =
        secret_values({{"DEPLOY_KEY", "first-line-0123456789\nshort\nsecond-0123456789"}});
    EXPECT_EQ(mask_secrets("second-0123456789", values), "<set>");
    EXPECT_EQ(mask_secrets("short", values), "short");
}

TEST(Secrets, MayBeTheNameInAUrl) {
    EXPECT_EQ(mask_secrets("https://0123456789abcdef0123@host/x", {}), "https://<set>@host/x");
    EXPECT_EQ(mask_secrets("ssh://git@github.com/a/b", {}), "ssh://git@github.com/a/b");
}

TEST(Secrets, MayBeGivenToTheProgram) {
    remember_secrets({{"COMPAT_TEST_GIVEN_TOKEN", "given=1234"}, {"LANG", "C.UTF-8"}});
    EXPECT_EQ(mask_own_secrets("x given=1234 C.UTF-8"), "x <set> C.UTF-8");
    EXPECT_THAT(own_secret_values(), ::testing::Contains("given=1234"));
}

TEST(Secrets, OfThisProgramAreThoseOfItsEnvironment) {
    const char* const name = "COMPAT_TEST_OWN_TOKEN";
    ASSERT_EQ(::setenv(name, "sekret=99", 1), 0);
    EXPECT_THAT(own_secret_values(), ::testing::Contains("sekret=99"));
    ASSERT_EQ(::unsetenv(name), 0);
    EXPECT_THAT(own_secret_values(), ::testing::Not(::testing::Contains("sekret=99")));
}

TEST(Secrets, AreNotOrdinaryCode) {
    for (const char* text : {"sorted(rows, key=len)", "KeyError: 'x'", "token = next(it)", "TOKEN",
                             "KEY=", "key: value", "assert key == 'a'", "pad_token='[PAD]'",
                             "password = ask()", "the bearer of this", "risk-free", "tokens=3",
                             "PAD_TOKEN = '[PAD]'", "EOS_TOKEN=</s>", "EOS_TOKEN_ID=128001",
                             "AUTH_TOKEN=None", "API_KEY=$KEY", "sk-learn-contrib-package",
                             "the authorization of it", "STATE_KEY = make_key()",
                             "KEYWORDS: ClassVar[str] = 'a'", "settings of the form KEY=VALUE",
                             "MODE_KEY = 'DEVICE_MODE'", "'authorization: basic ...'"})
        EXPECT_EQ(mask_secrets(text, {}), text);
}

}  // namespace
}  // namespace compat

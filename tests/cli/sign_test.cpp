// gibbsite sign, and verify --signer: a model, its signature and a key as people handle them.
#include <fmt/format.h>
#include <sys/stat.h>

#include "cli/cli.hpp"

namespace gibbsite::testing {
namespace sign_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SignCli : public Cli {
 protected:
  [[nodiscard]] unsigned mode(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(::stat((folder.path() + "/" + name).c_str(), &found), 0) << name;
    return found.st_mode & 07777U;
  }
  [[nodiscard]] Outcome sign(const Arguments& more) const {
    return gibbsite(
        joined({"sign", "m.json", "--key", "me.key", "--passphrase-file", "pass"}, more));
  }
};

TEST_F(SignCli, SignsAModelThatOthersVerify) {
  folder.write("pass", "correct horse\nsecond line\n");
  ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--quiet"})).status, 0);
  const Outcome made = gibbsite({"sign", "--make-key", "me.key", "--passphrase-file", "pass"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(mode("me.key"), 0600U);
  EXPECT_EQ(mode("me.key.pub"), 0644U);
  EXPECT_THAT(gibbsite({"sign", "--make-key", "me.key", "--passphrase-file", "pass"}).err,
              HasSubstr("me.key"));  // keys are never replaced

  const Outcome unsigned_yet = gibbsite({"verify", "m.json", "--signer", "me.key.pub"});
  EXPECT_EQ(unsigned_yet.status, 2);
  EXPECT_THAT(unsigned_yet.err, StartsWith("gibbsite: m.json.sig: "));
  const Outcome said = sign({});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(mode("m.json.sig"), 0644U);
  const Outcome verified = gibbsite({"verify", "m.json", "--signer", "me.key.pub"});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out, AllOf(StartsWith("SIGNED: "), HasSubstr("\nVALID: ")));
  EXPECT_EQ(sign({}).status, 2) << "the signature was replaced without --force";
  EXPECT_EQ(sign({"--force"}).status, 0);

  // A blank at the end changes no number of the certificate, and is not what was signed.
  folder.write("n.json", folder.read("m.json") + "\n");
  EXPECT_EQ(gibbsite({"verify", "n.json"}).status, 0);
  const Outcome changed =
      gibbsite({"verify", "n.json", "--signer", "me.key.pub", "--signature", "m.json.sig"});
  EXPECT_EQ(changed.status, 4);
  EXPECT_EQ(changed.out, "");
  EXPECT_THAT(changed.err, StartsWith("gibbsite: n.json: NOT SIGNED by me.key.pub: "));

  // The public part is no key to sign with, whoever may read it.
  const Outcome of_public =
      gibbsite({"sign", "m.json", "--key", "me.key.pub", "--passphrase-file", "pass", "--force"});
  expect_error(of_public, 2, "me.key.pub: is the public part of a key");
  EXPECT_THAT(of_public.err, ::testing::Not(HasSubstr("chmod")));

  for (const unsigned open : {0640U, 0644U, 0604U, 0602U, 0666U}) {
    ASSERT_EQ(::chmod((folder.path() + "/me.key").c_str(), open), 0);
    const Outcome refused = sign({"--force"});
    EXPECT_EQ(refused.status, 2) << open;
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr(fmt::format("{:04o}", open)), HasSubstr("chmod 600 me.key")));
  }
}

TEST_F(SignCli, SignsNothingThatIsNotValid) {
  folder.write("pass", "correct horse");
  ASSERT_EQ(gibbsite({"sign", "--make-key", "me.key", "--passphrase-file", "pass"}).status, 0);
  ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--quiet", "--seed", "1"})).status, 0);  // void
  const Outcome refused = sign({});
  EXPECT_EQ(refused.status, 4);
  EXPECT_THAT(refused.err, HasSubstr("NOT VALID"));
  EXPECT_EQ(gibbsite({"sign", "m.json"}).status, 2);
  EXPECT_EQ(gibbsite({"sign", "m.json", "--make-key", "new.key"}).status, 2);
  EXPECT_EQ(gibbsite({"verify", "m.json", "--signature", "m.json.sig"}).status, 2);
  folder.write("pass", "wrong horse");
  ASSERT_EQ(gibbsite(fit({"--out", "m.json", "--quiet", "--force"})).status, 0);
  EXPECT_THAT(sign({}).err, HasSubstr("the passphrase does not open it"));
}

}  // namespace sign_test
}  // namespace gibbsite::testing

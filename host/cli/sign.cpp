#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "command.hpp"
#include "gibbsite/certificate/model_file.hpp"
#include "gibbsite/certificate/signature.hpp"
#include "gibbsite/certificate/verify.hpp"
#include "gibbsite/core/error.hpp"
#include "gibbsite/core/file.hpp"
#include "options.hpp"

namespace gibbsite::cli {
namespace {

// The first line of what `next` gives, one character at a time; wiped at the end.
class Passphrase {
 public:
  template <class Next>
  explicit Passphrase(const Next& next) {
    text_.reserve(longest);  // a copy that grew would leave its beginning in memory
    for (char one = 0; next(one) && one != '\n';) {
      if (text_.size() == longest) throw BadInput("passphrase: is longer than 1024 bytes");
      text_ += one;
    }
  }
  ~Passphrase() { ::explicit_bzero(text_.data(), text_.size()); }
  Passphrase(Passphrase&&) = default;  // of memory of its own: nothing stays behind
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  static constexpr std::size_t longest = 1024;
  std::string text_;
};

// A terminal that shows nothing of what is typed, while it lives.
class SilentTerminal {
 public:
  SilentTerminal() : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (fd_ < 0 || ::tcgetattr(fd_, &before_) != 0) {
      if (fd_ >= 0) ::close(fd_);
      throw BadInput("--passphrase-file: is missing, and there is no terminal to ask at; give it");
    }
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);  // Ctrl-C must not leave it silent
    ::tcsetattr(fd_, TCSAFLUSH, &silent);
  }
  ~SilentTerminal() {
    ::tcsetattr(fd_, TCSAFLUSH, &before_);
    ::close(fd_);
  }
  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;

  Passphrase line(std::string_view prompt) {
    say(prompt);
    const auto next = [&](char& one) {
      const bool got = ::read(fd_, &one, 1) == 1;
      if (!got || one == '\n') say("\n");
      return got;
    };
    return Passphrase(next);
  }

 private:
  void say(std::string_view text) {
    if (::write(fd_, text.data(), text.size()) < 0) throw BadInput("/dev/tty: cannot be written");
  }
  int fd_;
  termios before_{};
};

struct SignCommand {
  std::string model, key, make_key, out, passphrase_file;
  bool force = false;

  void run() const {
    if (!make_key.empty()) return make();
    if (model.empty() || key.empty()) {
      throw BadInput("model, --key: are needed to sign; or give --make-key for a new key");
    }
    require_secret(key);
    require_private(key);
    const std::string target = out.empty() ? model + ".sig" : out;
    require_new(target, force);
    const std::string text = read_release_text(model);
    if (const Verification result = verify(parse_release_json(text, model)); !result.valid) {
      throw Infeasible(
          fmt::format("{}: NOT VALID: {}; sign a file that gibbsite verify finds valid", model,
                      result.failures.front()));
    }
    const std::string signature = sign(text, read_key_file(key), passphrase(false).text());
    write_new(target, force, [&](Existing existing) {
      write_file_atomically(target, signature, public_file, existing);
    });
    fmt::print("{}: signs every byte of {}; publish both, and the public key in another place\n",
               target, model);
  }

 private:
  void make() const {
    if (!model.empty() || !key.empty()) {
      throw BadInput("--make-key: makes a key and signs nothing; leave out model and --key");
    }
    const std::string shown = make_key + ".pub";
    require_new(make_key, false, "--make-key");
    require_new(shown, false, "--make-key");
    const SigningKeyFiles files = make_signing_key(passphrase(true).text());
    // Existing keys are kept, however late they came: what they signed would lose its signer.
    write_file_atomically(make_key, files.secret_part, private_file, Existing::kept);
    write_file_atomically(shown, files.public_part, public_file, Existing::kept);
    fmt::print("{}: the secret key, for nobody else\n{}: its public part, for whoever verifies\n",
               make_key, shown);
  }

  // Whose mode is right, but that is the other part.
  static void require_secret(const std::string& path) {
    std::array<char, 256> top{};  // a public part is shorter
    std::ifstream(path).read(top.data(), top.size() - 1);
    if (std::string_view(top.data()).find("gibbsite-public-key") == std::string_view::npos) return;
    throw BadInput(path +
                   ": is the public part of a key, and signs nothing; give the secret key, "
                   "whose name has no .pub");
  }

  static void require_private(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
        (found.st_mode & 077U) != 0) {
      throw BadInput(fmt::format("{}: others may read this key (mode {:04o}); chmod 600 {}", path,
                                 found.st_mode & 07777U, path));
    }
  }

  // Asked for at the terminal, twice for a new key, or the first line of a file.
  [[nodiscard]] Passphrase passphrase(bool twice) const {
    if (!passphrase_file.empty()) {
      std::ifstream file(passphrase_file, std::ios::binary);
      if (!file) {
        throw BadInput(passphrase_file + ": cannot be read; give a file with the passphrase");
      }
      return Passphrase([&](char& one) { return static_cast<bool>(file.get(one)); });
    }
    SilentTerminal terminal;
    Passphrase first = terminal.line("passphrase: ");
    if (twice && terminal.line("again: ").text() != first.text()) {
      throw BadInput("passphrase: was not the same twice; try again");
    }
    return first;
  }
};

void define_sign(CLI::App& app) {
  const auto command = std::make_shared<SignCommand>();
  app.add_option("--model,model", command->model, "model file to sign")->type_name("FILE");
  app.add_option("--key", command->key, "secret key that --make-key wrote")->type_name("FILE");
  app.add_option("--make-key", command->make_key,
                 "make a key in a new file, and its public part in FILE.pub")
      ->type_name("FILE");
  app.add_option("--out", command->out, "the signature; default: the model's name and .sig")
      ->type_name("FILE");
  app.add_option("--passphrase-file", command->passphrase_file,
                 "its first line is the passphrase; asked for at the terminal when absent")
      ->type_name("FILE");
  add_force(app, command->force);
  app.callback([command] { command->run(); });
}

const Register sign_command{{5, "sign", "Say by a signature whose a released file is",
                             "gibbsite sign model.json --key me.key", define_sign}};

}  // namespace
}  // namespace gibbsite::cli

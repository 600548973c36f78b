// Recomputes a certificate from its public numbers, and says what `gibbsite verify --verbose` says,
// with its exit status. Links the public layer alone: no rows, no engine.
// gibbsite-verify MODEL.json
#include <cstdio>
#include <gibbsite/certificate/certificate.hpp>
#include <gibbsite/certificate/verify.hpp>
#include <gibbsite/core/error.hpp>
#include <gibbsite/core/text.hpp>
#include <nlohmann/json.hpp>

namespace {

int failed(const gibbsite::Status status, const std::string& what) {
  std::fprintf(stderr, "gibbsite-verify: %s\n", gibbsite::shown(what).c_str());
  return static_cast<int>(status);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return failed(gibbsite::Status::bad_input, "give one file, a model.json");
  const nlohmann::json file = gibbsite::read_release_json(argv[1]);
  const gibbsite::Verification result = gibbsite::verify(file);
  if (result.valid) {
    std::printf("VALID: every number of the certificate follows from its public constants.\n\n%s\n",
                gibbsite::in_words(file.at("certificate")).c_str());
  } else {
    std::printf("NOT VALID: what does not hold comes first, then what does.\n\n");
  }
  for (const std::string& line : result.failures) {
    std::printf("FAIL  %s\n", gibbsite::shown(line).c_str());
  }
  for (const std::string& line : result.checks) {
    std::printf("ok    %s\n", gibbsite::shown(line).c_str());
  }
  if (!result.valid) {
    return failed(gibbsite::Status::infeasible,
                  std::string(argv[1]) + ": NOT VALID" + (result.void_run ? " (void)" : "") + ": " +
                      result.failures.front() + "; rely on no guarantee of this file");
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return failed(gibbsite::Status::bad_input, "standard output: cannot write");
  }
} catch (const gibbsite::Error& error) {
  return failed(error.status(), error.what());
} catch (const std::exception& error) {
  return failed(gibbsite::Status::bad_input, error.what());
}

#pragma once
// The file of a released network: its structure, tables, schema and certificate. `query` and
// `synthesize` need nothing else.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "gibbsite/certificate/certificate.hpp"
#include "gibbsite/core/file.hpp"
#include "gibbsite/model/network_model.hpp"

namespace gibbsite {

/// A network with its certificate. Only `fit_network` makes one, or reading a file, whose
/// certificate is as good as `verify` says.
class NetworkRelease {
 public:
  [[nodiscard]] const NetworkModel& model() const { return model_; }
  [[nodiscard]] const NetworkCertificate& certificate() const { return certificate_; }

 private:
  friend struct ReleaseAccess;  // host/certificate/certify.hpp
  NetworkRelease(NetworkModel model, NetworkCertificate certificate)
      : model_(std::move(model)), certificate_(std::move(certificate)) {}

  NetworkModel model_;
  NetworkCertificate certificate_;
};

/// The whole file, digest and all.
nlohmann::json to_json(const NetworkRelease& release);
/// As write_release.
void write_network(const std::string& path, const NetworkRelease& release,
                   Existing existing = Existing::replaced);
/// As read_release; throws BadInput when the file holds something else than a network.
NetworkRelease read_network(const std::string& path);
NetworkRelease parse_network(const std::string& text, const std::string& source);

/// A released file's text, to be parsed as what release_kind says it holds: a pipe is read once.
/// Throws BadInput when it cannot be read.
std::string read_release_text(const std::string& path);
/// What a file's text holds, by its certificate alone.
enum class ReleaseKind { linear, family, network, evaluation };
ReleaseKind release_kind(const std::string& text, const std::string& source);

}  // namespace gibbsite

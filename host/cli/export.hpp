#pragma once
// What writes a model in another program's format, where there is something that can.
#include <functional>
#include <string>

namespace gibbsite::cli {

/// The bytes of the ONNX graph of a model file's text. Throws BadInput.
using OnnxWriter = std::function<std::string(const std::string& text)>;
/// From now on, in all of the process: the Python package sets its own. Without one `gibbsite
/// export` says what is needed.
void set_onnx_writer(OnnxWriter writer);

}  // namespace gibbsite::cli

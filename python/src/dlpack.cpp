#include "dlpack.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "gibbsite/core/error.hpp"
#include "gibbsite/core/text.hpp"
#include "gibbsite/engine/device_memory.hpp"

namespace gibbsite::python {
namespace {

// DLDeviceType
enum Kind { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

// DLManagedTensor, and DLManagedTensorVersioned from DLPack 1.0 on.
struct Managed {
  nb::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  nb::dlpack::dltensor tensor;
};

constexpr const char* instead = "give a copy in the host's memory, array.get() or array.cpu()";

struct Place {
  int kind, number;
};

std::optional<Place> place_of(const nb::object& x) {
  if (!nb::hasattr(x, "__dlpack_device__")) return {};
  const nb::object said = x.attr("__dlpack_device__")();
  if (!nb::isinstance<nb::tuple>(said) || nb::len(said) != 2) return {};
  const long kind = PyLong_AsLong(nb::object(said[0]).ptr());
  const long number = PyErr_Occurred() ? 0 : PyLong_AsLong(nb::object(said[1]).ptr());
  if (PyErr_Occurred()) throw nb::python_error();
  return Place{static_cast<int>(kind), static_cast<int>(number)};
}

std::string first_line(const nb::python_error& error) {
  std::string what = nb::cast<std::string>(nb::str(error.value()));
  if (const auto end = what.find('\n'); end != std::string::npos) what.resize(end);
  return what.empty() ? nb::cast<std::string>(error.type().attr("__name__")) : shown(what);
}

PyObject* g_copy = nullptr;  // NOLINT: set_device_copy's

/// A function of Python in place of CUDA.
class TestMemory final : public RemoteMemory {
 public:
  TestMemory(nb::object copy, int device) : copy_(std::move(copy)), device_(device) {}
  void copy(std::byte* out, const std::byte* at, std::size_t pitch, std::size_t width,
            std::size_t height) override {
    const nb::gil_scoped_acquire locked;
    const nb::object bytes =
        copy_(device_, reinterpret_cast<std::uintptr_t>(at), pitch, width, height);
    const nb::bytes got(bytes);
    if (got.size() != width * height) throw BadInput("array: a copy of another size");
    std::memcpy(out, got.c_str(), got.size());
  }

 private:
  nb::object copy_;
  int device_;
};

std::unique_ptr<RemoteMemory> open(int device, const void* data) {
  if (g_copy != nullptr) return std::make_unique<TestMemory>(nb::borrow(g_copy), device);
  return open_device_memory(device, data);
}

}  // namespace

void set_device_copy(const nb::object& copy) {
  Py_XDECREF(std::exchange(g_copy, copy.is_none() ? nullptr : copy.inc_ref().ptr()));
}

bool DeviceArray::is_one(const nb::object& x) {
  try {
    const std::optional<Place> place = place_of(x);
    return place && place->kind != cpu;
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    return false;  // said, if need be, by who reads it as an ordinary array
  }
}

DeviceArray::DeviceArray(const nb::object& x, const char* name, int dimensions) {
  const auto fail = [&](const std::string& what) {
    throw BadInput(fmt::format("{}: {}", name, what));
  };
  const std::optional<Place> found = place_of(x);
  if (!found) fail("no array of DLPack");
  const Place place = *found;
  const bool remote = place.kind == cuda || place.kind == cuda_managed;
  if (!remote && place.kind != cuda_host)
    fail(fmt::format("is on a device of DLPack's type {}, and only CUDA's are read; {}", place.kind,
                     instead));
  if (remote) memory_ = open(place.number, nullptr);  // or it is said before work begins there

  nb::dict plan_options;
  plan_options["max_version"] = nb::make_tuple(1, 0);
  if (remote) plan_options["stream"] = 1;  // the legacy default stream, on which it is copied
  try {
    try {
      capsule_ = x.attr("__dlpack__")(**plan_options);
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      PyDict_DelItemString(plan_options.ptr(), "max_version");  // from before DLPack 1.0
      capsule_ = x.attr("__dlpack__")(**plan_options);
    }
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_Exception)) throw;
    fail(fmt::format("cannot be handed over ({}); {}", first_line(error), instead));
  }

  const nb::dlpack::dltensor* tensor = nullptr;
  if (PyCapsule_IsValid(capsule_.ptr(), "dltensor_versioned")) {
    const auto* const held =
        static_cast<const Versioned*>(PyCapsule_GetPointer(capsule_.ptr(), "dltensor_versioned"));
    if (held->major != 1)
      fail(fmt::format("is of version {} of DLPack, and 0 and 1 are read; {}", held->major,
                       instead));
    tensor = &held->tensor;
  } else if (PyCapsule_IsValid(capsule_.ptr(), "dltensor")) {
    tensor = &static_cast<const Managed*>(PyCapsule_GetPointer(capsule_.ptr(), "dltensor"))->tensor;
  } else {
    fail(fmt::format("its __dlpack__ gave no tensor; {}", instead));
  }
  const nb::dlpack::dltensor& t = *tensor;
  if (t.device.device_type != place.kind || (remote && t.device.device_id != place.number))
    fail(fmt::format("is on another device than it says; {}", instead));
  if (t.ndim != dimensions)
    fail(fmt::format("has {} dimensions and not {}; reshape it", t.ndim, dimensions));
  if (t.shape == nullptr) fail("has no shape");

  using Type = ArrayView::Type;
  struct Known {
    int code, bits;
    Type type;
  };
  static constexpr Known known[] = {
      {2, 32, Type::float32}, {2, 64, Type::float64}, {2, 16, Type::float16},
      {0, 8, Type::int8},     {0, 16, Type::int16},   {0, 32, Type::int32},
      {0, 64, Type::int64},   {1, 8, Type::uint8},    {1, 16, Type::uint16},
      {1, 32, Type::uint32},  {1, 64, Type::uint64},  {6, 8, Type::boolean}};
  const Known* type = nullptr;
  for (const Known& one : known)
    if (t.dtype.code == one.code && t.dtype.bits == one.bits && t.dtype.lanes == 1) type = &one;
  if (type == nullptr)
    fail(
        fmt::format("has values of a type (DLPack's code {}, {} bits) that is not read; give "
                    "float32 or float64",
                    t.dtype.code, t.dtype.bits));

  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
  const std::int64_t size = t.dtype.bits / 8;
  const std::int64_t rows = t.shape[0], cols = dimensions == 2 ? t.shape[1] : 1;
  if (rows < 0 || cols < 0 || (cols > 0 && rows > most / size / cols))
    fail("has a shape that cannot be");
  const std::int64_t row = t.strides != nullptr ? t.strides[0] : cols,
                     col = t.strides != nullptr && dimensions == 2 ? t.strides[1] : 1;
  const auto reaches = [&](std::int64_t stride, std::int64_t count) {
    const std::int64_t limit = most / size / std::max<std::int64_t>(count, 1);
    return stride <= limit && stride >= -limit;
  };
  if (!reaches(row, rows) || !reaches(col, cols)) fail("has strides that cannot be");
  if (t.data == nullptr && rows > 0 && cols > 0) fail("has no values");
  const auto* const data = static_cast<const std::byte*>(t.data);
  view_ = {data == nullptr ? nullptr : data + t.byte_offset,
           type->type,
           static_cast<std::uint64_t>(rows),
           static_cast<std::uint64_t>(cols),
           row * size,
           col * size};
  if (remote && view_.data != nullptr) memory_ = open(place.number, view_.data);
}

}  // namespace gibbsite::python

// Arrays, textures and surfaces.
#include "check.h"

#include <cmath>

template <typename T> __global__ void fetch1(hipTextureObject_t t, T *out)
{
  out[threadIdx.x] = tex1Dfetch<T>(t, int(threadIdx.x));
}
__global__ void sample1(hipTextureObject_t t, const float *x, float *out)
{
  out[threadIdx.x] = tex1D<float>(t, x[threadIdx.x]);
}
template <typename T> __global__ void sample2(hipTextureObject_t t, const float2 *at, T *out)
{
  out[threadIdx.x] = tex2D<T>(t, at[threadIdx.x].x, at[threadIdx.x].y);
}
__global__ void sample3(hipTextureObject_t t, float *out)
{
  out[threadIdx.x + 64 * blockIdx.x] =
      tex3D<float>(t, threadIdx.x % 8 + 0.5f, threadIdx.x / 8 + 0.5f, blockIdx.x + 0.5f);
}
__global__ void sample_layers(hipTextureObject_t t, float *out)
{
  out[threadIdx.x + 64 * blockIdx.x] =
      tex2DLayered<float>(t, threadIdx.x % 8 + 0.5f, threadIdx.x / 8 + 0.5f, blockIdx.x);
}
__global__ void transpose(hipSurfaceObject_t from, hipSurfaceObject_t to)
{
  float4 value;
  surf2Dread(&value, from, int(threadIdx.x * sizeof value), blockIdx.x);
  surf2Dwrite(value, to, int(blockIdx.x * sizeof value), threadIdx.x);
}

texture<float, hipTextureType2D, hipReadModeElementType> reference;

__global__ void sample_reference(float *out)
{
  out[threadIdx.x] = tex2D(reference, threadIdx.x % 8 + 0.5f, threadIdx.x / 8 + 0.5f);
}

struct Texture {
  hipTextureObject_t object = nullptr;
  Texture(const hipResourceDesc &what, hipTextureFilterMode filter = hipFilterModePoint,
          hipTextureAddressMode address = hipAddressModeClamp, bool normalized = false,
          hipTextureReadMode read = hipReadModeElementType)
  {
    hipTextureDesc how = {};
    how.filterMode = filter;
    for (auto &mode : how.addressMode)
      mode = address;
    how.normalizedCoords = normalized;
    how.readMode = read;
    HIP(hipCreateTextureObject(&object, &what, &how, nullptr));
  }
  ~Texture() { HIP(hipDestroyTextureObject(object)); }
};

hipResourceDesc of(hipArray *array)
{
  hipResourceDesc what = {};
  what.resType = hipResourceTypeArray;
  what.res.array.array = array;
  return what;
}

template <typename T>
hipArray *array_of(size_t width, size_t height, const std::vector<T> &values,
                   hipChannelFormatDesc format = hipCreateChannelDesc<T>())
{
  hipArray *array = nullptr;
  HIP(hipMallocArray(&array, &format, width, height, 0));
  HIP(hipMemcpy2DToArray(array, 0, 0, values.data(), width * sizeof(T), width * sizeof(T),
                         height ? height : 1, hipMemcpyHostToDevice));
  return array;
}

// Small numbers, each once: sums of their halves and quarters are exact.
template <typename T = float> std::vector<T> numbers(size_t count)
{
  std::vector<T> out(count);
  for (size_t i = 0; i < count; i++)
    out[i] = T(i);
  return out;
}

void check_copies()
{
  const auto values = numbers(300 * 70);
  hipArray *array = array_of(300, 70, values);
  std::vector<float> back(values.size()), part(40 * 20);
  HIP(hipMemcpy2DFromArray(back.data(), 1200, array, 0, 0, 1200, 70, hipMemcpyDeviceToHost));
  CHECK(back == values);
  HIP(hipMemcpy2DFromArray(part.data(), 160, array, 100 * 4, 30, 160, 20, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < part.size(); i++)
    CHECK(part[i] == values[(30 + i / 40) * 300 + 100 + i % 40]);
  HIP(hipMemcpy2DToArray(array, 8, 1, part.data(), 160, 160, 20, hipMemcpyHostToDevice));
  float *device = to_device(values); // between devices' memory and an array
  HIP(hipMemcpy2DFromArray(device, 1200, array, 0, 0, 1200, 70, hipMemcpyDeviceToDevice));
  back = to_host(device, values.size());
  for (size_t i = 0; i < back.size(); i++) {
    const size_t x = i % 300, y = i / 300;
    const bool is_new = x >= 2 && x < 42 && y >= 1 && y < 21;
    CHECK(back[i] == (is_new ? part[(y - 1) * 40 + x - 2] : values[i]));
  }
  hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray *other = nullptr;
  HIP(hipMallocArray(&other, &format, 300, 70, 0));
  hipMemcpy3DParms copy = {};
  copy.srcArray = array;
  copy.dstArray = other;
  copy.extent = make_hipExtent(300, 70, 1);
  copy.kind = hipMemcpyDeviceToDevice;
  HIP(hipMemcpy3D(&copy));
  std::vector<float> copied(values.size());
  HIP(hipMemcpy2DFromArray(copied.data(), 1200, other, 0, 0, 1200, 70, hipMemcpyDeviceToHost));
  CHECK(copied == back);
  HIP(hipFree(device));
  HIP(hipFreeArray(array));
  HIP(hipFreeArray(other));
}

// 8 x 8 x 5 texels, as depth or as layers.
void check_volume(unsigned flags, void (*kernel)(hipTextureObject_t, float *))
{
  auto values = numbers(8 * 8 * 5);
  hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray *array = nullptr;
  HIP(hipMalloc3DArray(&array, &format, make_hipExtent(8, 8, 5), flags));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(values.data(), 8 * sizeof(float), 8, 8);
  copy.dstArray = array;
  copy.extent = make_hipExtent(8, 8, 5);
  copy.kind = hipMemcpyHostToDevice;
  HIP(hipMemcpy3D(&copy));
  float *out = nullptr;
  HIP(hipMalloc(&out, values.size() * sizeof(float)));
  Texture texture(of(array));
  kernel<<<5, 64>>>(texture.object, out);
  CHECK(to_host(out, values.size()) == values);
  HIP(hipFree(out));
  HIP(hipFreeArray(array));
}

// What a row of 8 texels is at x, in texels.
float expected(hipTextureFilterMode filter, hipTextureAddressMode address, float x)
{
  auto at = [&](int i) {
    if (address == hipAddressModeBorder && (i < 0 || i > 7))
      return 0.0f;
    if (address == hipAddressModeClamp)
      return float(i < 0 ? 0 : i > 7 ? 7 : i);
    if (address == hipAddressModeWrap)
      return float((i % 8 + 8) % 8);
    const int once = (i % 16 + 16) % 16;
    return float(once < 8 ? once : 15 - once);
  };
  if (filter == hipFilterModePoint)
    return at(int(std::floor(x)));
  const float left = std::floor(x - 0.5f), rest = x - 0.5f - left;
  return at(int(left)) * (1 - rest) + at(int(left) + 1) * rest;
}

void check_sampling()
{
  hipArray *row = array_of(8, 0, numbers(8)), *square = array_of(8, 8, numbers(64));
  std::vector<float> xs(64), normalized(64);
  for (int i = 0; i < 64; i++) {
    xs[i] = float(i - 20) / 2 + 0.25f;
    normalized[i] = xs[i] / 8;
  }
  float *device = to_device(xs), *device_normalized = to_device(normalized), *out = to_device(xs);
  for (auto filter : {hipFilterModePoint, hipFilterModeLinear})
    for (auto address :
         {hipAddressModeWrap, hipAddressModeClamp, hipAddressModeMirror, hipAddressModeBorder}) {
      const bool repeats = address == hipAddressModeWrap || address == hipAddressModeMirror;
      Texture texture(of(row), filter, address, repeats);
      sample1<<<1, 64>>>(texture.object, repeats ? device_normalized : device, out);
      const auto got = to_host(out, 64);
      for (int i = 0; i < 64; i++)
        CHECK(got[i] == expected(filter, address, xs[i]));
    }
  std::vector<float2> points = {{4, 4}, {0.5f, 0.5f}, {7.5f, 3}, {3.25f, 6.5f}};
  float2 *at = to_device(points);
  Texture linear(of(square), hipFilterModeLinear);
  sample2<float><<<1, 4>>>(linear.object, at, out);
  CHECK(to_host(out, 4) == std::vector<float>({31.5f, 0, 27, 50.75f}));
  for (float *each : {device, device_normalized, out})
    HIP(hipFree(each));
  HIP(hipFree(at));
  HIP(hipFreeArray(row));
  HIP(hipFreeArray(square));
}

// Bytes as they are, and as parts of one.
void check_bytes()
{
  std::vector<uchar4> values(16 * 4);
  std::vector<float2> points(64);
  for (unsigned i = 0; i < 64; i++) {
    values[i] = make_uchar4(i, 255 - i, 51, 4 * i);
    points[i] = make_float2(i % 16 + 0.5f, i / 16 + 0.5f);
  }
  // HIP 5.2's hipCreateChannelDesc<uchar4>() is of signed bytes.
  hipArray *array =
      array_of(16, 4, values, hipCreateChannelDesc(8, 8, 8, 8, hipChannelFormatKindUnsigned));
  float2 *at = to_device(points);
  std::vector<float4> parts(64);
  float4 *out = to_device(parts);
  Texture whole(of(array));
  sample2<uchar4><<<1, 64>>>(whole.object, at, reinterpret_cast<uchar4 *>(out));
  const auto got = to_host(reinterpret_cast<uchar4 *>(out), 64);
  Texture part(of(array), hipFilterModePoint, hipAddressModeClamp, false,
               hipReadModeNormalizedFloat);
  sample2<float4><<<1, 64>>>(part.object, at, out);
  parts = to_host(out, 64);
  for (unsigned i = 0; i < 64; i++) {
    CHECK(got[i].x == values[i].x && got[i].y == values[i].y && got[i].w == values[i].w);
    CHECK(parts[i].x == i / 255.0f && parts[i].y == (255 - i) / 255.0f && parts[i].z == 0.2f);
  }
  HIP(hipFree(at));
  HIP(hipFree(out));
  HIP(hipFreeArray(array));
}

// Textures of what is no array: memory in a row, and in rows.
void check_memory()
{
  const auto values = numbers<int>(64);
  int *device = to_device(values), *out = to_device(values);
  hipResourceDesc what = {};
  what.resType = hipResourceTypeLinear;
  what.res.linear.devPtr = device;
  what.res.linear.desc = hipCreateChannelDesc<int>();
  what.res.linear.sizeInBytes = 64 * sizeof(int);
  {
    Texture texture(what);
    fetch1<int><<<1, 64>>>(texture.object, out);
    CHECK(to_host(out, 64) == values);
  }
  void *rows = nullptr;
  size_t pitch = 0;
  const auto floats = numbers(20 * 3);
  HIP(hipMallocPitch(&rows, &pitch, 80, 3));
  HIP(hipMemcpy2D(rows, pitch, floats.data(), 80, 80, 3, hipMemcpyHostToDevice));
  what = {};
  what.resType = hipResourceTypePitch2D;
  what.res.pitch2D.devPtr = rows;
  what.res.pitch2D.desc = hipCreateChannelDesc<float>();
  what.res.pitch2D.width = 20;
  what.res.pitch2D.height = 3;
  what.res.pitch2D.pitchInBytes = pitch;
  std::vector<float2> points(60);
  for (int i = 0; i < 60; i++)
    points[i] = make_float2(i % 20 + 0.5f, i / 20 + 0.5f);
  float2 *at = to_device(points);
  {
    Texture texture(what);
    sample2<float><<<1, 60>>>(texture.object, at, reinterpret_cast<float *>(out));
    CHECK(to_host(reinterpret_cast<float *>(out), 60) == floats);
  }
  HIP(hipFree(device));
  HIP(hipFree(out));
  HIP(hipFree(rows));
  HIP(hipFree(at));
}

// As programs had them before there were objects.
void check_reference()
{
  const auto values = numbers(64);
  hipArray *array = array_of(8, 8, values);
  float *out = to_device(std::vector<float>(64));
  HIP(hipBindTextureToArray(reference, array));
  sample_reference<<<1, 64>>>(out);
  CHECK(to_host(out, 64) == values);
  HIP(hipUnbindTexture(reference));
  HIP(hipFree(out));
  HIP(hipFreeArray(array));
}

void check_surfaces()
{
  std::vector<float4> values(32 * 32), back(32 * 32);
  for (unsigned i = 0; i < 32 * 32; i++)
    values[i] = make_float4(i, i + 0.5f, -float(i), 1);
  hipArray *from = array_of(32, 32, values), *to = array_of(32, 32, back);
  hipSurfaceObject_t surfaces[2];
  const hipResourceDesc first = of(from), second = of(to);
  HIP(hipCreateSurfaceObject(&surfaces[0], &first));
  HIP(hipCreateSurfaceObject(&surfaces[1], &second));
  transpose<<<32, 32>>>(surfaces[0], surfaces[1]);
  HIP(hipMemcpy2DFromArray(back.data(), 512, to, 0, 0, 512, 32, hipMemcpyDeviceToHost));
  for (unsigned i = 0; i < 32 * 32; i++)
    CHECK(back[i].y == values[i % 32 * 32 + i / 32].y && back[i].z == -float(i % 32 * 32 + i / 32));
  for (auto surface : surfaces)
    HIP(hipDestroySurfaceObject(surface));
  HIP(hipFreeArray(from));
  HIP(hipFreeArray(to));
}

int main()
{
  hipDeviceProp_t facts;
  HIP(hipGetDeviceProperties(&facts, 0));
  CHECK(facts.maxTexture1D == 16384 && facts.maxTexture2D[1] == 16384);
  CHECK(facts.maxTexture3D[0] == 16384 && facts.maxTexture3D[2] == 8192);
  check_copies();
  check_volume(0, sample3);
  check_volume(hipArrayLayered, sample_layers);
  check_sampling();
  check_bytes();
  check_memory();
  check_reference();
  check_surfaces();
  std::puts("ok");
}

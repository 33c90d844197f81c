// Memory and events of one process used by another: by handle, beyond the exporter's free, and not
// by a handle that is no longer good.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "check.h"

static const int n = 300000;

__global__ void add(int *values, int count, int what)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    values[i] += what;
}

static void send(int pipe, const void *bytes, size_t size)
{
  CHECK(write(pipe, bytes, size) == (ssize_t)size);
}

static void receive(int pipe, void *bytes, size_t size)
{
  CHECK(read(pipe, bytes, size) == (ssize_t)size);
}

struct Handles {
  hipIpcMemHandle_t memory, other, host;
  hipIpcEventHandle_t event;
};

static hipError_t open_handle(void **address, hipIpcMemHandle_t handle)
{
  return hipIpcOpenMemHandle(address, handle, hipIpcMemLazyEnablePeerAccess);
}

static int importer(int in, int out)
{
  Handles handles;
  receive(in, &handles, sizeof(handles));
  int *memory = nullptr, *other = nullptr, *again = nullptr;
  HIP(open_handle((void **)&memory, handles.memory));
  HIP(open_handle((void **)&other, handles.other));
  CHECK(memory != other);
  // What the other process counted, once its event says that it is done.
  hipEvent_t event;
  HIP(hipIpcOpenEventHandle(&event, handles.event));
  HIP(hipEventSynchronize(event));
  std::vector<int> seen = to_host(memory, n);
  for (int i = 0; i < n; i++)
    CHECK(seen[i] == i + 1);
  add<<<(n + 255) / 256, 256>>>(memory, n, 100);
  HIP(hipMemset(other, 0x11, 4096));
  HIP(hipDeviceSynchronize());
  send(out, "x", 1);
  char go;
  receive(in, &go, 1); // the exporter has freed both
  add<<<(n + 255) / 256, 256>>>(memory, n, 1);
  seen = to_host(memory, n);
  for (int i = 0; i < n; i++)
    CHECK(seen[i] == i + 1102);
  HIP(hipIpcCloseMemHandle(memory));
  HIP(hipIpcCloseMemHandle(other));
  CHECK(open_handle((void **)&again, handles.memory) != hipSuccess);
  hipIpcMemHandle_t forged = handles.memory;
  ((char *)&forged)[8] ^= 1;
  CHECK(open_handle((void **)&again, forged) != hipSuccess);
  std::memset(&forged, 0xff, 32); // the runtime's part: HIP 5.7 ends itself when its own is wrong
  CHECK(open_handle((void **)&again, forged) != hipSuccess);
  HIP(hipEventDestroy(event));
  send(out, "x", 1);
  return 0;
}

static void exporter(int in, int out)
{
  std::vector<int> values(n);
  for (int i = 0; i < n; i++)
    values[i] = i;
  int *memory = to_device(values), *other = to_device(values);
  Handles handles = {}, second = {};
  HIP(hipIpcGetMemHandle(&handles.memory, memory));
  CHECK(to_host(memory, n) == values); // what was there, is
  HIP(hipIpcGetMemHandle(&handles.other, other));
  HIP(hipIpcGetMemHandle(&second.memory, memory));
  CHECK(std::memcmp(&second.memory, &handles.memory, sizeof(second.memory)) == 0);
  hipEvent_t event;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming | hipEventInterprocess));
  add<<<(n + 255) / 256, 256>>>(memory, n, 1);
  HIP(hipEventRecord(event, nullptr));
  HIP(hipIpcGetEventHandle(&handles.event, event));
  send(out, &handles, sizeof(handles));
  char done;
  receive(in, &done, 1);
  add<<<(n + 255) / 256, 256>>>(memory, n, 1000);
  std::vector<int> seen = to_host(memory, n);
  for (int i = 0; i < n; i++)
    CHECK(seen[i] == i + 1101);
  CHECK(to_host(other, 1)[0] == 0x11111111);
  HIP(hipFree(memory));
  HIP(hipFree(other));
  send(out, "x", 1);
  receive(in, &done, 1);
  HIP(hipEventDestroy(event));
}

int main()
{
  int there[2], back[2];
  CHECK(pipe(there) == 0 && pipe(back) == 0);
  pid_t child = fork(); // before anything of HIP
  CHECK(child >= 0);
  if (child == 0) {
    close(there[1]);
    close(back[0]);
    std::exit(importer(there[0], back[1]));
  }
  close(there[0]);
  close(back[1]);
  exporter(back[0], there[1]);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  std::puts("ok");
}

// fork(): before anything was used a child may use devices, afterwards it is told that it cannot, and the parent goes on.
#include "show.h"

#include <rawhal/hiplaunch.h>

#include <sys/wait.h>
#include <unistd.h>

__global__ void set(int *out, int to)
{
  *out = to;
}

static int work(int value)
{
  int *out = to_device(std::vector<int>(1));
  set<<<1, 1>>>(out, value);
  return to_host(out, 1)[0];
}

// What `child` prints and returns, before the parent goes on. It ends as programs do, with destructors.
template <typename F> void in_child(F child)
{
  std::fflush(stdout);
  pid_t pid = fork();
  if (pid == 0)
    std::exit(child());
  int status = -1;
  waitpid(pid, &status, 0);
  std::printf("child %d\n", status);
}

int main()
{
  in_child([] { return work(7); });
  std::printf("%d\n", work(8));
  in_child([] {
    int *none = nullptr;
    hipError_t error = hipMalloc(&none, 4);
    std::printf("%s: %s\n", hipGetErrorName(error), hipRawhalLastMessage());
    std::printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
    return 3;
  });
  std::printf("%d\n", work(9));
}

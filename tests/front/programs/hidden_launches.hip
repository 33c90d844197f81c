// Kernels that no function of HIP's is called for: those of graphs, and HIP's own.
#include <vector>

#include "../../hip/programs/check.h"

enum { DIRECT = 100, NODES = 5, GRAPHS = 20, FILLS = 30, COUNT = 1024 };

__global__ void increment(unsigned *data)
{
  data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main()
{
  unsigned *data, *filled, host[COUNT];
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t ready;
  HIP(hipMalloc(&data, sizeof(host)));
  HIP(hipMalloc(&filled, sizeof(host)));
  HIP(hipStreamCreate(&stream));
  HIP(hipMemcpy(data, std::vector<unsigned>(COUNT).data(), sizeof(host), hipMemcpyHostToDevice));
  for (int i = 0; i < DIRECT; ++i)
    increment<<<COUNT / 64, 64, 0, stream>>>(data);
  HIP(hipStreamSynchronize(stream));
  HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  for (int i = 0; i < NODES; ++i)
    increment<<<COUNT / 64, 64, 0, stream>>>(data);
  HIP(hipStreamEndCapture(stream, &graph));
  HIP(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < GRAPHS; ++i)
    HIP(hipGraphLaunch(ready, stream));
  HIP(hipStreamSynchronize(stream));
  for (int i = 0; i < FILLS; ++i)
    HIP(hipMemset(filled, i, sizeof(host)));
  HIP(hipMemcpy(host, data, sizeof(host), hipMemcpyDeviceToHost));
  for (unsigned value : host)
    if (value != DIRECT + NODES * GRAPHS)
      return std::printf("%u\n", value), 1;
  std::printf("%d kernels of the program, %d fills\n", DIRECT + NODES * GRAPHS, FILLS);
}

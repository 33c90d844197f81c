#include "hiplaunch/memory/memory.h"

/* Which devices reach another's memory: what a device has allocated, and what it will. */

static hipError_t find_pair(int ordinal, int peer_ordinal, device_t **device, device_t **peer)
{
  hipError_t status = device_at(ordinal, device);
  return status != hipSuccess ? status : device_at(peer_ordinal, peer);
}

hipError_t hipDeviceCanAccessPeer(int *can, int ordinal, int peer_ordinal)
{
  device_t *device, *peer;
  if (!can)
    return fail(hipErrorInvalidValue, "can is NULL");
  *can = 0;
  hipError_t status = find_pair(ordinal, peer_ordinal, &device, &peer);
  if (status == hipSuccess && device != peer)
    *can = rawhal_device_can_access(device->device, peer->device);
  return status;
}

/* The calling thread's device, and the one whose memory it is to reach. */
static hipError_t find_current(int peer_ordinal, device_t **device, device_t **peer)
{
  hipError_t status = device_current(device);
  if (status == hipSuccess)
    status = device_at(peer_ordinal, peer);
  if (status == hipSuccess && *device == *peer)
    return fail(hipErrorInvalidDevice, "device %d is no peer of its own", peer_ordinal);
  return status;
}

hipError_t hipDeviceEnablePeerAccess(int peer_ordinal, unsigned flags)
{
  device_t *device, *peer;
  if (flags)
    return fail(hipErrorInvalidValue, "unknown flags 0x%x", flags);
  hipError_t status = find_current(peer_ordinal, &device, &peer);
  if (status != hipSuccess)
    return status;
  if (!rawhal_device_can_access(device->device, peer->device))
    return fail(hipErrorPeerAccessUnsupported, "device %d cannot reach the memory of device %d",
                device->ordinal, peer->ordinal);
  return memory_open_to(peer, device);
}

/* Memory that the device could reach stays so: only what is allocated from now on is not. */
hipError_t hipDeviceDisablePeerAccess(int peer_ordinal)
{
  device_t *device, *peer;
  hipError_t status = find_current(peer_ordinal, &device, &peer);
  return status != hipSuccess ? status : memory_close_to(peer, device);
}

/* rawhal/rawhal.h: all of rawhal. */
#ifndef RAWHAL_RAWHAL_H
#define RAWHAL_RAWHAL_H

#include <rawhal/allocator.h>
#include <rawhal/builder.h>
#include <rawhal/container.h>
#include <rawhal/events.h>
#include <rawhal/graph.h>
#include <rawhal/hal.h>
#include <rawhal/hsaco.h>
#include <rawhal/kernarg.h>
#include <rawhal/library.h>
#include <rawhal/limit.h>
#include <rawhal/pool.h>
#include <rawhal/probe.h>
#include <rawhal/probe_records.h>
#include <rawhal/process.h>
#include <rawhal/queue.h>
#include <rawhal/recorder.h>
#include <rawhal/reservation.h>
#include <rawhal/semaphore.h>
#include <rawhal/services.h>
#include <rawhal/status.h>
#include <rawhal/target.h>
#include <rawhal/tensile.h>
#include <rawhal/transfer.h>
#include <rawhal/triton.h>
#include <rawhal/version.h>

#endif

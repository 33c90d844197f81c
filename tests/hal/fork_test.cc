// A child of fork() gets clean errors for its parent's queues, and the parent goes on.
#include "device_test.h"

#include <sys/wait.h>
#include <unistd.h>

namespace {

class Fork : public DeviceTest {};

TEST_F(Fork, AChildsQueuesAreLostTheParentsGoOn)
{
  rawhal_buffer_t *out = buffer(4096);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(1u).add(1u).add(42u);
  rawhal_dispatch_t dispatch =
      dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), 1, 1, blob);
  rawhal_queue_t *on = queue();
  ASSERT_OK(run(on, dispatch));
  rawhal_ticket_t last = rawhal_queue_info(on).last_ticket;
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) { // no assertions here: the answer is the exit code
    alarm(20);
    int wrong = 0;
    rawhal_ticket_t ticket = 7;
    wrong |= rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error) !=
             RAWHAL_DEVICE_LOST;
    wrong |= (ticket != 0 || !strstr(error.message, "fork()")) << 1;
    wrong |= (rawhal_queue_wait(on, last, RAWHAL_FOREVER, &error) != RAWHAL_DEVICE_LOST) << 2;
    wrong |= (rawhal_queue_info(on).status != RAWHAL_DEVICE_LOST) << 3;
    rawhal_queue_destroy(on);
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_OK(run(on, dispatch));
  EXPECT_EQ(download<uint32_t>(out, 1)[0], 42u);
}

} // namespace

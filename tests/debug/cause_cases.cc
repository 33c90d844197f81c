#include "tests/debug/cause_cases.h"

namespace debug_test {
namespace {

void Kind(World &world, rawhal_fault_kind_t kind, uint64_t address = 0)
{
  world.fault.kind = kind;
  world.fault.address = address;
}

// A kernel of (list, n), where `list` is a structure of three pointers by value.
void Structure(World &world)
{
  world.NewKernel()->Arg("list", 0, 24).Arg("n", 24, 4);
  world.Launch(0, {world.At(0), world.At(1), world.At(2), 1024}, 1);
}

// A kernel of (table, n), where `table` points to pointers.
void Table(World &world, const std::vector<uint64_t> &words)
{
  world.NewKernel()->Pointer("table", 0).Arg("n", 8, 4);
  world.Buffer(4096);
  world.Write(3, words);
  world.Launch(0, {world.At(3), 1024}, 1);
}

// A kernel of (in, out), whose first buffer gets `small` bytes.
void Reduce(World &world, uint64_t small, uint64_t large)
{
  world.NewKernel()->Pointer("in", 0).Pointer("out", 8);
  world.allocations[0].size = small;
  world.allocations[1].size = large;
  world.Launch(0, {world.At(0), world.At(1)}, 1);
  world.fault.group[0] = 0;
  world.fault.access = RAWHAL_FAULT_ACCESS_READ;
}

const std::vector<Case> all = {
    // ---- Bounds ----
    {"OneElementPastTheEnd", [](World &w) { w.fault.address = w.At(2, 4096); },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 2, 0,
     "one element past the end of argument 2 'b' (4096 bytes, offset 4096)"},
    {"SomeElementsPastTheEnd", [](World &w) { w.fault.address = w.At(2, 4108); },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 2, 0, "4 elements past the end of argument 2 'b'"},
    {"AcrossTheEnd", [](World &w) { w.fault.address = w.At(1, 4094); }, RAWHAL_CAUSE_OUT_OF_BOUNDS,
     1, 0, "2 bytes past the end of argument 1 'a'"},
    {"FarPastTheEnd", [](World &w) { w.fault.address = w.At(1, 4096 + (8 << 20)); },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "8388608 bytes past the end of argument 1 'a'"},
    {"AnIndexInMemoryTellsWhoseItIs", // c[i] = a[index[i]]
     [](World &w) {
       w.Write(2, {1, 2, 5'000'000ull << 32 | 7});
       w.fault.access = RAWHAL_FAULT_ACCESS_READ;
       w.fault.address = w.At(1, 20'000'000);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0,
     "its index 5000000 stands at byte 20 of the memory of "
     "argument 2 'b'"},
    {"ANegativeIndexInMemory",
     [](World &w) {
       w.Write(2, {1, 2, static_cast<uint32_t>(-300'000)});
       w.fault.address = w.At(1, -1'200'000);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "300000 elements before the start of argument 1 'a'"},
    {"AnIndexThatLostItsSign", // a[-1u]
     [](World &w) {
       w.Write(2, {UINT64_MAX});
       w.fault.address = w.At(1, 4 * 0xffffffffll);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0,
     "its index 4294967295 stands at byte 0 of the memory of "
     "argument 2 'b'"},
    {"AnIndexAmongTheArguments",
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1), w.At(2), 100'000'000});
       w.fault.address = w.At(1, 400'000'000);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "its index 100000000 is argument 3 'n'"},
    {"BeforeTheStart", [](World &w) { w.fault.address = w.At(0, -4); }, RAWHAL_CAUSE_OUT_OF_BOUNDS,
     0, 0, "one element before the start of argument 0 'c' (4096 bytes, offset -4)"},
    {"TheLabelOfTheBuffer",
     [](World &w) {
       snprintf(w.allocations[2].label, sizeof(w.allocations[2].label), "weights");
       w.fault.address = w.At(2, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 2, 0, "(buffer 'weights', 4096 bytes, offset 4096)"},
    {"AdjacentBuffers", // a lies right behind c
     [](World &w) {
       w.allocations[1].base = w.At(0, 4096);
       w.Launch(0, {w.At(0), w.At(1), w.At(2), 1024});
       w.fault.address = w.At(1, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "one element past the end of argument 1 'a'",
     "argument 0 'c'"},
    {"BetweenTwoBuffersTheNearestCounts",
     [](World &w) {
       w.allocations[1].base = w.At(0, 3 * 4096);
       w.Launch(0, {w.At(0), w.At(1), w.At(2), 1024});
       w.fault.address = w.At(1, -8);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "2 elements before the start of argument 1 'a'",
     "past the end of argument 0 'c'"},
    {"PastTheEndOfWhatNoArgumentNames",
     [](World &w) {
       w.Buffer(64, "other");
       w.fault.address = w.At(3, 64);
       for (size_t i = 0; i < 3; ++i)
         w.allocations[i].base -= 1ull << 40;
       w.Launch(0, {w.At(0), w.At(1), w.At(2), 1024});
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, kNone, 0,
     "one element past the end of memory to which no argument points (buffer 'other'"},
    {"APointerIntoTheMiddle",
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1), w.At(2, 2048), 1024});
       w.fault.address = w.At(2, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 2, 0, "one element past the end of argument 2 'b'"},

    // ---- Freed ----
    {"FreedInFlight",
     [](World &w) {
       w.Free(2, 120);
       w.fault.address = w.At(2, 16);
     },
     RAWHAL_CAUSE_FREED, 2, 0,
     "argument 2 'b' points to memory that was freed 120 us ago, after ticket 41 was submitted"},
    {"FreedBefore",
     [](World &w) {
       w.Free(1, 5000);
       w.fault.address = w.At(1);
     },
     RAWHAL_CAUSE_FREED, 1, 0,
     "argument 1 'a' points to memory that was freed 5 ms ago, before ticket 41 was submitted"},
    {"FreedAndGivenAwayAgain", // a smaller buffer is there now, made after the launch
     [](World &w) {
       w.allocations[2].size = 8192;
       w.Free(2, 120);
       w.Buffer(4096).base = w.At(2);
       w.allocations[3].made_at = kNow - 110 * kMicrosecond;
       w.fault.address = w.At(2, 5000);
     },
     RAWHAL_CAUSE_FREED, 2, 0, "its address has been given to other memory since"},
    {"GivenAwayAgainBeforeTheLaunch", // the pointer is of the new buffer, and goes past its end
     [](World &w) {
       w.allocations[2].size = 8192;
       w.Free(2, 9000);
       w.Buffer(4096).base = w.At(2);
       w.allocations[3].made_at = kNow - 8000 * kMicrosecond;
       w.fault.address = w.At(2, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 2, 0, "one element past the end of argument 2 'b' (4096 bytes",
     "was freed 9 ms ago"},
    {"OfSeveralFreedTheLatest",
     [](World &w) {
       w.Free(2, 9000);
       w.Buffer(4096).base = w.At(2);
       w.Free(3, 150);
       w.fault.address = w.At(2);
     },
     RAWHAL_CAUSE_FREED, 2, 0, "freed 150 us ago"},
    {"PastTheEndOfFreedMemory",
     [](World &w) {
       w.Free(2, 120);
       w.fault.address = w.At(2, 4096);
     },
     RAWHAL_CAUSE_FREED, 2, 0, "freed 120 us ago"},
    {"FreedAndNoArgumentPointsThere",
     [](World &w) {
       w.Buffer(4096);
       w.Free(3, 30);
       w.fault.address = w.At(3, 40);
     },
     RAWHAL_CAUSE_FREED, kNone, 0,
     "memory that was freed 30 us ago (4096 bytes, offset 40), to which no argument points"},

    // ---- What may not be accessed ----
    {"AnotherDevicesMemory",
     [](World &w) {
       w.allocations[1].reachable = false;
       w.allocations[1].owner = kDevice + 1;
       Kind(w, RAWHAL_FAULT_NO_ACCESS, w.At(1, 128));
     },
     RAWHAL_CAUSE_NO_ACCESS, 1, 0, "argument 1 'a' points to memory of another device"},
    {"TheHostsMemory",
     [](World &w) {
       w.allocations[1].reachable = false;
       w.allocations[1].owner = 0;
       w.fault.address = w.At(1, 128);
     },
     RAWHAL_CAUSE_NO_ACCESS, 1, 0, "argument 1 'a' points to memory of the host"},
    {"NotGivenAndNoArgumentPointsThere",
     [](World &w) {
       w.Buffer(64).reachable = false;
       Kind(w, RAWHAL_FAULT_NO_ACCESS, w.At(3, 8));
     },
     RAWHAL_CAUSE_NO_ACCESS, kNone, 0, "no argument points to it"},
    {"ReadOnly",
     [](World &w) {
       w.allocations[0].read_only = true;
       Kind(w, RAWHAL_FAULT_READ_ONLY, w.At(0, 8));
     },
     RAWHAL_CAUSE_READ_ONLY, 0, 0, "argument 0 'c' points to memory that kernels may only read"},
    {"ReadOnlyMemoryThatNobodyKnows", // code
     [](World &w) {
       w.Launch(0, {0x123400000000, w.At(1), w.At(2), 1024});
       Kind(w, RAWHAL_FAULT_READ_ONLY, 0x123400000100);
     },
     RAWHAL_CAUSE_READ_ONLY, 0, 0, "argument 0 'c' is 0x123400000000, which is in memory"},
    {"NotGivenMemoryThatNobodyKnows",
     [](World &w) {
       w.Launch(0, {0x123400000000, w.At(1), w.At(2), 1024});
       Kind(w, RAWHAL_FAULT_NO_ACCESS, 0x123400000100);
     },
     RAWHAL_CAUSE_NO_ACCESS, 0, 0, "argument 0 'c' is 0x123400000000, which is in memory"},
    {"Unwritten", [](World &w) { Kind(w, RAWHAL_FAULT_UNWRITTEN, w.At(1, 128)); },
     RAWHAL_CAUSE_UNWRITTEN, 1, 0,
     "argument 1 'a' points to memory of which byte 128 has not been written"},
    {"MisalignedArgument",
     [](World &w) {
       w.Launch(0, {w.At(0, 2), w.At(1), w.At(2), 1024});
       Kind(w, RAWHAL_FAULT_MISALIGNED, w.At(0, 6));
     },
     RAWHAL_CAUSE_MISALIGNED, 0, 0, "no multiple of the access's 4"},
    {"MisalignedOffset", [](World &w) { Kind(w, RAWHAL_FAULT_MISALIGNED, w.At(0, 6)); },
     RAWHAL_CAUSE_MISALIGNED, 0, 0,
     "argument 0 'c' is aligned, but the kernel accesses 4 bytes at an offset of 6 from it"},

    // ---- Null, and none at all ----
    {"Null",
     [](World &w) {
       w.Launch(0, {w.At(0), 0, w.At(2), 1024});
       w.fault.address = 0;
     },
     RAWHAL_CAUSE_NULL, 1, 0, "argument 1 'a' is null, and null + 0 is accessed"},
    {"NullAndAnOffset",
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1), 0, 1024});
       w.fault.address = 24;
     },
     RAWHAL_CAUSE_NULL, 2, 0, "argument 2 'b' is null, and null + 24 is accessed"},
    {"BeforeNull",
     [](World &w) {
       w.Launch(0, {0, w.At(1), w.At(2), 1024});
       w.fault.address = static_cast<uint64_t>(-8);
     },
     RAWHAL_CAUSE_NULL, 0, 0, "argument 0 'c' is null, and null - 8 is accessed"},
    {"ANumberInPlaceOfAPointer",
     [](World &w) {
       w.Launch(0, {w.At(0), 24, w.At(2), 1024});
       w.fault.address = 28;
     },
     RAWHAL_CAUSE_NULL, 1, 0, "argument 1 'a' is 24, no address"},
    {"NullFromNoArgument", [](World &w) { w.fault.address = 24; }, RAWHAL_CAUSE_NULL, kNone, 0,
     "null + 24 is accessed: a pointer in memory, or one that the kernel computes"},
    {"NullInAStructureIsLessThanSure", // a zero there may be anything
     [](World &w) {
       Structure(w);
       w.Launch(0, {w.At(0), 0, w.At(2), 1024}, 1);
       w.fault.address = 24;
     },
     RAWHAL_CAUSE_NULL, 0, 1, "the pointer at byte 8 of argument 0 'list' is null",
     "no pointer argument is null"},
    {"ANumberInPlaceOfAPointerOfAStructure", // its members are swapped
     [](World &w) {
       Structure(w);
       w.Launch(0, {w.At(0), 64, w.At(2), 1024}, 1);
       w.fault.address = 64;
     },
     RAWHAL_CAUSE_NULL, 0, 1, "the pointer at byte 8 of argument 0 'list' is 64, no address"},
    {"NullAndTheOffsetOfAMemberIsNoNumberOfAStructure",
     [](World &w) {
       Structure(w);
       w.Launch(0, {w.At(0), 8, w.At(2), 1024}, 1);
       w.fault.address = 8;
     },
     RAWHAL_CAUSE_NULL, kNone, 0, "null + 8 is accessed: a pointer in memory"},
    {"NullOfAHiddenArgument",
     [](World &w) {
       w.NewKernel()->Pointer("out", 0).Hidden(RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, 8, 8);
       w.Launch(0, {w.At(0), 0}, 1);
       w.fault.address = 0;
     },
     RAWHAL_CAUSE_NULL, 1, 0, "hidden argument 1 'hidden_hostcall_buffer' is null"},
    {"Wild",
     [](World &w) {
       w.Launch(0, {w.At(0), 0x123400000000, w.At(2), 1024});
       w.fault.address = 0x123400000010;
     },
     RAWHAL_CAUSE_WILD, 1, 0,
     "argument 1 'a' is 0x123400000000, where no known memory is, nor was lately"},
    {"APointerRightBehindAPool", // the last part of a pool, and one more
     [](World &w) {
       w.Launch(0, {w.At(2, 4096), w.At(1), w.At(2), 1024});
       w.fault.address = w.At(2, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0, 0,
     "argument 0 'c' itself points just past the end of memory that it may have been meant to "
     "point into (4096 bytes, offset 4096)"},
    {"APointerRightBeforeAPool",
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1, -64), w.At(2), 1024});
       w.fault.address = w.At(1, -64);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "argument 1 'a' itself points 64 bytes before the start of"},
    {"AnAddressFromNowhere", [](World &w) { w.fault.address = 0x123400000010; },
     RAWHAL_CAUSE_UNKNOWN, kNone, 0,
     "no memory is there, nor was lately, and no argument leads there"},

    // ---- Arguments that are not the kernel's ----
    {"SwappedByTheirLabels",
     [](World &w) {
       snprintf(w.allocations[1].label, 32, "b");
       snprintf(w.allocations[2].label, 32, "a");
       w.allocations[2].size = 8192;
       w.fault.address = w.At(1, 4096);
     },
     RAWHAL_CAUSE_ARGUMENTS, 1, 0, "argument 1 'a' and argument 2 'b' may be swapped"},
    {"SwappedByTheirSizes", // the result's buffer where the input belongs
     [](World &w) {
       Reduce(w, 4, 4096);
       w.fault.address = w.At(0, 4);
     },
     RAWHAL_CAUSE_ARGUMENTS, 0, 0, "argument 0 'in' and argument 1 'out' may be swapped"},
    {"NotSwappedAsTheGridFits", // one work-item that goes one too far
     [](World &w) {
       Reduce(w, 64, 4096);
       w.dispatches[0].grid[0] = 1;
       w.fault.address = w.At(0, 64);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0, 0, "one element past the end of argument 0 'in'"},
    {"SwappedByWhatTheGridNeeds", // 1024 elements of 8 bytes, and as many of 4
     [](World &w) {
       Reduce(w, 4096, 8192);
       w.fault.bytes = 8;
       w.fault.group[0] = 8;
       w.fault.address = w.At(0, 4096);
     },
     RAWHAL_CAUSE_ARGUMENTS, 0, 0, "argument 0 'in' and argument 1 'out' may be swapped"},
    {"SwappedWithANumber",
     [](World &w) {
       w.NewKernel()->Pointer("out", 0).Arg("n", 8, 8);
       w.Launch(0, {1024, w.At(0)}, 1);
       w.fault.address = 1028;
     },
     RAWHAL_CAUSE_ARGUMENTS, 0, 0,
     "argument 0 'out' is 0x400, and argument 1 'n', which is no pointer, points to memory"},
    {"AnotherKernelsArguments", // the bytes of a dispatch before
     [](World &w) {
       w.NewKernel()->Arg("n", 0, 4).Pointer("x", 8).Pointer("y", 16).Pointer("z", 24);
       w.Launch(1, {99, w.At(0), w.At(1), w.At(2)}, 1).running = false;
       w.Launch(0, {99, w.At(0), w.At(1), w.At(2)});
       w.fault.address = 99;
     },
     RAWHAL_CAUSE_ARGUMENTS, 0, 0, "the arguments are those of kernel 'kernel1' of ticket 42"},
    {"AnotherKernelsArgumentsCutShort", // (data, index, value)
     [](World &w) {
       w.NewKernel()->Pointer("y", 0).Pointer("x", 8).Arg("scale", 16, 4).Arg("n", 20, 4);
       w.NewKernel()->Pointer("data", 0).Arg("index", 8, 8).Arg("value", 16, 4);
       w.Launch(1, {w.At(0), w.At(1), 64ull << 32 | 0x40000000}, 1).running = false;
       w.Launch(0, {w.At(0), w.At(1), 0x40000000}, 2).supplied = 20;
       w.fault.address = w.At(0) + 4 * w.At(1);
     },
     RAWHAL_CAUSE_ARGUMENTS, 1, 0, "the arguments are those of kernel 'kernel1'"},
    {"AnotherKernelsLayout", // other bytes
     [](World &w) {
       w.NewKernel()->Arg("n", 0, 8).Arg("m", 8, 8).Pointer("x", 16).Pointer("y", 24).Pointer("z",
                                                                                              32);
       w.Launch(1, {5, 6, w.At(0), w.At(1), w.At(2)}, 1).running = false;
       w.Launch(0, {0x5000, 0x6000, w.At(0), w.At(1), w.At(2)});
       w.fault.address = 0x5000;
     },
     RAWHAL_CAUSE_ARGUMENTS, 0, 0, "the arguments are those of kernel 'kernel1'"},
    {"ABlobThatIsShort",
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1), 0, 0}).supplied = 16;
       w.fault.address = 256;
     },
     RAWHAL_CAUSE_SHORT_BLOB, 2, 0,
     "argument 2 'b' was not supplied: the caller gave 16 bytes of arguments"},
    {"AnArgumentThatWasNotSupplied",
     [](World &w) {
       w.dispatches[0].kernarg_address = 0x5000;
       w.dispatches[0].supplied = 24;
       Kind(w, RAWHAL_FAULT_KERNARG, 0x5018);
     },
     RAWHAL_CAUSE_SHORT_BLOB, 3, 0,
     "argument 3 'n', at byte 24 of the arguments, was not supplied"},
    {"ArgumentsInFreedMemory",
     [](World &w) {
       w.Buffer(256);
       w.Free(3, 10);
       Kind(w, RAWHAL_FAULT_KERNARG, w.At(3));
     },
     RAWHAL_CAUSE_FREED, kNone, 0, "the memory of the kernel's arguments was freed"},
    {"ArgumentsInFreedMemoryOfWhichTheSegmentIsKnown",
     [](World &w) {
       w.Buffer(256);
       w.Free(3, 10);
       w.dispatches[0].kernarg_address = w.At(3);
       Kind(w, RAWHAL_FAULT_KERNARG, w.At(3));
     },
     RAWHAL_CAUSE_FREED, kNone, 0, "the memory of the kernel's arguments was freed"},
    {"ArgumentsInFreedMemoryByAnAddress",
     [](World &w) {
       w.Buffer(256);
       w.Free(3, 10);
       w.dispatches[0].kernarg_address = w.At(3);
       w.fault.address = w.At(3);
     },
     RAWHAL_CAUSE_FREED, kNone, 0, "the memory of the kernel's arguments was freed"},
    {"APointerBehindTheBlob", // of which there is no word
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1)}).supplied = 16;
       w.fault.address = w.At(1, 4096);
     },
     RAWHAL_CAUSE_SHORT_BLOB, 2, 0, "the caller gave 16 bytes of arguments, the kernel declares 28",
     "one element past the end of argument 1"},
    {"AnotherKernelsArgumentsOneByOne", // a launcher copied what this one has: half of a pointer
     [](World &w) {
       w.NewKernel()->Pointer("x", 0).Arg("first", 8, 4).Arg("n", 16, 8).Pointer("y", 24);
       w.NewKernel()->Arg("n", 0, 8).Pointer("u", 8).Pointer("v", 16).Pointer("w", 24);
       w.Launch(0, {0x4000000000000040, w.At(0) & 0xffffffff, w.At(1), w.At(2)}, 1);
       w.Launch(1, {0x4000000000000040, w.At(0), w.At(1), w.At(2)}, 2);
       w.fault.address = w.At(2, 4096);
     },
     RAWHAL_CAUSE_ARGUMENTS, 0, 0, "the arguments are those of kernel 'kernel2' of ticket 42"},
    {"ANumberInTheLastHalfWord", // all of it is there
     [](World &w) {
       w.NewKernel()->Pointer("out", 0).Arg("n", 8, 4);
       w.NewKernel()->Pointer("flag", 0);
       w.Launch(0, {w.At(0), 7}, 1).kernargs.size = 12;
       w.Launch(1, {w.At(1)}, 2);
       w.dispatches[0].workgroup[0] = 1024;
       w.fault.address = w.At(0, 4096);
       w.fault.group[0] = 0;
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0, 0, "one element past the end of argument 0 'out'"},
    {"TooLargeAGrid",
     [](World &w) {
       w.dispatches[0].grid[0] = 4096;
       w.fault.group[0] = 20;
       w.fault.address = w.At(2, 20 * 64 * 4);
     },
     RAWHAL_CAUSE_GRID, 2, 0,
     "4096 work-items of 4 bytes each need 16384 bytes, and argument 2 'b' has 4096"},
    {"TooLargeAGridOfTwoDimensions", // 32 x 64 in work-groups of 8 x 8
     [](World &w) {
       w.dispatches[0].grid[0] = 32, w.dispatches[0].grid[1] = 64;
       w.dispatches[0].workgroup[0] = w.dispatches[0].workgroup[1] = 8;
       w.fault.group[0] = 1, w.fault.group[1] = 5;
       w.fault.address = w.At(2, (42 * 32 + 10) * 4);
     },
     RAWHAL_CAUSE_GRID, 2, 0, "2048 work-items of 4 bytes each need 8192"},
    {"AGridThatIsOnlyRoundedUp", // 1000 elements, n = 1001
     [](World &w) {
       for (size_t i = 0; i < 3; ++i)
         w.allocations[i].size = 4000;
       w.dispatches[0].workgroup[0] = 256;
       w.fault.group[0] = 3;
       w.fault.address = w.At(0, 4000);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0, 0, "one element past the end of argument 0 'c'"},
    {"ACountThatIsTooLarge", // and a grid that it asks for
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1), w.At(2), 1500}).grid[0] = 1536;
       w.fault.group[0] = 20;
       w.fault.address = w.At(2, 20 * 64 * 4);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 2, 0,
     "argument 3 'n' is 1500, and it has 1024 elements of 4 bytes", "the grid's 1536 work-items"},
    {"ANumberThatIsNoCount", // 1.0f
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1), w.At(2), 0x3f800000}).grid[0] = 1536;
       w.fault.group[0] = 20;
       w.fault.address = w.At(2, 20 * 64 * 4);
     },
     RAWHAL_CAUSE_GRID, 2, 0, "the grid's 1536 work-items"},
    {"OneBufferThatIsTooSmallForTheGrid",
     [](World &w) {
       w.allocations[0].size = 2048;
       w.fault.group[0] = 8;
       w.fault.address = w.At(0, 2048);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0, 0, "one element past the end of argument 0 'c' (2048 bytes",
     "1024 work-items"},

    // ---- Pointers that are not arguments themselves ----
    {"FreedInAStructureByValue",
     [](World &w) {
       Structure(w);
       w.Free(1, 50);
       w.fault.address = w.At(1, 64);
     },
     RAWHAL_CAUSE_FREED, 0, 1,
     "the pointer at byte 8 of argument 0 'list' points to memory that was freed 50 us ago"},
    {"PastTheEndByAStructure",
     [](World &w) {
       Structure(w);
       w.fault.address = w.At(2, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0, 1,
     "one element past the end of what the pointer at byte 16 of argument 0 'list' points to"},
    {"AStructureBehindTheFirstWords", // as lists of tensors are
     [](World &w) {
       w.NewKernel()->Arg("list", 0, 2048);
       std::vector<uint64_t> words(256, 0x1234);
       words[200] = w.At(1);
       w.Launch(0, words, 1);
       w.Free(1, 50);
       w.fault.address = w.At(1, 64);
     },
     RAWHAL_CAUSE_FREED, 0, 1, "the pointer at byte 1600 of argument 0 'list'"},
    {"FreedInATable",
     [](World &w) {
       Table(w, {w.At(0), w.At(1), w.At(2)});
       w.Free(2, 70);
       w.fault.address = w.At(2, 12);
     },
     RAWHAL_CAUSE_FREED, 0, 1,
     "the pointer at byte 16 of the memory of argument 0 'table' points to memory that was freed "
     "70 us ago"},
    {"PastTheEndByATable",
     [](World &w) {
       Table(w, {w.At(0), w.At(1), w.At(2)});
       w.fault.address = w.At(1, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0, 1, "the pointer at byte 8 of the memory of argument 0 'table'"},
    {"WildInATable",
     [](World &w) {
       Table(w, {w.At(0), 0x123400000000});
       w.fault.address = 0x123400000010;
     },
     RAWHAL_CAUSE_WILD, 0, 1,
     "the pointer at byte 8 of the memory of argument 0 'table' is 0x123400000000"},
    {"TheNearestRowOfATable",
     [](World &w) {
       Table(w, {w.At(0), w.At(0, 1024), w.At(0, 3072), w.At(0, 2048), w.At(0, 512), w.At(0, 256)});
       w.fault.address = w.At(0, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 0, 1,
     "the pointer at byte 16 of the memory of argument 0 'table'"},
    {"ATableThatCannotBeRead",
     [](World &w) {
       Table(w, {w.At(0), w.At(1), w.At(2)});
       w.readable = false;
       w.fault.address = 0x123400000010;
     },
     RAWHAL_CAUSE_INDIRECT, 0, 1,
     "perhaps a pointer in memory that argument 0 'table' points to, which was not read"},
    {"BytesWithoutALayout",
     [](World &w) {
       w.dispatches[0].layout = nullptr;
       w.Free(1, 50);
       w.fault.address = w.At(1, 64);
     },
     RAWHAL_CAUSE_FREED, kNone, 0,
     "the pointer at byte 8 of the arguments points to memory that was freed"},
    {"APackedPointer",
     [](World &w) {
       w.NewKernel()->Arg("n", 0, 4).Pointer("p", 4);
       w.Launch(0, {w.At(1) << 32 | 5, w.At(1) >> 32}, 1);
       w.fault.address = w.At(1, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "one element past the end of argument 1 'p'"},

    // ---- What the kind says ----
    {"LdsBeyond",
     [](World &w) {
       w.dispatches[0].group_bytes = 64;
       Kind(w, RAWHAL_FAULT_LDS, 64);
     },
     RAWHAL_CAUSE_LDS, kNone, 0, "byte 64 of LDS, of which the work-group has 64"},
    {"LdsUnwritten",
     [](World &w) {
       w.dispatches[0].group_bytes = 64;
       Kind(w, RAWHAL_FAULT_LDS_UNWRITTEN, 60);
     },
     RAWHAL_CAUSE_LDS, kNone, 0, "byte 60 of the work-group's LDS was read before"},
    {"LdsRace", [](World &w) { Kind(w, RAWHAL_FAULT_LDS_RACE, 60); }, RAWHAL_CAUSE_LDS, kNone, 0,
     "another wave uses byte 60 of the work-group's LDS"},
    {"Scratch",
     [](World &w) {
       w.dispatches[0].private_bytes = 80;
       Kind(w, RAWHAL_FAULT_SCRATCH, 4096);
     },
     RAWHAL_CAUSE_SCRATCH, kNone, 0, "byte 4096 of the work-item's private segment, which has 80"},
    {"ScratchThatIsNotSetUp",
     [](World &w) {
       w.dispatches[0].private_bytes = 80;
       Kind(w, RAWHAL_FAULT_SCRATCH, 76);
     },
     RAWHAL_CAUSE_SCRATCH, kNone, 0, "to set FLAT_SCR to where it begins first"},
    {"Assertion", [](World &w) { Kind(w, RAWHAL_FAULT_TRAP, 2); }, RAWHAL_CAUSE_ABORT, kNone, 0,
     "assert(), abort() or __builtin_trap()"},
    {"Trap", [](World &w) { Kind(w, RAWHAL_FAULT_TRAP, 5); }, RAWHAL_CAUSE_ABORT, kNone, 0,
     "s_trap 5"},
    {"TimeLimit", [](World &w) { Kind(w, RAWHAL_FAULT_TIME_LIMIT); }, RAWHAL_CAUSE_ENDLESS, kNone,
     0, "a loop that does not end"},
    {"ABarrierThatOneWaveHasNotReached",
     [](World &w) {
       Kind(w, RAWHAL_FAULT_TIME_LIMIT);
       w.stand = {{3, 0, 1}, 0b1011, 0b100, 0, 0x7f40, 0x7f10, 1};
     },
     RAWHAL_CAUSE_DEPENDENCY, kNone, 0,
     "waves 0, 1, 3 of work-group 3,0,1 wait at s_barrier (0x7f40) for wave 2 at 0x7f10"},
    {"ABarrierOfManyWorkGroups",
     [](World &w) {
       Kind(w, RAWHAL_FAULT_TIME_LIMIT);
       w.fault.entry = 0x7f00;
       w.stand = {{}, 0xf0, 0b111, 0b1000, 0x7f40, 0x7f10, 8};
     },
     RAWHAL_CAUSE_DEPENDENCY, kNone, 0,
     "waves 4 to 7 of work-group 0,0,0 wait at s_barrier (entry+64) for waves 0 to 2 at entry+16; "
     "ended: wave 3; so do 7 more"},
    {"IllegalInstruction",
     [](World &w) {
       Kind(w, RAWHAL_FAULT_INSTRUCTION);
       w.fault.instruction[0] = 0xdeadbeef;
     },
     RAWHAL_CAUSE_INSTRUCTION, kNone, 0, "instruction 0xdeadbeef 0x00000000"},
    {"CodeUnloaded",
     [](World &w) {
       Kind(w, RAWHAL_FAULT_FETCH);
       w.Buffer(8192, "code");
       w.Free(3, 20);
       w.fault.pc = w.At(3, 256);
     },
     RAWHAL_CAUSE_CODE_UNLOADED, kNone, 0, "code that was unloaded 20 us ago"},
    {"TheKernelsCodeUnloadedBeforeItBegan",
     [](World &w) {
       Kind(w, RAWHAL_FAULT_PACKET);
       w.fault.known = RAWHAL_FAULT_KNOWS_DISPATCH;
       w.Buffer(8192).code = true;
       w.Free(3, 20);
       w.dispatches[0].kernel_object = w.At(3, 64);
     },
     RAWHAL_CAUSE_CODE_UNLOADED, kNone, 0, "the kernel's code was unloaded 20 us ago",
     "kernel_object"},
    {"TheKernelsCodeUnloadedByAnAddress",
     [](World &w) {
       w.Buffer(8192).code = true;
       w.Free(3, 20);
       w.dispatches[0].kernel_object = w.At(3, 64);
       w.OnlyAddress();
       w.fault.address = w.At(3);
     },
     RAWHAL_CAUSE_CODE_UNLOADED, kNone, 0, "ticket 41: the kernel's code was unloaded 20 us ago"},
    {"MemoryThatWasFreedWhereCodeIsNow", // its own
     [](World &w) {
       w.Free(1, 50);
       w.dispatches[0].kernel_object = w.At(1, 2048);
       w.fault.address = w.At(1);
     },
     RAWHAL_CAUSE_FREED, 1, 0, "argument 1 'a' points to memory that was freed 50 us ago"},
    {"AJumpToNull", [](World &w) { Kind(w, RAWHAL_FAULT_FETCH); }, RAWHAL_CAUSE_NULL, kNone, 0,
     "a jump to null + 0"},
    {"AJumpToNowhere",
     [](World &w) {
       Kind(w, RAWHAL_FAULT_FETCH);
       w.fault.pc = 0x123400000000;
     },
     RAWHAL_CAUSE_CODE_UNLOADED, kNone, 0, "no code is there"},
    {"APacketOfTooLargeGroups",
     [](World &w) {
       Kind(w, RAWHAL_FAULT_PACKET);
       w.dispatches[0].workgroup[0] = 2048;
     },
     RAWHAL_CAUSE_PACKET, kNone, 0, "work-groups of 2048x1x1"},
    {"APacket", [](World &w) { Kind(w, RAWHAL_FAULT_PACKET); }, RAWHAL_CAUSE_PACKET, kNone, 0,
     "a wrong kernel_object"},
    {"Resources",
     [](World &w) {
       Kind(w, RAWHAL_FAULT_RESOURCES);
       w.dispatches[0].group_bytes = 1 << 20;
     },
     RAWHAL_CAUSE_RESOURCES, kNone, 0, "with 1048576 bytes of LDS"},
    {"DeviceLost", [](World &w) { Kind(w, RAWHAL_FAULT_DEVICE_LOST); }, RAWHAL_CAUSE_DEVICE_LOST,
     kNone, 0, "the device has gone"},
    {"Destroyed", [](World &w) { Kind(w, RAWHAL_FAULT_DESTROYED); }, RAWHAL_CAUSE_DESTROYED, kNone,
     0, "destroyed the queue"},

    // ---- Only an address, or less ----
    {"PastTheEndOfOneOfThreeInFlight",
     [](World &w) {
       w.NewKernel()->Pointer("x", 0).Pointer("y", 8);
       w.Buffer(4096), w.Buffer(8192);
       w.Launch(1, {w.At(3), w.At(4)}, 1);
       w.Launch(2, {w.At(0), w.At(1), w.At(2), 1024});
       w.OnlyAddress();
       w.fault.address = w.At(4, 8192);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0,
     "kernel 'kernel1' of ticket 42: just past the end of argument 1 'y'"},
    {"FreedUnderOneOfThreeInFlight",
     [](World &w) {
       w.NewKernel()->Pointer("x", 0).Pointer("y", 8);
       w.Buffer(4096), w.Buffer(8192);
       w.Launch(1, {w.At(0), w.At(1)}, 1);
       w.Launch(2, {w.At(3), w.At(4)}, 1);
       w.Free(3, 100);
       w.OnlyAddress();
       w.fault.address = w.At(3);
     },
     RAWHAL_CAUSE_FREED, 0, 0,
     "kernel 'kernel1' of ticket 43: argument 0 'x' points to memory that was freed 100 us ago, "
     "after ticket 43"},
    {"OfThoseInFlightTheFirst", // all three point there
     [](World &w) {
       w.Launch(1, {w.At(0), w.At(1), w.At(2), 1024});
       w.Launch(2, {w.At(0), w.At(1), w.At(2), 1024});
       w.Free(1, 100);
       w.OnlyAddress();
       w.fault.address = w.At(1);
     },
     RAWHAL_CAUSE_FREED, 1, 0, "ticket 41", "ticket 43"},
    {"AllHaveEnded",
     [](World &w) {
       w.dispatches[0].running = false;
       w.Free(1, 100);
       w.OnlyAddress();
       w.fault.address = w.At(1);
     },
     RAWHAL_CAUSE_FREED, 1, 0, "ticket 41"},
    {"ThePageOfFreedMemory", // which begins within it
     [](World &w) {
       w.allocations[1].base += 256;
       w.Launch(0, {w.At(0), w.At(1), w.At(2), 1024});
       w.Free(1, 100);
       w.OnlyAddress();
       w.fault.address = w.At(1, -256);
     },
     RAWHAL_CAUSE_FREED, 1, 0, "argument 1 'a' points to memory that was freed 100 us ago"},
    {"NoDispatchIsKnown",
     [](World &w) {
       w.dispatches.clear();
       w.OnlyAddress();
       w.Free(1, 100);
       w.fault.address = w.At(1);
     },
     RAWHAL_CAUSE_FREED, kNone, 0, "memory that was freed 100 us ago"},
    {"NotEvenAnAddress", // the arguments alone
     [](World &w) {
       w.Free(2, 100);
       w.fault.known = RAWHAL_FAULT_KNOWS_DISPATCH;
     },
     RAWHAL_CAUSE_FREED, 2, 0, "argument 2 'b' points to memory that was freed 100 us ago"},

    // ---- Nothing is trusted ----
    {"ArgumentsThatEndEarly",
     [](World &w) {
       w.Launch(0, {w.At(0), w.At(1)});
       w.fault.address = w.At(1, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "one element past the end of argument 1 'a'"},
    {"ABufferThatWraps",
     [](World &w) {
       w.allocations[0].base = UINT64_MAX - 15;
       w.allocations[0].size = UINT64_MAX;
       w.fault.address = w.At(1, 4096);
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 1, 0, "one element past the end of argument 1 'a'"},
    {"FreedAtTheEndOfAllAddresses",
     [](World &w) {
       w.allocations[2].base = UINT64_MAX - 4095;
       w.allocations[2].size = 8192;
       w.Launch(0, {w.At(0), w.At(1), w.At(2), 1024});
       w.Free(2, 100);
       w.fault.address = w.At(2, 16);
     },
     RAWHAL_CAUSE_FREED, 2, 0, "(8192 bytes, offset 16)"},
    {"AGridThatWraps",
     [](World &w) {
       for (uint32_t &size : w.dispatches[0].grid)
         size = UINT32_MAX;
       w.fault.address = w.At(2, 4096);
       w.fault.group[0] = w.fault.group[1] = w.fault.group[2] = UINT32_MAX;
     },
     RAWHAL_CAUSE_OUT_OF_BOUNDS, 2, 0, "one element past the end of argument 2 'b'"},
    {"TimeThatRunsBackwards",
     [](World &w) {
       w.allocations[2].freed_at = kNow + 5;
       w.fault.address = w.At(2);
     },
     RAWHAL_CAUSE_FREED, 2, 0, "freed 0 ns ago"},
};

std::string All(const rawhal_fault_t &fault)
{
  std::string text;
  for (uint32_t i = 0; i < fault.cause_count; ++i)
    text += std::to_string(fault.causes[i].confidence) + " % " +
            rawhal_cause_kind_name(fault.causes[i].kind) + ": " + fault.causes[i].text + "\n";
  return text;
}

} // namespace

const std::vector<Case> &cases()
{
  return all;
}

} // namespace debug_test

#!/usr/bin/env python3
"""What tests/skips.py reads in a log of ctest's.

usage: tests/skips_test.py"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import skips  # noqa: E402

LOG = """Start testing
----------------------------------------------------------
1/4 Testing: hal.Peer.Copies
Output:
[ RUN      ] Peer.Copies
../tests/hal/peer_test.cc:12: Skipped
no corpus at /nowhere

[  SKIPPED ] Peer.Copies (0 ms)
Test Passed.
2/4 Testing: hal.Peer.Runs
[       OK ] Peer.Runs (0 ms)
Test Passed.
3/4 Testing: install.abi
skipped: abigail-tools is not installed
Test Passed.
4/4 Testing: hal.Peer.Silent
[  SKIPPED ] Peer.Silent (0 ms)
Test Passed.
5/5 Testing: front.evidence
skipped: ten minutes
Test Passed.
6/6 Testing: front.silent
Test Passed.
7/7 Testing: hal.Batch.First+3
[ RUN      ] Batch.First
[       OK ] Batch.First (0 ms)
[ RUN      ] Batch.Second
../tests/hal/batch_test.cc:12: Skipped
no corpus at /here

[  SKIPPED ] Batch.Second (0 ms)
[ RUN      ] Many/Batch.Third/0
[  SKIPPED ] Many/Batch.Third/0 (0 ms)
[ RUN      ] Batch.Fourth
../tests/hal/batch_test.cc:14: Skipped
what a batch lacks

[  SKIPPED ] Batch.Fourth (0 ms)
[  SKIPPED ] 3 tests, listed below:
[  SKIPPED ] Batch.Second
[  SKIPPED ] Many/Batch.Third/0
[  SKIPPED ] Batch.Fourth
Test Passed.
"""
OUTPUT = """          Start 1: hal.Peer.Copies
1/6 Test #1: hal.Peer.Copies ......................***Skipped   0.01 sec
2/6 Test #2: hal.Peer.Runs ........................   Passed    0.01 sec
3/6 Test #3: install.abi ..........................***Skipped   0.01 sec
4/6 Test #4: hal.Peer.Silent ......................***Skipped   0.01 sec
5/6 Test #5: front.evidence .......................***Skipped   0.01 sec
6/6 Test #6: front.silent .........................***Skipped   0.01 sec
7/7 Test #7: hal.Batch.First+3 ....................   Passed    0.01 sec
"""


class Skips(unittest.TestCase):
    def status(self, expected):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("log", "output", "expected")]
            for path, text in zip(paths, (LOG, OUTPUT, expected)):
                with open(path, "w") as file:
                    file.write(text)
            return skips.main(paths)

    def test_those_that_skipped_and_why(self):
        self.assertEqual(list(skips.skipped(LOG, OUTPUT)),
                         [("hal.Peer.Copies", "no corpus at /nowhere"), ("install.abi", "abigail-tools is not installed"),
                          ("hal.Peer.Silent", ""), ("front.evidence", "ten minutes"), ("front.silent", ""),
                          ("hal.Batch.Second", "no corpus at /here"), ("hal.Many/Batch.Third/0", ""), ("hal.Batch.Fourth", "what a batch lacks")])

    def test_an_expected_reason(self):
        self.assertEqual(self.status("# why\n^no corpus\nabigail\nminutes\na batch\n^$\n"), 0)

    def test_a_reason_that_nobody_expects(self):
        self.assertEqual(self.status("^no corpus\nminutes\na batch\n^$\n"), 1)

    def test_one_of_a_batch_that_nobody_expects(self):
        self.assertEqual(self.status("^no corpus\nabigail\nminutes\n^$\n"), 1)

    def test_one_without_a_reason(self):
        self.assertEqual(self.status("^no corpus\nabigail\nminutes\na batch\n"), 1)


if __name__ == "__main__":
    unittest.main()

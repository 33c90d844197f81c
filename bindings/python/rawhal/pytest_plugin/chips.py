"""All tests on several chips: pytest once more for each, and one JUnit file of all."""
from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from typing import Optional

import pytest

NO_TESTS = int(pytest.ExitCode.NO_TESTS_COLLECTED)


def run_each(config: pytest.Config, chips: list[str]) -> int:
    """Runs the same command for each chip, one after the other, and says at the end how each went.
    Returns the exit status: that of the first that failed."""
    junit: Optional[str] = config.getoption("xmlpath", default=None)
    statuses: dict[str, int] = {}
    files: list[str] = []
    for chip in chips:
        arguments = [sys.executable, "-m", "pytest", *map(str, config.invocation_params.args),
                     f"--rawhal-chip={chip}"]
        if junit:
            files.append(f"{junit}.{chip}")
            arguments += [f"--junitxml={files[-1]}"]
            if not config.getoption("junitprefix", default=None):
                arguments += [f"--junitprefix={chip}"]
        sys.stdout.flush()
        try:
            statuses[chip] = subprocess.run(arguments, cwd=config.invocation_params.dir,
                                            check=False).returncode
        except KeyboardInterrupt:  # which the child got, too
            statuses[chip] = int(pytest.ExitCode.INTERRUPTED)
        if statuses[chip] == pytest.ExitCode.INTERRUPTED:
            break
    if junit:
        merge(files, junit)
    for chip, status in statuses.items():
        print(f"rawhal: {chip}: {meaning(status)}")
    return verdict(list(statuses.values()))


def meaning(status: int) -> str:
    """An exit status of pytest's in words."""
    words = {0: "passed", 1: "failed", 2: "interrupted", 3: "internal error", 4: "usage error",
             NO_TESTS: "no tests"}
    return (words.get(status)
            or (f"ended by signal {-status}" if status < 0 else f"exit status {status}"))


def verdict(statuses: list[int]) -> int:
    """One exit status of several: the first that is not fine; no tests only if there were none
    anywhere."""
    wrong = [status for status in statuses if status not in (0, NO_TESTS)]
    if wrong:
        return wrong[0] if wrong[0] > 0 else int(pytest.ExitCode.TESTS_FAILED)
    return 0 if 0 in statuses else NO_TESTS


def merge(files: list[str], into: str) -> None:
    """The test suites of several JUnit files in one. A file that its run did not write is left
    out."""
    root = ElementTree.Element("testsuites")
    for name in files:
        try:
            part = ElementTree.parse(name).getroot()
            os.unlink(name)
        except (OSError, ElementTree.ParseError):
            continue
        root.extend([part] if part.tag == "testsuite" else list(part))
    ElementTree.ElementTree(root).write(into, encoding="utf-8", xml_declaration=True)

# SPDX-License-Identifier: BSD-2-Clause
"""What the rules of this folder share: the list of files, and TAP."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.chdir(ROOT)


def files(*suffixes):
    """Paths of the project, also those not committed yet; of these suffixes, if any are given."""
    # A clone may belong to somebody else than to who runs the tests.
    out = subprocess.run(['git', '-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others',
                          '--exclude-standard'], check=True, capture_output=True).stdout
    paths = [os.fsdecode(p) for p in out.split(b'\0') if p]
    return sorted(p for p in paths if os.path.isfile(p) and (not suffixes or p.endswith(suffixes)))


class Tap:
    """Prints a line a test, with what is wrong before it, and closes with the plan."""

    def __init__(self):
        self.count = self.failed = 0

    def test(self, name, problems):
        self.count += 1
        for problem in problems:
            print('#', problem)
        self.failed += bool(problems)
        print('not ok' if problems else 'ok', self.count, '-', name, flush=True)

    def skip(self, name, reason):
        self.count += 1
        print('ok', self.count, '-', name, '# SKIP', reason, flush=True)

    def end(self):
        print('1..%d' % self.count)
        sys.exit(self.failed > 0)

# SPDX-License-Identifier: BSD-2-Clause
"""An emulated machine, and what became of the TAP programs that it ran."""
import re
import subprocess
import time

TIME_LIMIT = 420  # seconds a machine, most of which is emulation


def boot(vmlinuz, initramfs, words, memory=1024, limit=TIME_LIMIT):
    """What the machine printed, and whether it powered off within @limit seconds."""
    # Without no_timer_check some boots under load end in a panic: the emulated timer comes late.
    # The clock starts in an hour that does not end meanwhile: reports of an hour are tested.
    command = ['qemu-system-x86_64', '-accel', 'tcg,thread=multi', '-cpu', 'max', '-m', str(memory), '-smp',
               '2', '-rtc', time.strftime('base=%Y-%m-%dT12:05:00'), '-nographic', '-no-reboot',
               '-nodefaults', '-serial', 'stdio', '-kernel', vmlinuz,
               '-initrd', initramfs, '-append',
               'console=ttyS0 quiet panic=-1 mitigations=off nokaslr no_timer_check ' + words]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as machine:
        try:
            said, _ = machine.communicate(timeout=limit)
            ended = True
        except subprocess.TimeoutExpired:
            machine.kill()
            said, _ = machine.communicate()
            ended = False
    return said.decode(errors='replace').replace('\r', ''), ended


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def fail(self, text):
        print('not ok -', text)
        self.failed += 1

    def add(self, program, said, status):
        """Counts the TAP of one program; one that died, or ran less than it planned, has failed."""
        results = re.findall(r'^(not ok|ok)\b(.*)$', said, re.M)
        skipped = sum(1 for word, rest in results if word == 'ok' and '# SKIP' in rest)
        failed = sum(1 for word, _ in results if word == 'not ok')
        plan = re.findall(r'^1\.\.(\d+)$', said, re.M)
        self.skipped += skipped
        self.passed += len(results) - skipped - failed
        self.failed += failed
        if [str(len(results))] != plan or (status != '0') != (failed > 0):
            self.fail('%s ended with status %s after %d of %s tests' %
                      (program, status, len(results), plan[0] if plan else '?'))


def read(said, totals):
    """Prints and counts what each program said. Returns which have ended."""
    ended = []
    found = re.search(r'@kernel (.*)$', said, re.M)  # behind the firmware's escapes
    print('# kernel', found.group(1) if found else '(did not start)')
    for program, text, status in re.findall(r'^@program (.*)\n((?:.*\n)*?)@status (\d+)$', said, re.M):
        print('#', program)
        print(text, end='')
        totals.add(program, text, status)
        ended.append(program)
    return ended


def expect_ended(name, wanted, said, ended, in_time, totals):
    """One of the programs @wanted that has not ended is a failure; the machine's last words are printed."""
    if len(ended) < len(wanted):
        print(''.join('# %s\n' % line for line in said.splitlines()[-30:]), end='')
        totals.fail('%s: %s has not ended%s' % (name, wanted[len(ended)], '' if in_time else ' in time'))

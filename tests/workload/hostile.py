#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hostile.py DIR: builds DIR/hostile, whose functions have names that try to break an output, and copies of it
under names of the same kind. Compilers refuse such names, so they are written over placeholders of the same
length in the string table. Prints one line a function: its address and its size, in hexadecimal."""
import os
import subprocess
import sys

NAMES = [
    b'<script>alert("x")</script>',
    b'</script><svg onload=alert(1)>',
    b']]><!-- & &amp; &#0; &#x1b; <b',
    b'a;b;c',
    b'line\nfeed\r\nand\ttab',
    b'bell\x07escape\x1b[2J\x1b]0;x\x07delete\x7fc1\x9b31m',
    b'no\xffutf\xc0\xaf8\xed\xa0\x80end\xe2\x82',
    b'count 18446744073709551616',
    b'  blanks  at  both  ends  ',
    b'\'single" `back` \\ \\n \\x41 \\u0041',
    b'%s%s%n%p{0}${x}#{x}$(x)',
    b'\xe2\x80\xaeright to left\xe2\x80\xac\xe2\x80\x8b',
    b'[truncated]', b'[unwind: no call]', b'[kernel threads]', b'all',
    b'constructor', b'__proto__', b'toString',
    b'user_[k]', b'_[i]', b'0x1234', b'-12', b'=1+1', b',,,', b'/etc/passwd',
    b'N' * 70000,
    b'_Z1f' + b'P' * 30000 + b'c',
    b'_ZN' + b'1aIXL' * 2000 + b'E',
    b'_RNvC1a' + b'NvC1a' * 2000,
    b'name@@VERSION', b'main',
]
FILES = [b'two\nlines', b'"quotes\' and <tags> &amp;', b'app (deleted)', b'[vdso]', b'no\xff\xfeutf8', b'a;b 7']

SOURCE = '''#include "work.h"
%s
static void (*const functions[])(long) = { %s };
OWN_FRAME static void call_one(int i)
{
	functions[i](30000);
	AFTER_CALL();
}
int main(int argc, char **argv)
{
	double end = end_of(argc, argv);
	for (int i = 0; now() < end; i = (i + 1) %% %d)
		call_one(i);
	return 0;
}
'''


def placeholder(i, length):
    # None is the end of another: linkers keep such strings once.
    return (chr(65 + i // 26) + chr(97 + i % 26)).ljust(length, '_')


def main(where):
    places = [placeholder(i, len(name)) for i, name in enumerate(NAMES)]
    functions = ''.join(
        'void f%d(long n) __asm__("%s");\nOWN_FRAME void f%d(long n) { SPIN(n); }\n' % (i, p, i)
        for i, p in enumerate(places))
    source = os.path.join(where, 'hostile.c')
    program = os.path.join(where, 'hostile')
    with open(source, 'w', encoding='ascii') as f:
        f.write(SOURCE % (functions, ', '.join('f%d' % i for i in range(len(places))), len(places)))
    subprocess.check_call(['gcc', '-O1', '-fno-omit-frame-pointer', '-mno-omit-leaf-frame-pointer', '-Itests/workload',
                           source, '-o', program])
    symbols = dict((line.split()[-1], line.split()[:2])
                   for line in subprocess.check_output(['nm', '-S', program], text=True).splitlines()
                   if len(line.split()) == 4)
    with open(program, 'rb') as f:
        data = bytearray(f.read())
    for place, name in sorted(zip(places, NAMES), key=lambda pair: -len(pair[1])):
        mark = b'\0' + place.encode() + b'\0'
        at = data.index(mark)
        assert data.find(mark, at + 1) < 0, place
        data[at + 1:at + 1 + len(name)] = name
    for path in [b'hostile'] + FILES:
        path = os.path.join(os.fsencode(where), path)
        with open(path, 'wb') as f:
            f.write(data)
        os.chmod(path, 0o755)
    for place in places:
        print(*symbols[place])


main(sys.argv[1])

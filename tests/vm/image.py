# SPDX-License-Identifier: BSD-2-Clause
"""An initramfs of busybox, programs at the paths that they have here, and the libraries that these need."""
import gzip
import os
import re
import shutil
import subprocess

BUSYBOX = '/bin/busybox'
TOOLS = ('sh', 'mount', 'cat', 'echo', 'grep', 'sed', 'awk', 'head', 'tail', 'mkdir', 'rm', 'sleep', 'sort',
         'poweroff', 'uname', 'seq', 'tar', 'switch_root')


def libraries(program):
    """Paths of the shared libraries, the loader among them; none of a static program."""
    said = subprocess.run(['ldd', program], capture_output=True, text=True, check=False).stdout
    return re.findall(r'(?:=> |^\t)(/\S+) \(0x', said, re.M)


def copy(source, root, path):
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy(source, target)


def add_busybox(root):
    copy(BUSYBOX, root, BUSYBOX)
    for tool in TOOLS:
        os.symlink('busybox', os.path.join(root, 'bin', tool))


def pack(root):
    """The bytes of an initramfs of the directory @root."""
    names = subprocess.run(['find', '.', '-print0'], cwd=root, capture_output=True, check=True).stdout
    return subprocess.run(['cpio', '-0', '-o', '-H', 'newc', '--quiet'], cwd=root, input=names,
                          capture_output=True, check=True).stdout


def build(directory, programs, scripts):
    """
    Makes directory/initramfs.gz. @programs, relative paths, stand under /hotleaf; so do @scripts, of which
    the one called init runs first.
    """
    root = os.path.join(directory, 'root')
    shutil.rmtree(root, ignore_errors=True)
    for name in ('proc', 'sys', 'dev', 'tmp', 'run', 'var/tmp'):
        os.makedirs(os.path.join(root, name))
    add_busybox(root)
    for path in programs:
        copy(path, root, '/hotleaf/' + path)
        for library in libraries(path):
            copy(library, root, library)
    for path in scripts:
        copy(path, root, '/' + os.path.basename(path) if path.endswith('/init') else '/hotleaf/' + path)
    image = os.path.join(directory, 'initramfs.gz')
    with gzip.open(image, 'wb', compresslevel=1) as f:
        f.write(pack(root))
    shutil.rmtree(root)
    return image

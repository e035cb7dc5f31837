# SPDX-License-Identifier: BSD-2-Clause
"""A machine whose first process is systemd, with hotleaf and its units installed."""
import glob
import os
import shutil
import subprocess
import tarfile

import image
import kernel

PACKAGES = 'systemd-sysv'
LEAN = ['--dpkgopt=path-exclude=/usr/share/%s/*' % name for name in ('doc', 'info', 'locale', 'man')]
UNITS = '/etc/systemd/system/'
WORKLOADS = ('load', 'jit')
SCRIPTS = ('systemd_run', 'systemd_test', 'loads')
# What the agent starts with.
SETTINGS = '[agent]\nwindow = 5\ncpu-max = 0\nmin-free = 0\n'


def fetch(suite, directory):
    """The path of a root of the Debian release @suite in @directory, a tar archive, made unless it is there."""
    path = os.path.join(directory, 'root.tar')
    if not os.path.exists(path):
        sources = ['deb %s %s%s main' % (uri, suite, end) for uri, end in kernel.mirrors()]
        kernel.output(['mmdebstrap', '--quiet', '--variant=essential', '--include=' + PACKAGES, *LEAN, suite,
                       path + '.new.tar', *sources])
        os.replace(path + '.new.tar', path)
    return path


def write(tree, path, text, mode=0o644):
    os.makedirs(os.path.dirname(tree + path), exist_ok=True)
    with open(tree + path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(tree + path, mode)


def add_libraries(tree, programs, root):
    """Libraries that @programs need and that the archive @root lacks."""
    with tarfile.open(root) as archive:
        there = {os.path.basename(name) for name in archive.getnames()}
    for program in programs:
        for library in image.libraries(program):
            if os.path.basename(library) not in there:
                image.copy(library, tree, '/usr/lib/x86_64-linux-gnu/' + os.path.basename(library))


def install(tree, build, root):
    """What comes on top of the archive @root, into the directory @tree: as an administrator would install it."""
    subprocess.run(['make', '--no-print-directory', '-s', 'O=' + build, 'DESTDIR=' + tree, 'install'], check=True)
    for path in glob.glob('tools/*.service') + glob.glob('tools/*.timer') + glob.glob('tests/vm/units/*'):
        image.copy(path, tree, UNITS + os.path.basename(path))
    os.makedirs(tree + UNITS + 'multi-user.target.wants')
    os.symlink('../hotleaf.service', tree + UNITS + 'multi-user.target.wants/hotleaf.service')
    workloads = [os.path.join(build, 'tests/workload', name) for name in WORKLOADS]
    for path in workloads:
        image.copy(path, tree, '/hotleaf/tests/workload/' + os.path.basename(path))
    for name in SCRIPTS:
        image.copy('tests/vm/' + name, tree, '/hotleaf/tests/vm/' + name)
    write(tree, '/etc/hotleaf/hotleaf.conf', SETTINGS)
    write(tree, '/etc/hostname', 'machine\n')
    write(tree, '/usr/sbin/sendmail', '#!/bin/sh\nexec cat >/dev/null\n', 0o755)
    add_libraries(tree, [os.path.join(build, 'hotleaf'), *workloads], root)


def build_image(directory, build, root):
    """Makes an initramfs in @directory: busybox, init_root, the archive @root and what is installed on top."""
    into, tree = os.path.join(directory, 'into'), os.path.join(directory, 'tree')
    for path in (into, tree):
        shutil.rmtree(path, ignore_errors=True)
    for name in ('proc', 'sys', 'dev', 'new'):
        os.makedirs(os.path.join(into, name))
    install(tree, build, root)
    image.add_busybox(into)
    image.copy('tests/vm/init_root', into, '/init')
    os.link(root, os.path.join(into, 'root.tar'))
    with tarfile.open(os.path.join(into, 'tree.tar'), 'w') as archive:
        archive.add(tree, '.')
    path = os.path.join(directory, 'root.cpio')
    with open(path, 'wb') as f:
        f.write(image.pack(into))
    for used in (into, tree):
        shutil.rmtree(used)
    return path

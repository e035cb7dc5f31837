# SPDX-License-Identifier: BSD-2-Clause
"""Kernels of other Debian releases, from the mirrors that this system's own apt uses."""
import os
import shutil
import subprocess
import tempfile

META = 'linux-image-cloud-amd64'


class Unavailable(Exception):
    """The kernel cannot be had here; the text says why."""


def output(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable('%s fails: %s' % (' '.join(command[:2]), said[-1] if said else '(silent)'))
    return done.stdout


def mirrors():
    """Lines 'URI SUITE' of what apt uses for this system's own release, for main and for security."""
    with open('/etc/os-release', encoding='utf-8') as f:
        fields = dict(line.rstrip().split('=', 1) for line in f if '=' in line)
    codename = fields.get('VERSION_CODENAME', '').strip('"')
    if fields.get('ID') != 'debian' or not codename:
        raise Unavailable('kernels come from Debian\'s packages, and this is not Debian')
    listed = output(['apt-get', 'indextargets', '--format', '$(REPO_URI) $(RELEASE) $(COMPONENT)',
                     'Created-By: Packages'])
    for line in sorted(set(listed.splitlines())):
        uri, release, component = line.split()
        if component == 'main' and release in (codename, codename + '-security'):
            yield uri, release[len(codename):]


def configure(directory, suite):
    """An apt of its own in @directory, which knows that suite only. Returns its environment."""
    for name in ('lists/partial', 'cache/archives/partial', 'parts'):
        os.makedirs(os.path.join(directory, name))
    sources = ['deb [arch=amd64] %s %s%s main\n' % (uri, suite, end) for uri, end in mirrors()]
    if not sources:
        raise Unavailable('apt has no sources of this release: run apt-get update first')
    with open(os.path.join(directory, 'sources.list'), 'w', encoding='utf-8') as f:
        f.writelines(sources)
    with open(os.path.join(directory, 'status'), 'w', encoding='utf-8'):
        pass
    settings = {'Dir::State': directory, 'Dir::State::lists': directory + '/lists',
                'Dir::State::status': directory + '/status', 'Dir::Cache': directory + '/cache',
                'Dir::Etc::sourcelist': directory + '/sources.list',
                'Dir::Etc::sourceparts': directory + '/parts', 'APT::Architecture': 'amd64',
                'APT::Architectures': 'amd64', 'APT::Sandbox::User': 'root', 'Acquire::Retries': '2',
                'Acquire::Languages': 'none'}
    with open(os.path.join(directory, 'apt.conf'), 'w', encoding='utf-8') as f:
        f.writelines('%s "%s";\n' % item for item in settings.items())
    return dict(os.environ, APT_CONFIG=os.path.join(directory, 'apt.conf'), LC_ALL='C')


def package_of(env):
    """The package with the kernel of this suite: names with versions in them go when they are superseded."""
    depends = output(['apt-cache', 'depends', '--important', META], env=env)
    for line in depends.splitlines():
        relation, _, name = line.strip().partition(': ')
        if relation == 'Depends' and name.startswith('linux-image-'):
            return name
    raise Unavailable('no package that %s depends on' % META)


def download(suite, path, scratch):
    env = configure(scratch, suite)
    output(['apt-get', 'update', '-qq', '-o', 'APT::Update::Error-Mode=any'], env=env)
    package = package_of(env)
    output(['apt-get', 'download', '-qq', package], env=env, cwd=scratch)
    archive = next(name for name in os.listdir(scratch) if name.endswith('.deb'))
    member = './boot/' + package.replace('linux-image-', 'vmlinuz-', 1)
    # A package holds all modules too.
    output(['sh', '-c', 'dpkg-deb --fsys-tarfile "$0" | tar -xf - "$1"', archive, member], cwd=scratch)
    shutil.move(os.path.join(scratch, member), path + '.new')
    os.replace(path + '.new', path)


def fetch(suite, directory):
    """The path of the suite's kernel in @directory, downloaded unless it is there."""
    path = os.path.join(directory, 'vmlinuz')
    if not os.path.exists(path):
        os.makedirs(directory, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            download(suite, path, scratch)
    return path

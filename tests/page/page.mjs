// SPDX-License-Identifier: BSD-2-Clause
// What both tests need: the parts of the page that know no DOM, as one module, and pages by the real writer.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const PARTS = ['decode', 'text', 'palette', 'model', 'compare', 'labels'];

export const source = (file) => readFileSync(join(root, 'user/render/page', file), 'utf8');

const module = PARTS.map((part) => source(`${part}.js`)).join('\n');
export const page = await import(`data:text/javascript,${encodeURIComponent(module)}`);

const directory = mkdtempSync(join(tmpdir(), 'hotleaf-page-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

const made = new Map();

// The path of the page that make_page writes for these arguments.
export function makePage(...words) {
  const key = words.join('-');
  if (!made.has(key)) {
    const program = resolve(root, process.env.O || 'build', 'tests/page/make_page');
    const file = join(directory, `${key}.html`);
    writeFileSync(file, execFileSync(program, words, { maxBuffer: 1 << 28 }));
    made.set(key, file);
  }
  return made.get(key);
}

export function dataOf(file) {
  return /<script id="data" type="text\/plain">([^<]*)<\/script>/.exec(readFileSync(file, 'utf8'))[1];
}

// The profile in a page, and its tree.
export async function readPage(file) {
  const profile = page.decode(await page.unpack(dataOf(file)));
  page.cleanProfile(profile);
  return { profile, model: page.buildModel(profile, profile.nodes.samples) };
}

// The node reached from the root of roots by these names.
export function find(model, ...names) {
  let node = 0;
  for (const name of names) {
    let child = node + 1;
    while (child < model.end[node] && page.nameOf(model, model.frame[child]) !== name)
      child = model.end[child];
    if (child >= model.end[node]) throw new Error(`no ${name} under node ${node}`);
    node = child;
  }
  return node;
}

#!/usr/bin/env node
// SPDX-License-Identifier: BSD-2-Clause
// The page without a browser: decoding, tree, layout, search, sums, text, colours.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { find, makePage, page, readPage, source } from './page.mjs';
import { finish, test } from './tap.mjs';

const small = await readPage(makePage('small'));
const m = small.model;
const IMUL = 'imul $0x3b9aca07,%rax,%rdx';
const LOAD = 'mov (%rdi),%rax';
const frameOf = (...names) => m.frame[find(m, ...names)];
const match = (pattern, options) => page.matchFrames(m, pattern, options);
const search = (pattern, zoom = 0, options = {}) =>
  page.searchNodes(m, match(pattern, options).frames, zoom);

// A tree given as rows of depth, frame, samples; kinds by frame.
function tree(rows, kinds = []) {
  const n = rows.length;
  const frames = 1 + rows.reduce((most, row) => Math.max(most, row[1]), 0);
  const profile = {
    strings: Array.from({ length: frames }, (_, i) => `f${i}`),
    meta: {},
    frames: {
      n: frames,
      kind: Uint8Array.from({ length: frames }, (_, f) => kinds[f] ?? page.KIND.USER),
      type: new Uint8Array(frames),
      name: Uint32Array.from({ length: frames }, (_, f) => f),
      module: new Uint32Array(frames),
      high: new Uint32Array(frames),
      low: new Uint32Array(frames),
      offset: new Float64Array(frames),
    },
    nodes: {
      n,
      depth: Int32Array.from(rows, (row) => row[0]),
      frame: Uint32Array.from(rows, (row) => row[1]),
    },
  };
  return page.buildModel(
    profile,
    Float64Array.from(rows, (row) => row[2]),
  );
}

function drawn(model, view) {
  const list = [];
  page.layout(
    model,
    { first: 0, last: Infinity, min: 0.5, instructions: true, zoom: 0, width: 1000, ...view },
    (node, x, w, row) => list.push({ node, x, w, row }),
  );
  return list;
}

test('what the writer wrote is what is read', () => {
  const { meta, frames, nodes } = small.profile;
  assert.equal(meta.host, 'web-03');
  assert.equal(meta.start, Date.UTC(2026, 10, 30, 12));
  assert.equal(meta.end - meta.start, 60000);
  assert.equal(meta.busy, 1.62);
  assert.equal(meta.costPrograms, 0.0009);
  assert.deepEqual(
    meta.losses.map((loss) => [loss.name, loss.count]),
    [
      ['stack cut', 7],
      ['stack map full', 0],
      ['no text', 2],
    ],
  );
  assert.deepEqual(meta.notes, ['no PMU: sampling by the CPU clock']);
  assert.equal(nodes.n, 15);
  const imul = frameOf('nginx', 'main', 'parse_header', IMUL);
  assert.equal(page.addressOf(m, imul), '0x13ad');
  assert.equal(page.offsetOf(m, imul), '+0x4d');
  assert.equal(small.profile.strings[frames.module[imul]], '/usr/sbin/nginx');
  const lock = frameOf('nginx', 'main', 'vfs_read', 'lock cmpxchg %rcx,(%rdi)');
  assert.equal(page.kindOf(m, lock), 'kernel instruction, locked');
  assert.equal(page.addressOf(m, lock), '0x20008');
  assert.equal(
    nodes.weight.reduce((a, b) => a + b),
    1000 * 10101010,
  );
});

test('truncated or foreign data is refused, not shown', async () => {
  assert.throws(() => page.decode(Uint8Array.of(1, 0)), /another version/);
  assert.throws(() => page.decode(Uint8Array.of(2, 0, 0, 0, 0, 0)), /too early|undefined/);
  await assert.rejects(page.unpack('AAAA'));
});

test('totals, places and ends', () => {
  const main = find(m, 'nginx', 'main');
  assert.equal(m.total[0], 1000);
  assert.equal(m.total[main], 1000);
  assert.equal(m.self[main], 50);
  assert.equal(m.total[find(m, 'nginx', 'main', 'recurse')], 300);
  assert.equal(m.end[0], 15);
  assert.equal(
    m.parent[find(m, 'nginx', 'main', 'recurse', 'recurse')],
    find(m, 'nginx', 'main', 'recurse'),
  );
  assert.equal(page.ownTotal(m, find(m, 'nginx', 'main', 'parse_header')), 400);
  for (let i = 1; i < m.n; i++) {
    const p = m.parent[i];
    assert.ok(m.start[i] >= m.start[p] && m.start[i] + m.total[i] <= m.start[p] + m.total[p]);
  }
});

test('a row tiles its parents: widths are shares', () => {
  const boxes = drawn(m, {});
  assert.equal(boxes.length, 15);
  const of = (node) => boxes.find((box) => box.node === node);
  assert.deepEqual(of(find(m, 'nginx', 'main', 'parse_header')), { node: 3, x: 0, w: 400, row: 3 });
  const recurse = of(find(m, 'nginx', 'main', 'recurse'));
  assert.equal(recurse.x, 400);
  assert.equal(recurse.w, 300);
});

test('the zoomed frame takes the width, its callers stand above it', () => {
  const zoom = find(m, 'nginx', 'main', 'recurse');
  const boxes = drawn(m, { zoom });
  assert.deepEqual(
    boxes.slice(0, 4).map((box) => [box.row, box.w]),
    [
      [2, 1000],
      [1, 1000],
      [0, 1000],
      [3, 1000],
    ],
  );
  assert.ok(boxes.every((box) => box.row < 3 || (box.node >= zoom && box.node < m.end[zoom])));
});

test('functions alone: leaves are not drawn, hit or found', () => {
  const boxes = drawn(m, { instructions: false });
  assert.ok(boxes.every((box) => !page.isLeaf(m, box.node)));
  assert.equal(page.rowCount(m, { zoom: 0, width: 1000, min: 1, instructions: true }), 7);
  assert.equal(page.rowCount(m, { zoom: 0, width: 1000, min: 1, instructions: false }), 6);
  assert.equal(
    page.nodeAt(m, { zoom: 0, width: 1000, instructions: true }, 10, 4),
    find(m, 'nginx', 'main', 'parse_header', IMUL),
  );
  assert.equal(page.nodeAt(m, { zoom: 0, width: 1000, instructions: false }, 10, 4), -1);
  assert.equal(search('imul').sum, 360);
  assert.equal(search('imul', 0, { instructions: false }).sum, 0);
});

test('every drawn box is hit where it is drawn', () => {
  for (const zoom of [0, find(m, 'nginx', 'main', 'recurse')])
    for (const box of drawn(m, { zoom }))
      assert.equal(
        page.nodeAt(m, { zoom, width: 1000, instructions: true }, box.x + box.w / 2, box.row),
        box.node,
      );
  assert.equal(
    page.nodeAt(m, { zoom: 0, width: 1000, instructions: true }, 990, 3),
    -1,
    'own samples of main lie right',
  );
});

test('search counts a match inside a match once', () => {
  assert.equal(search('^recurse$').sum, 300);
  assert.deepEqual(search('^recurse$').nodes, [find(m, 'nginx', 'main', 'recurse')]);
  assert.equal(search('recurse|parse').sum, 700);
  assert.equal(search('parse_header').sum, 500);
  assert.equal(search('mov|imul').sum, 500);
  assert.equal(search('.').sum, 1000);
  assert.equal(search('nothing').sum, 0);
});

test('search of the zoomed frame', () => {
  const zoom = find(m, 'nginx', 'main', 'recurse');
  assert.equal(search('parse_header', zoom).sum, 100);
  assert.equal(search('nginx', zoom).sum, 300, 'all of it lies under a match');
  assert.equal(search('vfs_read', zoom).sum, 0);
});

test('case, and text that is no regular expression', () => {
  assert.equal(search('PARSE').sum, 500);
  assert.equal(search('PARSE', 0, { sensitive: true }).sum, 0);
  assert.deepEqual([match('(%rdi').literal, search('(%rdi').sum], [true, 390]);
  assert.deepEqual([match('mov (%rdi),%rax').literal, search('mov (%rdi),%rax').sum], [true, 140]);
  assert.equal(match('parse').literal, false);
});

test('sums by frame count recursion once', () => {
  const { total, own, classes } = page.sumFrames(m, 0);
  const recurse = frameOf('nginx', 'main', 'recurse');
  const parse = frameOf('nginx', 'main', 'parse_header');
  assert.deepEqual([total[recurse], own[recurse]], [300, 200]);
  assert.deepEqual([total[parse], own[parse]], [500, 500]);
  assert.equal(total[frameOf('nginx', 'main', 'parse_header', IMUL)], 360);
  assert.deepEqual([...classes].slice(0, 7), [360, 140, 0, 200, 0, 0, 250]);
  assert.deepEqual(
    page.topFrames(own, (f) => m.frames.kind[f] !== page.KIND.INSN, 2),
    [parse, frameOf('nginx', 'main', 'vfs_read')],
  );
});

test('the instructions of a function over all callers', () => {
  const parse = frameOf('nginx', 'main', 'parse_header');
  const summary = page.functionSummary(m, parse);
  assert.deepEqual([summary.total, summary.own, summary.places], [500, 500, 3]);
  assert.equal(summary.insns.get(frameOf('nginx', 'main', 'parse_header', IMUL)), 360);
  assert.equal(summary.insns.get(frameOf('nginx', 'main', 'parse_header', LOAD)), 140);
  assert.deepEqual([...summary.callers.values()], [400, 100]);
  const recurse = page.functionSummary(m, frameOf('nginx', 'main', 'recurse'));
  assert.deepEqual(
    [recurse.total, recurse.own, recurse.places, [...recurse.callers.values()]],
    [300, 200, 2, [300]],
  );
});

test('labels say share and place, and drop what does not fit', () => {
  const node = find(m, 'nginx', 'main', 'parse_header', IMUL);
  assert.equal(page.label(m, node, 80), `${IMUL} · 75 % of parse_header · +0x4d`);
  assert.equal(page.label(m, node, 44), `${IMUL} · 75 % · +0x4d`);
  assert.equal(page.label(m, node, 35), `${IMUL} · 75 %`);
  assert.equal(page.label(m, node, 10), 'imul $0x3…');
  assert.equal(page.label(m, find(m, 'nginx', 'main', 'recurse'), 40), 'recurse  30 %');
  assert.equal(page.label(m, find(m, 'nginx', 'main', 'recurse'), 9), 'recurse');
});

test('a stack as text, leaf first', () => {
  assert.equal(
    page.stackText(m, find(m, 'nginx', 'main', 'parse_header', IMUL)),
    `${IMUL}  [/usr/sbin/nginx 0x13ad]\nparse_header  [/usr/sbin/nginx]\nmain  [/usr/sbin/nginx]\nnginx\n`,
  );
});

test('the keyboard moves along a row and past what is too thin', () => {
  const row = tree([
    [0, 0, 0],
    [1, 1, 500],
    [1, 2, 1],
    [1, 3, 400],
    [2, 4, 99],
  ]);
  assert.equal(page.neighbour(row, 1, 1, 0, true, 2), 3);
  assert.equal(page.neighbour(row, 3, -1, 0, true, 1), 2);
  assert.equal(page.neighbour(row, 3, 1, 0, true, 1), 3);
  assert.equal(page.largestChild(row, 0, true), 1);
  assert.equal(page.largestChild(row, 4, true), -1);
  assert.equal(page.zoomFor(row, 4, 0.5), 4);
  assert.equal(page.zoomFor(row, 4, 0.1), 3);
});

test('thin frames are slivers: emitted, but not what is under them', () => {
  const thin = tree([
    [0, 0, 0],
    [1, 1, 10000],
    [1, 2, 1],
    [2, 3, 1],
    [3, 4, 1],
  ]);
  assert.deepEqual(
    drawn(thin, { width: 100 }).map((box) => box.node),
    [0, 1, 2],
  );
  assert.equal(page.rowCount(thin, { zoom: 0, width: 100, min: 1, instructions: true }), 2);
});

test('30,000 deep and 200,000 wide do not overflow', () => {
  const deep = tree(Array.from({ length: 30000 }, (_, i) => [i, 1, i === 29999 ? 7 : 0]));
  assert.equal(deep.total[0], 7);
  assert.equal(drawn(deep, { first: 29990, last: 29995 }).length, 6);
  assert.equal(page.nodeAt(deep, { zoom: 0, width: 10, instructions: true }, 5, 29999), 29999);
  assert.equal(page.path(deep, 29999).length, 30000);
  assert.equal(page.searchNodes(deep, Uint8Array.of(0, 1), 0).sum, 7);
  assert.equal(page.functionSummary(deep, 1).total, 7);
  const wide = tree([[0, 0, 0], ...Array.from({ length: 200000 }, () => [1, 1, 1])]);
  assert.equal(page.searchNodes(wide, Uint8Array.of(0, 1), 0).nodes.length, 200000);
  assert.equal(page.nodeAt(wide, { zoom: 0, width: 200000, instructions: true }, 123456.5, 1), 123457);
});

test('a profile of depth 5,000 by the writer', async () => {
  const deep = await readPage(makePage('deep', '5000'));
  assert.equal(deep.model.n, 5003);
  assert.equal(deep.model.depth[5001], 5001);
  assert.equal(deep.model.total[0], 1000);
});

test('names from strangers are kept, cut and made visible', async () => {
  const hostile = await readPage(makePage('hostile'));
  const names = hostile.profile.strings;
  assert.ok(names.includes("</script><script>document.title='pwned'</script>"));
  assert.ok(names.includes('__proto__'));
  assert.ok(names.includes('new\\nline\\x0d\\n\\ttab\\x0bvt\\x0cff'));
  assert.ok(names.some((name) => name.startsWith('bidi \\u202egnp.exe\\u202c zero\\u200bwidth')));
  const long = names.filter((name) => name.startsWith('LLLL'));
  assert.equal(long.length, 2, 'two functions, though they are shown alike');
  assert.ok(long.every((name) => name.length < 4200 && name.endsWith('… (cut: 102400 bytes)')));
  assert.doesNotMatch(
    names.join(''),
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/,
  );
  assert.equal(hostile.model.total[0], 150);
});

test('invisible characters are spelt out', () => {
  assert.equal(
    page.visible('a\u202eb\u2066c\u200dd\ufeffe\u0007'),
    'a\\u202eb\\u2066c\\u200dd\\ufeffe\\u0007',
  );
  assert.equal(page.visible('\u{e0041}'), '\\u{e0041}');
  assert.equal(page.visible('naïve 名前 🔥 <b>'), 'naïve 名前 🔥 <b>');
});

test('long names keep the function', () => {
  const name =
    'std::vector<std::basic_string<char>, std::allocator<std::basic_string<char>>>::push_back(char const&)';
  assert.equal(page.shorten(name, 200), name);
  assert.equal(page.shorten(name, 40), 'std::vector<…>::push_back(…)');
  assert.equal(page.shorten(name, 26), 'std::vector<…>::push_back');
  assert.equal(page.shorten(name, 12), '…push_back');
  assert.equal(page.shorten(name, 6), '…push…');
  assert.equal(page.shorten('<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend', 20), '<…>::extend');
  assert.equal(page.shorten('ns::operator<<(std::ostream&, T const&)', 20), 'ns::operator<<(…)');
  assert.equal(page.shorten('F<int>::operator()(int) const', 26), 'F<…>::operator()(…) const');
  assert.equal(page.shorten('a<b(c::unbalanced_name_of_a_function', 12), 'a<b(c::unba…');
  assert.equal(page.shorten('abc', 2), '');
  assert.equal(page.cut('ab🔥cd', 4), 'ab…');
});

test('numbers', () => {
  assert.equal(page.percent(1, 3), '33.3 %');
  assert.equal(page.percent(999999, 1000000), '> 99.9 %');
  assert.equal(page.percent(1, 1e9), '< 0.001 %');
  assert.equal(page.percent(0, 0), '0 %');
  assert.equal(page.percent(5, 5), '100 %');
  assert.equal(page.count(1234567), '1,234,567');
  assert.equal(page.amount(1250000000, 'nanoseconds'), '1.25 s');
  assert.equal(page.amount(3.4e9, 'cycles'), '3.40 G cycles');
  assert.equal(page.hex(0xffffffff, 0x81000010), '0xffffffff81000010');
  assert.equal(page.duration(60000), '60 s');
  assert.equal(page.time(0), '1970-01-01 00:00:00 UTC');
});

const diffed = await readPage(makePage('diff'));

test('a comparison holds both profiles', () => {
  const { profile, model } = diffed;
  assert.equal(profile.diff.before.host, 'web-03');
  assert.equal(profile.diff.byTime, false);
  assert.deepEqual(profile.diff.due, [11880, 11880]);
  const how = page.comparison(profile, false);
  assert.deepEqual(how.samples, [1201, 1800]);
  const both = page.totals(model, profile);
  const at = (...names) => both.total.map((total) => total[find(model, 'nginx', 'main', ...names)]);
  assert.deepEqual(at('parse_header', IMUL), [301, 900]);
  assert.deepEqual(at('old_way'), [200, 0]);
  assert.deepEqual(at('new_way'), [0, 200]);
});

test('changes, as the text has them', () => {
  const { profile, model } = diffed;
  const how = page.comparison(profile, false);
  model.compare = { how, ...page.totals(model, profile) };
  const at = (...names) => page.changeAt(model, find(model, 'nginx', 'main', ...names));
  const hot = at('parse_header', IMUL);
  assert.equal(hot.noise, false);
  assert.equal(page.degree(hot), 'more');
  assert.equal(page.deltaText(how, hot.delta), '+24.94');
  assert.equal(page.relativeText(hot), '+100 %');
  assert.equal(page.degree(at('old_way')), 'gone');
  assert.equal(page.degree(at('new_way')), 'new');
  assert.equal(page.degree(page.changeOf(how, 100, 150)), 'same');
  assert.ok(Math.abs(page.changeOf({ trials: [100, 100], scale: [1, 1] }, 30, 50).z ** 2 - 8.4024) < 1e-3);
  // By time nothing has become less.
  const cpus = page.comparison(profile, true);
  assert.ok(Math.abs(page.changeOf(cpus, 100, 100).z) < 1e-6);
  assert.equal(page.valueText(cpus, page.changeOf(cpus, 0, 5940).values[1]), '1.000');
  const names = page
    .changedFrames(model, 0, (f) => profile.frames.kind[f] === page.KIND.USER, 10)
    .map((row) => page.nameOf(model, row.frame));
  // recurse has less of a larger whole.
  assert.deepEqual(names.sort(), ['new_way', 'old_way', 'parse_header', 'recurse']);
  const wide = page.widths(profile, how, 'both');
  assert.ok(Math.abs(wide[find(model, 'nginx', 'main', 'old_way')] - (200 * 1800) / 1201) < 1e-6);
  assert.equal(page.label(model, find(model, 'nginx', 'main', 'new_way'), 40), '+11.11 new_way');
  delete model.compare;
});

test('every colour has a contrast of 4.5 to its text', () => {
  for (const dark of [false, true]) {
    const colours = page.palette(dark);
    const pairs = [
      [colours.match, colours.matchText],
      [colours.other, colours.text],
      [colours.otherLeaf, colours.leafText],
    ];
    for (const name of Object.keys(page.DEGREE_NAMES)) pairs.push([colours.degree(name), colours.text]);
    for (let i = 0; i < page.CLASSES.length; i++) pairs.push([colours.leaf(i), colours.leafText]);
    for (let kind = 0; kind < 6; kind++)
      for (let i = 0; i < 300; i++) pairs.push([colours.kind(kind, `name${i}`), colours.text]);
    for (const [fill, text] of pairs)
      assert.ok(page.contrast(fill, text) >= 4.5, `${fill} ${text} ${page.contrast(fill, text)}`);
    assert.equal(colours.kind(2, 'main'), page.palette(dark).kind(2, 'main'));
    assert.equal(colours.leaf(200), colours.leaf(0), 'an unknown class is other');
  }
  const css = source('page.css');
  for (const part of css.split('prefers-color-scheme: dark')) {
    const of = (name) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(part)[1];
    for (const name of ['text', 'quiet', 'brand', 'warn'])
      for (const under of ['page', 'raised'])
        assert.ok(page.contrast(of(name), of(under)) >= 4.5, `${name} on ${under}`);
  }
});

test('the page has no way from a string to markup', () => {
  for (const file of readdirSync(new URL('../../user/render/page/', import.meta.url)).filter((name) =>
    name.endsWith('.js'),
  ))
    assert.doesNotMatch(
      source(file),
      /innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|setAttribute|import\(/,
      file,
    );
});

await finish();

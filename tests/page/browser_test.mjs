#!/usr/bin/env node
// SPDX-License-Identifier: BSD-2-Clause
// The page in a browser, from a file, as people open it.
import assert from 'node:assert/strict';
import { clickNode, colourAt, launch, open, pointOf, settled } from './browser.mjs';
import { find, makePage, page as parts } from './page.mjs';
import { finish, test } from './tap.mjs';

const browser = await launch();
const small = makePage('small');
const IMUL = 'imul $0x3b9aca07,%rax,%rdx';

const text = (opened, selector) => opened.tab.innerText(selector);
const pressed = (opened, selector) => opened.tab.getAttribute(selector, 'aria-pressed');
const hash = (opened) => opened.tab.evaluate(() => location.hash);

// A test with a page of its own, which must have asked for nothing and said nothing.
function pageTest(name, body, options = {}, file = small) {
  test(name, async () => {
    const opened = await open(browser, file, options);
    try {
      await body(opened);
      assert.deepEqual(opened.messages, []);
      assert.deepEqual(
        opened.requests.filter((url) => !url.startsWith('file://')),
        [],
      );
      assert.equal(opened.requests.length, 1);
    } finally {
      await opened.tab.close();
    }
  });
}

pageTest('the header says what was measured and what was lost', async (o) => {
  assert.equal(await text(o, '#title'), 'web-03 · 2026-11-30 12:00:00 UTC, 60 s');
  const facts = await text(o, '#facts');
  for (const part of [
    '1,000',
    '1.62 CPUs of 2 (81.0 %)',
    'cpu-clock, 99 Hz',
    'may be one late',
    '7 (0.70 %)',
    '0.30 % of a CPU',
  ])
    assert.ok(facts.includes(part), part);
  assert.equal(await o.tab.isVisible('#about'), false);
  await o.tab.click('#show-about');
  const about = await text(o, '#about');
  for (const part of [
    '6.18.5-cloud-amd64',
    '11,880 expected, 11,878 seen, 1,200 idle',
    'raise max-depth',
    'no PMU',
    'capstone 4.0.2',
    'hotleaf 0.1.0',
    'the one after the slow one',
  ])
    assert.ok(about.includes(part), part);
  assert.ok(!about.includes('stack map full'), 'a loss of nothing is no loss');
});

pageTest('a click zooms, the path and Escape lead back', async (o) => {
  const recurse = find(o.model, 'nginx', 'main', 'recurse');
  await clickNode(o, recurse);
  assert.match(await text(o, '#path'), /all\s*nginx\s*main\s*recurse\s*30\.0 % of all, 300 samples/);
  const box = await pointOf(o, recurse);
  const width = await o.tab.evaluate(() => document.getElementById('canvas').clientWidth);
  assert.ok(Math.abs(box.x - 14 - width / 2) < 3, 'it takes the whole width');
  await o.tab.click('#path button:has-text("main")');
  await settled(o.tab);
  assert.equal(new URLSearchParams((await hash(o)).slice(1)).get('z'), '2');
  await o.tab.keyboard.press('Escape');
  await o.tab.keyboard.press('Escape');
  await settled(o.tab);
  assert.match(await text(o, '#path'), /^all\s*100 % of all/);
  // So does the browser's back button, whose event comes later.
  await o.tab.goBack();
  await o.tab.waitForSelector('#path:has-text("main")');
});

pageTest('search gives the exact share, of all and of the zoomed', async (o) => {
  await o.tab.fill('#search', 'parse_header');
  await o.tab.waitForFunction(() => document.getElementById('found').textContent !== '');
  assert.equal(await text(o, '#found'), '50.0 % of all (500 samples)');
  await clickNode(o, find(o.model, 'nginx', 'main', 'recurse'));
  assert.equal(await text(o, '#found'), '50.0 % of all (500 samples), 33.3 % of the zoomed');
  await o.tab.fill('#search', '^RECURSE$');
  await o.tab.waitForFunction(() => document.getElementById('found').textContent.includes('100'));
  assert.equal(await text(o, '#found'), '30.0 % of all (300 samples), 100 % of the zoomed');
  await o.tab.click('#case');
  assert.equal(await text(o, '#found'), 'no match');
  assert.equal(await pressed(o, '#case'), 'true');
});

pageTest('n and N go through the matches', async (o) => {
  await o.tab.keyboard.press('/');
  await o.tab.keyboard.type('parse_header');
  await o.tab.keyboard.press('Enter');
  assert.match(await text(o, '#found'), /1 of 3$/);
  await o.tab.evaluate(() => document.activeElement.blur());
  await o.tab.keyboard.press('n');
  await o.tab.keyboard.press('n');
  assert.match(await text(o, '#found'), /3 of 3$/);
  await o.tab.keyboard.press('n');
  assert.match(await text(o, '#found'), /1 of 3$/);
  await o.tab.keyboard.press('N');
  assert.match(await text(o, '#found'), /3 of 3$/);
  assert.match(await o.tab.textContent('#status'), /parse_header, 4\.00 % of all/);
});

pageTest('matches are drawn in their own colour, all else is grey', async (o) => {
  const colours = parts.palette(false);
  const main = await pointOf(o, find(o.model, 'nginx', 'main'));
  const read = await pointOf(o, find(o.model, 'nginx', 'main', 'vfs_read'));
  assert.equal(await colourAt(o, main), colours.kind(parts.KIND.USER, 'main'));
  assert.equal(await colourAt(o, read), colours.kind(parts.KIND.KERNEL, 'vfs_read'));
  await o.tab.fill('#search', 'vfs_read');
  await o.tab.waitForFunction(() => document.getElementById('found').textContent !== '');
  assert.equal(await colourAt(o, main), colours.other);
  assert.equal(await colourAt(o, read), colours.match);
});

pageTest('leaves have the colour of their class; functions alone hides them', async (o) => {
  const colours = parts.palette(false);
  const leaf = await pointOf(o, find(o.model, 'nginx', 'main', 'vfs_read', 'lock cmpxchg %rcx,(%rdi)'));
  assert.equal(await colourAt(o, leaf), colours.leaf(6));
  await o.tab.click('#functions');
  await settled(o.tab);
  assert.equal(await colourAt(o, leaf), colours.page);
  assert.equal(await pressed(o, '#functions'), 'true');
  assert.equal(await hash(o), '#v=functions');
  await o.tab.keyboard.press('i');
  await settled(o.tab);
  assert.equal(await colourAt(o, leaf), colours.leaf(6));
  assert.match(await text(o, '#legend'), /locked\s*25 %/);
});

pageTest('the tooltip tells all of an instruction', async (o) => {
  const point = await pointOf(o, find(o.model, 'nginx', 'main', 'parse_header', IMUL));
  await o.tab.mouse.move(point.x, point.y);
  await o.tab.waitForSelector('#tip:not([hidden])');
  const tip = await text(o, '#tip');
  for (const part of [
    IMUL,
    'parse_header +0x4d',
    '/usr/sbin/nginx',
    '0x13ad',
    '300 · 3.03 s',
    '30.0 %',
    '75.0 %; 75.0 % of its self',
    'not precise',
  ])
    assert.ok(tip.includes(part), `${part} in ${tip}`);
  await o.tab.mouse.move(point.x, 890);
  await o.tab.waitForSelector('#tip', { state: 'hidden' });
});

pageTest('an instruction opens its function over all callers', async (o) => {
  await clickNode(o, find(o.model, 'nginx', 'main', 'recurse', 'parse_header', IMUL));
  const panel = await text(o, '#panel');
  for (const part of [
    'parse_header',
    '50.0 % (500 samples)',
    '3 in the graph',
    'Hot instructions, over all callers',
    '72 %',
    '28 %',
    '+0x4d',
    '+0x51',
    'main',
    'recurse',
  ])
    assert.ok(panel.includes(part), `${part} in ${panel}`);
  assert.equal(
    await o.tab
      .locator('#panel tr.chosen')
      .innerText()
      .then((t) => t.includes(IMUL)),
    true,
  );
  assert.match(await text(o, '#path'), /recurse\s*parse_header/, 'and zooms to the function');
  await o.tab.click('#panel button.close');
  assert.equal(await o.tab.isVisible('#panel'), false);
});

pageTest('a stack is copied as text', async (o) => {
  await o.tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await clickNode(o, find(o.model, 'nginx', 'main', 'vfs_read'));
  await o.tab.click('text=Copy stack');
  await o.tab.waitForFunction(() => document.getElementById('status').textContent === 'copied');
  assert.equal(
    await o.tab.evaluate(() => navigator.clipboard.readText()),
    'vfs_read  [[kernel]]\nmain  [/usr/sbin/nginx]\nnginx\n',
  );
});

pageTest('flip puts the root at the bottom', async (o) => {
  const main = find(o.model, 'nginx', 'main');
  const before = await pointOf(o, main);
  await o.tab.click('#flip');
  await settled(o.tab);
  const after = await pointOf(o, main, { flipped: true });
  assert.ok(after.y > before.y);
  assert.equal(await colourAt(o, after), parts.palette(false).kind(parts.KIND.USER, 'main'));
  assert.equal(await hash(o), '#v=flip');
});

pageTest('the keyboard walks the graph', async (o) => {
  await o.tab.focus('#canvas');
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowRight'])
    await o.tab.keyboard.press(key);
  assert.match(await o.tab.textContent('#status'), /^recurse, 30\.0 % of all/);
  await o.tab.keyboard.press('ArrowLeft');
  assert.match(await o.tab.textContent('#status'), /^parse_header, 40\.0 % of all/);
  await o.tab.keyboard.press('ArrowUp');
  await o.tab.keyboard.press('Enter');
  assert.match(await text(o, '#path'), /main\s*100 % of all/);
  await o.tab.keyboard.press('?');
  assert.equal(await o.tab.isVisible('#help'), true);
});

pageTest(
  'the address holds the view',
  async (o) => {
    assert.match(await text(o, '#path'), /recurse\s*30\.0 %/);
    assert.equal(await text(o, '#found'), '45.0 % of all (450 samples), 66.7 % of the zoomed');
    assert.equal(await o.tab.inputValue('#search'), 'jne|vfs_');
    assert.equal(await pressed(o, '#flip'), 'true');
    assert.match(await text(o, '#panel'), /main/);
  },
  { fragment: '#z=6&s=jne%7Cvfs_&f=2&v=flip' },
);

pageTest(
  'an address that makes no sense shows the whole',
  async (o) => {
    assert.match(await text(o, '#path'), /^all\s*100 %/);
  },
  { fragment: '#z=99999&f=-3&v=x&s=' },
);

pageTest('the tables hold the figures of the graph', async (o) => {
  const tables = await text(o, '#tables');
  assert.match(tables, /36\.0 %\s+imul \$0x3b9aca07,%rax,%rdx\s+parse_header \+0x4d\s+nginx/);
  assert.match(tables, /20\.0 %\s+30\.0 %\s+recurse/);
  await o.tab.click('#tables button:has-text("recurse")');
  await settled(o.tab);
  assert.match(await text(o, '#panel'), /recurse/);
});

pageTest(
  'dark mode',
  async (o) => {
    const colours = parts.palette(true);
    const main = await pointOf(o, find(o.model, 'nginx', 'main'));
    assert.equal(await colourAt(o, main), colours.kind(parts.KIND.USER, 'main'));
    assert.equal(
      await o.tab.evaluate(() => getComputedStyle(document.body).backgroundColor),
      'rgb(25, 23, 20)',
    );
    await o.tab.emulateMedia({ colorScheme: 'light' });
    await settled(o.tab);
    assert.equal(await colourAt(o, main), parts.palette(false).kind(parts.KIND.USER, 'main'));
  },
  { colorScheme: 'dark' },
);

pageTest(
  'names from strangers stay text',
  async (o) => {
    const shape = () =>
      o.tab.evaluate(() => [...document.querySelectorAll('*')].map((node) => node.localName));
    const known = new Set(
      (
        'html head meta title style body header div h1 h2 span button dl dt dd ul ' +
        'li main input output nav section canvas aside p b dialog script noscript ' +
        'table caption thead tbody tr th td '
      ).split(' '),
    );
    const frame = find(o.model, "</script><script>document.title='pwned'</script>", 'h_dispatch');
    await clickNode(o, o.model.end[frame + 1]);
    await o.tab.click('#show-about');
    const point = await pointOf(o, frame);
    await o.tab.mouse.move(point.x, point.y);
    await o.tab.waitForSelector('#tip:not([hidden])');
    assert.equal(await o.tab.title(), 'hotleaf flame graph');
    assert.deepEqual(
      (await shape()).filter((name) => !known.has(name)),
      [],
    );
    assert.equal(await o.tab.locator('script').count(), 1);
    assert.equal(await o.tab.locator('style').count(), 1);
    assert.ok((await text(o, '#title')).startsWith("</script><script>document.title='pwned'</script>"));
    assert.match(await text(o, '#facts'), /bidi \\u202egnp\.exe\\u202c/);
  },
  {},
  makePage('hostile'),
);

pageTest(
  'a comparison shows what is more, less, new and gone',
  async (o) => {
    assert.match(await text(o, '#title'), /^web-03 · .* → web-03 · /);
    const facts = await text(o, '#facts');
    assert.match(facts, /1,201 samples, lost none/);
    assert.match(facts, /1,800 samples, lost none/);
    assert.equal(await o.tab.isVisible('#compare'), true);
    const colours = parts.palette(false);
    const how = parts.comparison(o.profile, false);
    const model = parts.buildModel(o.profile, parts.widths(o.profile, how, 'both'));
    const colour = async (...names) =>
      colourAt(o, await pointOf({ ...o, model }, find(model, 'nginx', 'main', ...names)));
    assert.equal(await colour('old_way'), colours.degree('gone'));
    assert.equal(await colour('new_way'), colours.degree('new'));
    assert.equal(await colour('parse_header'), colours.degree('more'));
    const tables = await text(o, '#tables');
    assert.match(tables, /\+23\.28\s*\+77 %\s*30\.06 %\s*53\.33 %\s*imul/);
    assert.match(tables, /−16\.65\s*gone\s*16\.65 %\s*0\.00 %\s*old_way/);
    await o.tab.keyboard.press('d');
    await settled(o.tab);
    assert.equal(await pressed(o, '#after'), 'true');
    assert.match(await text(o, '#path'), /1,800 samples after/);
    await o.tab.click('#bytime');
    await settled(o.tab);
    assert.match(await hash(o), /v=after\.time/);
    assert.match(await text(o, '#tables'), /\+0\.101/);
    await o.tab.click('#tables button:has-text("parse_header")');
    await settled(o.tab);
    assert.match(await text(o, '#panel'), /Self/);
  },
  {},
  makePage('diff'),
);

pageTest('a page of one profile has nothing to compare', async (o) => {
  assert.equal(await o.tab.isVisible('#compare'), false);
  await o.tab.keyboard.press('d');
  assert.deepEqual(o.messages, []);
});

test("the policy stops what is not the page's own", async () => {
  const o = await open(browser, small);
  const ran = await o.tab.evaluate(async () => {
    const script = document.createElement('script');
    let refused = '';
    try {
      script.textContent = 'document.title = "pwned"';
      document.body.append(script);
      document.body.innerHTML = '<b>pwned</b>';
    } catch (error) {
      refused = error.name;
    }
    const fetched = await fetch('https://example.invalid/').then(
      () => 'yes',
      () => 'no',
    );
    return { refused, fetched, title: document.title };
  });
  assert.deepEqual(ran, { refused: 'TypeError', fetched: 'no', title: 'hotleaf flame graph' });
  assert.ok(o.messages.some((message) => message.includes('Content Security Policy')));
  await o.tab.close();
});

test('5,000 deep: the canvas stays small and every row is reached', async () => {
  const o = await open(browser, makePage('deep', '5000'));
  const sizes = () =>
    o.tab.evaluate(() => [
      document.getElementById('canvas').height,
      document.getElementById('rows').clientHeight,
    ]);
  const [canvas, rows] = await sizes();
  assert.ok(canvas <= 900, String(canvas));
  assert.equal(rows, 5002 * 20);
  await o.tab.evaluate(() => {
    document.getElementById('scroll').scrollTop = 1e9;
  });
  await o.tab.waitForTimeout(100);
  const leaf = await pointOf(o, 5001);
  assert.equal(await colourAt(o, leaf), parts.palette(false).leaf(2));
  assert.deepEqual(o.messages, []);
  await o.tab.close();
});

await finish();
await browser.close();

#!/usr/bin/env node
// SPDX-License-Identifier: BSD-2-Clause
// measure.mjs [FILE…]: how long the page takes in a browser: minimum of five runs, each with a fresh browser;
// never pass or fail. Without FILE, pages of 1,000 to 1,000,000 nodes by make_page. First paint is counted
// from navigation; zoom, unzoom and search from the event to the second frame after it, and the script alone.
import { statSync } from 'node:fs';
import { launch } from './browser.mjs';
import { makePage } from './page.mjs';

const RUNS = 5;
const files = process.argv.slice(2);
if (!files.length)
  for (const n of ['1000', '20000', '200000', '1000000']) files.push(makePage('random', n));

// Runs @work in the page; milliseconds of it alone, and until its second frame.
const timed = (tab, work) =>
  tab.evaluate(async (body) => {
    const from = performance.now();
    new Function(body)();
    const script = performance.now() - from;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return [performance.now() - from, script];
  }, work);

async function run(file) {
  const browser = await launch();
  const tab = await browser.newPage({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
  await tab.goto(`file://${file}`);
  await tab.waitForSelector('html[data-settled]', { state: 'attached' });
  const paint = await tab.evaluate(
    () =>
      new Promise((done) =>
        requestAnimationFrame(() => {
          done(performance.getEntriesByName('drawn')[0].startTime);
        }),
      ),
  );
  const click = `const c = document.getElementById('canvas'), b = c.getBoundingClientRect();
    const at = { clientX: b.x + b.width * 0.3, clientY: b.y + 150, bubbles: true };
    c.dispatchEvent(new MouseEvent('click', at));`;
  const zoom = await timed(tab, click);
  await tab.waitForTimeout(300);
  const unzoom = await timed(tab, `document.getElementById('reset').click();`);
  await tab.waitForTimeout(300);
  const search = await timed(
    tab,
    `const s = document.getElementById('search'); s.value = 'vector|mov';
    s.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));`,
  );
  const found = await tab.innerText('#found');
  await browser.close();
  return { times: [paint, ...zoom, ...unzoom, ...search], found };
}

console.log('     bytes  paint   zoom  alone  unzoom  alone  search  alone   (ms)  found');
for (const file of files) {
  const runs = [];
  for (let i = 0; i < RUNS; i++) runs.push(await run(file));
  const best = runs[0].times.map((_, column) => Math.min(...runs.map((one) => one.times[column])));
  console.log(
    [
      String(statSync(file).size).padStart(10),
      ...best.map((ms) => ms.toFixed(0).padStart(6)),
      runs[0].found,
    ].join(' '),
  );
}

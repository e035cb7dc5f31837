// SPDX-License-Identifier: BSD-2-Clause
// A headless Chromium, and a page of ours in it.
import { chromium } from 'playwright-core';
import { page as parts, readPage } from './page.mjs';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS });
}

// Opens @file with the tree that is in it; requests and messages of the page are collected.
export async function open(browser, file, { fragment = '', colorScheme = 'light' } = {}) {
  const tab = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme });
  const requests = [];
  const messages = [];
  tab.on('request', (request) => requests.push(request.url()));
  tab.on('console', (message) => messages.push(message.text()));
  tab.on('pageerror', (error) => messages.push(error.message));
  await tab.goto(`file://${file}${fragment}`);
  await settled(tab);
  return { tab, requests, messages, ...(await readPage(file)) };
}

export function settled(tab) {
  return tab.waitForSelector('html[data-settled]', { state: 'attached' });
}

// The middle of @node in the picture, in pixels of the viewport.
export async function pointOf({ tab, model }, node, { instructions = true, flipped = false } = {}) {
  const place = await tab.evaluate(() => {
    const box = document.getElementById('canvas').getBoundingClientRect();
    const rows = document.getElementById('rows').clientHeight;
    const items = new URLSearchParams(location.hash.slice(1));
    return {
      x: box.x,
      y: box.y,
      width: box.width,
      rows,
      top: document.getElementById('scroll').scrollTop,
      zoom: Number(items.get('z') || 0),
    };
  });
  const height = 20; // of a row: 1.25 rem
  let point = null;
  parts.layout(
    model,
    { zoom: place.zoom, width: place.width, first: 0, last: Infinity, min: 0.1, instructions },
    (found, x, w, row) => {
      if (found !== node) return;
      const y = flipped ? place.rows - (row + 1) * height : row * height;
      point = { x: place.x + x + w / 2, y: place.y + y - place.top + height / 2 };
    },
  );
  return point;
}

export async function clickNode(opened, node, view) {
  const point = await pointOf(opened, node, view);
  await opened.tab.mouse.click(point.x, point.y);
  await settled(opened.tab);
}

// The colour of the picture above the label at @point. A copy is read: reading makes a canvas slow.
export async function colourAt({ tab }, point) {
  return tab.evaluate(({ x, y }) => {
    const canvas = document.getElementById('canvas');
    const box = canvas.getBoundingClientRect();
    const copy = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, Math.floor(x - box.x), Math.floor(y - box.y - 8), 1, 1, 0, 0, 1, 1);
    const [r, g, b] = copy.getImageData(0, 0, 1, 1).data;
    return `#${[r, g, b].map((c) => c.toString(16).padStart(2, '0')).join('')}`;
  }, point);
}

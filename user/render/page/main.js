// SPDX-License-Identifier: BSD-2-Clause
// The page: its state, what the user does to it, and the address that holds it. All .js files are one module
// (user/render/assets.c lists them); those without the DOM are imported by tests as they are.

const state = {
  profile: null,
  model: null,
  zoom: 0, // node
  cursor: -1, // node that the keyboard stands on
  panel: 0, // frame whose panel is open; 0: closed
  opened: -1, // node at which it was met; -1: none
  instructions: true,
  flipped: false,
  weights: false, // the measure: samples or weights
  pattern: '',
  sensitive: false,
  matched: null, // a flag for each frame
  found: null, // searchNodes() of everything
  at: -1, // which of found.nodes was jumped to
  byAddress: false,
  long: false,
  printing: false,
};

let graph;
let pending = 0;

const ids = ['search', 'case', 'previous', 'next', 'functions', 'instructions', 'flip', 'weigh', 'reset', 'path', 'found'];
const parts = Object.fromEntries(ids.map((id) => [id, byId(id)]));
const dark = matchMedia('(prefers-color-scheme: dark)');

state.format = (value) => (state.weights ? amount(value, state.profile.meta.unit) : `${count(value)} samples`);

// Samples and weight of a node, whatever the measure.
state.sums = (node) => {
  const { samples, weight } = state.profile.nodes;
  const sum = { samples: 0, weight: 0, meta: state.profile.meta };
  for (let i = node; i < state.model.end[node]; i++) {
    sum.samples += samples[i];
    sum.weight += weight[i];
  }
  return sum;
};

function say(text) {
  byId('status').textContent = text;
}

// ---- the address --------------------------------------------------------------------------------------------

function fragment() {
  const items = new URLSearchParams();
  const views = [['flip', state.flipped], ['functions', !state.instructions], ['weight', state.weights]];
  if (state.zoom) items.set('z', state.zoom);
  if (state.pattern) items.set('s', state.pattern);
  if (state.pattern && state.sensitive) items.set('c', 1);
  if (state.panel) items.set('f', state.panel);
  const view = views.filter((item) => item[1]).map((item) => item[0]).join('.');
  if (view) items.set('v', view);
  return `#${items}`;
}

function remember(step) {
  const next = fragment();
  if (next === (location.hash || '#')) return;
  try {
    history[step ? 'pushState' : 'replaceState'](null, '', next);
  } catch {
    location.replace(next); // a frame without a history of its own
  }
}

function restore() {
  const items = new URLSearchParams(location.hash.slice(1));
  const number = (key, limit) => {
    const value = Number(items.get(key));
    return Number.isInteger(value) && value > 0 && value < limit ? value : 0;
  };
  const views = (items.get('v') || '').split('.');
  state.flipped = views.includes('flip');
  state.instructions = !views.includes('functions');
  state.weights = views.includes('weight') && !parts.weigh.hidden;
  state.model = buildModel(state.profile, state.weights ? state.profile.nodes.weight : state.profile.nodes.samples);
  state.zoom = number('z', state.model.n);
  openPanel(number('f', state.profile.frames.n), -1);
  state.pattern = items.get('s') || '';
  state.sensitive = items.get('c') === '1';
  state.cursor = -1;
  parts.search.value = state.pattern;
  match();
  refresh();
  graph.home();
}

// ---- what is shown ------------------------------------------------------------------------------------------

function showPath() {
  const m = state.model;
  const nodes = path(m, state.zoom);
  const hidden = nodes.length > 9 ? nodes.splice(3, nodes.length - 8) : [];
  const links = nodes.map((node) => {
    const link = button(shorten(nameOf(m, m.frame[node]), 36) || ' ', nameOf(m, m.frame[node]), () => zoomTo(node));
    if (node === state.zoom) link.ariaCurrent = 'true';
    return link;
  });
  if (hidden.length) links.splice(3, 0, element('span', {}, `… ${count(hidden.length)} more …`));
  parts.path.replaceChildren(...links, element('span', { className: 'share' },
    `${percent(m.total[state.zoom], m.total[0])} of all, ${state.format(m.total[state.zoom])}`));
}

function showFound() {
  const m = state.model;
  const none = !state.found?.nodes.length;
  parts.previous.disabled = parts.next.disabled = none;
  parts.found.classList.toggle('none', !!state.pattern && none);
  if (!state.pattern) parts.found.textContent = '';
  else if (none) parts.found.textContent = 'no match';
  else {
    const here = searchNodes(m, state.matched, state.zoom);
    const whole = `${percent(state.found.sum, m.total[0])} of all (${state.format(state.found.sum)})`;
    const zoomed = state.zoom ? `, ${percent(here.sum, m.total[state.zoom])} of the zoomed` : '';
    const place = state.at >= 0 ? ` · ${count(state.at + 1)} of ${count(state.found.nodes.length)}` : '';
    parts.found.textContent = whole + zoomed + place + (state.literal ? ' · as plain text' : '');
  }
}

function press(part, on) {
  part.ariaPressed = on ? 'true' : 'false';
}

function showControls() {
  press(parts.case, state.sensitive);
  press(parts.functions, !state.instructions);
  press(parts.instructions, state.instructions);
  press(parts.flip, state.flipped);
  press(parts.weigh, state.weights);
  parts.reset.disabled = state.zoom === 0;
}

// Panel and tables take longer than the picture and may come a moment later.
function showSums() {
  delete document.documentElement.dataset.settled;
  clearTimeout(pending);
  pending = setTimeout(() => {
    const sums = sumFrames(state.model, state.zoom);
    if (state.panel) showPanel(state, state.opened, actions);
    showLegend(state, actions, sums);
    showTables(state, actions, sums);
    document.documentElement.dataset.settled = fragment();
  }, 30);
}

function refresh() {
  showControls();
  showPath();
  showFound();
  showTip(state, -1);
  graph.showHover(-1);
  graph.resize();
  graph.draw();
  showSums();
}

// ---- what can be done ---------------------------------------------------------------------------------------

function zoomTo(node) {
  if (node < 0) return;
  state.zoom = node;
  state.cursor = -1;
  refresh();
  graph.home();
  remember(true);
  say(`zoomed to ${nameOf(state.model, state.model.frame[node])}`);
}

function match() {
  const { frames, literal } = state.pattern ? matchFrames(state.model, state.pattern, state) : { frames: null };
  state.matched = frames;
  state.literal = literal;
  state.found = frames && searchNodes(state.model, frames, 0);
  state.at = -1;
}

function search(pattern) {
  state.pattern = pattern;
  if (parts.search.value !== pattern) parts.search.value = pattern;
  match();
  showFound();
  showControls();
  graph.draw();
  remember(false);
}

// What was typed and not yet searched for.
function typed() {
  if (parts.search.value !== state.pattern) search(parts.search.value);
}

// To the next match (@step 1) or the one before, zooming out or in where it would be too small to see.
function jump(step) {
  const nodes = state.found?.nodes;
  if (!nodes?.length) return;
  state.at = state.at < 0 && step < 0 ? nodes.length - 1 : (state.at + step + nodes.length) % nodes.length;
  const node = nodes[state.at];
  const box = graph.boxOf(node);
  if (!box || box.width < 24) zoomTo(zoomFor(state.model, node, 0.1));
  moveTo(node);
  showFound();
}

function moveTo(node) {
  const m = state.model;
  if (node < 0) return;
  state.cursor = node;
  graph.reveal(node);
  graph.draw();
  const where = isLeaf(m, node) ? ` in ${nameOf(m, m.frame[m.parent[node]])}` : '';
  say(`${nameOf(m, m.frame[node])}${where}, ${percent(m.total[node], m.total[0])} of all`);
}

// Opens the panel for @frame, which was met at @node (-1: anywhere), or closes it (0). True if that moved the graph.
function openPanel(frame, node) {
  const panel = byId('panel');
  const moved = panel.hidden !== !frame;
  if (frame !== state.panel) panel.replaceChildren();
  state.panel = frame;
  state.opened = node;
  panel.hidden = !frame;
  panel.scrollTop = 0;
  return moved;
}

function closePanel() {
  openPanel(0, -1);
  refresh();
  remember(false);
}

function setInstructions(on) {
  state.instructions = on;
  if (!on && isLeaf(state.model, state.zoom)) state.zoom = state.model.parent[state.zoom];
  state.cursor = -1;
  match();
  refresh();
  remember(false);
}

function setWeights(on) {
  state.weights = on;
  state.model = buildModel(state.profile, on ? state.profile.nodes.weight : state.profile.nodes.samples);
  match();
  refresh();
  remember(false);
}

function flip() {
  state.flipped = !state.flipped;
  refresh();
  graph.home();
  remember(false);
}

async function copyText(text) {
  say((await copy(text)) ? 'copied' : 'the browser did not allow copying');
}

const actions = {
  colours: () => graph.colours(),
  close: closePanel,
  copy: copyText,
  find: (name) => search(name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')),
  zoom: zoomTo,
  lengthen() {
    state.long = !state.long;
    showSums();
  },
  reorder() {
    state.byAddress = !state.byAddress;
    showPanel(state, state.opened, actions);
  },
  open(frame, node) {
    if (openPanel(frame, node)) refresh();
    else graph.draw();
    showSums();
    remember(false);
  },
};

// A click zooms to a function, and opens the panel for it; on an instruction the zoom goes to its function.
function choose(node) {
  const m = state.model;
  const zoom = isLeaf(m, node) ? m.parent[node] : node;
  if (node !== 0) openPanel(m.frame[node], node);
  zoomTo(zoom);
}

function escape() {
  if (state.panel) closePanel();
  else if (state.pattern) search('');
  else if (state.zoom) zoomTo(0);
}

function move(key) {
  const m = state.model;
  if (state.cursor < 0 || !graph.boxOf(state.cursor)) return moveTo(state.zoom);
  const away = state.flipped ? 'ArrowUp' : 'ArrowDown';
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const step = key === 'ArrowLeft' ? -1 : 1;
    return moveTo(neighbour(m, state.cursor, step, state.zoom, state.instructions, graph.least()));
  }
  return moveTo(key === away ? largestChild(m, state.cursor, state.instructions) : m.parent[state.cursor]);
}

const keys = {
  '/': () => parts.search.select(),
  n: () => jump(1),
  N: () => jump(-1),
  i: () => setInstructions(!state.instructions),
  f: flip,
  r: () => zoomTo(0),
  c: () => copyText(stackText(state.model, state.cursor >= 0 ? state.cursor : state.zoom)),
  '?': () => byId('help').showModal(),
  Escape: escape,
  Backspace: () => zoomTo(state.model.parent[state.zoom]),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !state.model || byId('help').open) return;
  const onGraph = event.target === byId('canvas') || event.target === document.body;
  if (event.target === parts.search) {
    if (event.key === 'Escape') parts.search.value ? search('') : parts.search.blur();
    if (event.key !== 'Enter') return;
    typed();
    jump(event.shiftKey ? -1 : 1);
    return;
  }
  if (onGraph && event.key.startsWith('Arrow')) move(event.key);
  else if (onGraph && event.key === 'Enter') choose(state.cursor >= 0 ? state.cursor : state.zoom);
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
}

// ---- wiring -------------------------------------------------------------------------------------------------

// At most one call a frame, with the last event.
function everyFrame(call) {
  let last = null;
  return (event) => {
    if (!last) requestAnimationFrame(() => {
      const event_ = last;
      last = null;
      call(event_);
    });
    last = event;
  };
}

function listenToGraph() {
  const canvas = byId('canvas');
  canvas.addEventListener('pointermove', everyFrame((event) => {
    const node = graph.nodeAt(event);
    graph.showHover(node);
    canvas.style.cursor = node >= 0 ? 'pointer' : '';
    showTip(state, node, event.clientX, event.clientY);
  }));
  canvas.addEventListener('pointerleave', everyFrame(() => {
    graph.showHover(-1);
    showTip(state, -1);
  }));
  canvas.addEventListener('click', (event) => {
    const node = graph.nodeAt(event);
    if (node >= 0) choose(node);
  });
  byId('scroll').addEventListener('scroll', everyFrame(() => {
    showTip(state, -1);
    graph.showHover(-1);
    graph.draw();
  }));
}

function listen() {
  parts.search.addEventListener('input', everyFrame(() => typed()));
  parts.case.onclick = () => {
    state.sensitive = !state.sensitive;
    search(state.pattern);
  };
  parts.previous.onclick = () => jump(-1);
  parts.next.onclick = () => jump(1);
  parts.functions.onclick = () => setInstructions(false);
  parts.instructions.onclick = () => setInstructions(true);
  parts.flip.onclick = flip;
  parts.weigh.onclick = () => setWeights(!state.weights);
  parts.reset.onclick = () => zoomTo(0);
  byId('show-help').onclick = () => byId('help').showModal();
  byId('close-help').onclick = () => byId('help').close();
  byId('show-about').onclick = (event) => {
    byId('about').hidden = !byId('about').hidden;
    event.target.ariaExpanded = String(!byId('about').hidden);
    refresh();
  };
  listenToGraph();
  document.addEventListener('keydown', onKey);
  window.addEventListener('popstate', restore);
  window.addEventListener('resize', everyFrame(refresh));
  dark.addEventListener('change', () => {
    graph.theme(dark.matches);
    refresh();
  });
  for (const [name, printing] of [['beforeprint', true], ['afterprint', false]])
    window.addEventListener(name, () => {
      state.printing = printing;
      graph.theme(!printing && dark.matches);
      refresh();
    });
}

async function start() {
  try {
    state.profile = decode(await unpack(byId('data').textContent));
  } catch (error) {
    byId('problem').hidden = false;
    byId('problem').textContent = `This profile cannot be shown: ${error.message}. ` +
      'The page needs a browser of 2023 or newer, and the whole file.';
    return;
  }
  byId('data').remove();
  cleanProfile(state.profile);
  const { meta, nodes } = state.profile;
  parts.weigh.hidden = meta.unit === 'nanoseconds' || !meta.unit;
  parts.weigh.textContent = `By ${cut(meta.unit, 20)}`;
  showHeader(state.profile, nodes.samples.reduce((sum, value) => sum + value, 0));
  const rect = (id) => byId(id).getBoundingClientRect();
  graph = createGraph(state, {
    canvas: byId('canvas'), scroll: byId('scroll'), rows: byId('rows'), hover: byId('hover'),
    top: () => rect('scroll').top + window.scrollY,
    below: () => rect('legend').height + 24,
  });
  graph.theme(dark.matches);
  listen();
  restore();
  performance.mark('drawn');
}

start();

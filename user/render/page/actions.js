// SPDX-License-Identifier: BSD-2-Clause
// What the user can do to the state.

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
  const { frames, literal } = state.pattern
    ? matchFrames(state.model, state.pattern, state)
    : { frames: null };
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
  state.at =
    state.at < 0 && step < 0 ? nodes.length - 1 : (state.at + step + nodes.length) % nodes.length;
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

// Opens the panel for @frame, met at @node (-1: anywhere), or closes it (0). True if the graph moved.
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

// The tree for what is to be seen.
function makeModel() {
  const { profile } = state;
  if (!profile.diff) {
    state.model = buildModel(profile, state.weights ? profile.nodes.weight : profile.nodes.samples);
    return;
  }
  const how = comparison(profile, state.byTime);
  state.model = buildModel(profile, widths(profile, how, state.width));
  state.model.compare = { how, ...totals(state.model, profile) };
}

function setComparison(width, byTime) {
  state.width = width;
  state.byTime = byTime;
  makeModel();
  match();
  refresh();
  remember(false);
}

function setWeights(on) {
  state.weights = on;
  makeModel();
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
  state.width = WIDTHS.find((width) => views.includes(width)) || 'both';
  state.byTime =
    !!state.profile.diff &&
    canCompareByTime(state.profile.diff) &&
    (views.includes('time') || (state.profile.diff.byTime && !location.hash));
  makeModel();
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

// SPDX-License-Identifier: BSD-2-Clause
// What the page shows, and the address that holds it.

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
  width: 'both', // of a comparison: what boxes are as wide as
  byTime: false,
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

const ids = [
  'search',
  'case',
  'previous',
  'next',
  'functions',
  'instructions',
  'flip',
  'weigh',
  'compare',
  'both',
  'after',
  'before',
  'bytime',
  'reset',
  'path',
  'found',
];
const parts = Object.fromEntries(ids.map((id) => [id, byId(id)]));
const dark = matchMedia('(prefers-color-scheme: dark)');

state.format = (value) =>
  state.model?.compare
    ? `${count(value)} samples ${state.width === 'both' ? 'of the larger side' : state.width}`
    : state.weights ? amount(value, state.profile.meta.unit) : `${count(value)} samples`;

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

function fragment() {
  const items = new URLSearchParams();
  const views = [
    ['flip', state.flipped],
    ['functions', !state.instructions],
    ['weight', state.weights],
    [state.width, state.model.compare && state.width !== 'both'],
    ['time', state.model.compare && state.byTime],
  ];
  if (state.zoom) items.set('z', state.zoom);
  if (state.pattern) items.set('s', state.pattern);
  if (state.pattern && state.sensitive) items.set('c', 1);
  if (state.panel) items.set('f', state.panel);
  const view = views
    .filter((item) => item[1])
    .map((item) => item[0])
    .join('.');
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

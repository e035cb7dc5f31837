// SPDX-License-Identifier: BSD-2-Clause
// The legend and the tables below the graph: the same figures for who cannot, or need not, see it.

const SHORT = 20;
const LONG = 200;

function nameCell(state, actions, frame, node, text, swatch) {
  const name = button(text, nameOf(state.model, frame), () => actions.open(frame, node), 'name');
  return element('td', {}, element('span', { className: 'swatched' }, swatch, name));
}

function moduleCell(m, frame) {
  const module = m.strings[m.frames.module[frame]];
  return element('td', { title: module }, cut(fileName(module), 24));
}

function instructionRow(state, actions, sums, frame, node) {
  const m = state.model;
  const whole = m.total[state.zoom];
  const caller = m.frame[m.parent[node]];
  const swatch = element('span', { className: 'swatch', title: kindOf(m, frame) });
  swatch.style.background = actions.colours().leaf(m.frames.type[frame] >> 1);
  return element(
    'tr',
    {},
    shareCell(sums.total[frame], whole, percent(sums.total[frame], whole)),
    nameCell(state, actions, frame, node, cut(nameOf(m, frame), 56), swatch),
    nameCell(
      state,
      actions,
      caller,
      m.parent[node],
      `${shorten(nameOf(m, caller), 48)} ${offsetOf(m, frame)}`,
    ),
    moduleCell(m, frame),
  );
}

function functionRow(state, actions, sums, frame) {
  const m = state.model;
  const whole = m.total[state.zoom];
  return element(
    'tr',
    {},
    shareCell(sums.own[frame], whole, percent(sums.own[frame], whole)),
    element('td', { className: 'number' }, percent(sums.total[frame], whole)),
    nameCell(state, actions, frame, -1, shorten(nameOf(m, frame), 90)),
    moduleCell(m, frame),
  );
}

function changeRow(state, actions, { frame, change }, node) {
  const m = state.model;
  const { how } = m.compare;
  const leaf = m.frames.kind[frame] === KIND.INSN;
  const swatch = element('span', { className: 'swatch', title: DEGREE_NAMES[degree(change)] });
  swatch.style.background = actions.colours().degree(degree(change));
  const caller = leaf ? m.frame[m.parent[node]] : 0;
  return element(
    'tr',
    {},
    element('td', { className: 'number' }, deltaText(how, change.delta)),
    element('td', { className: 'number' }, relativeText(change)),
    element('td', { className: 'number' }, valueText(how, change.values[BEFORE])),
    element('td', { className: 'number' }, valueText(how, change.values[AFTER])),
    nameCell(state, actions, frame, node, shorten(nameOf(m, frame), 90), swatch),
    leaf
      ? nameCell(state, actions, caller, -1, `${shorten(nameOf(m, caller), 48)} ${offsetOf(m, frame)}`)
      : null,
    moduleCell(m, frame),
  );
}

function showChanges(state, actions) {
  const m = state.model;
  const { kind } = m.frames;
  const limit = state.long ? LONG : SHORT;
  const figures = [`#Change, ${m.compare.how.unit}`, '#', '#Before', '#After'];
  const leaves = changedFrames(m, state.zoom, (f) => kind[f] === KIND.INSN, limit);
  const functions = changedFrames(
    m,
    state.zoom,
    (f) => kind[f] !== KIND.INSN && kind[f] !== KIND.ROOT && kind[f] !== KIND.PART,
    limit,
  );
  const places = heaviestNodes(
    m,
    state.zoom,
    leaves.map((row) => row.frame),
  );
  const part = (caption, headings, rows, none) =>
    rows.length ? table(caption, headings, rows) : element('p', { className: 'quiet' }, none);

  byId('tables').replaceChildren(
    part(
      'Functions that changed beyond chance, of their own',
      [...figures, 'Function', 'Module'],
      functions.map((row) => changeRow(state, actions, row, -1)),
      'No function changed beyond chance.',
    ),
    part(
      'Instructions that changed beyond chance',
      [...figures, 'Instruction', 'Function (where it is hottest)', 'Module'],
      leaves.map((row) => changeRow(state, actions, row, places.get(row.frame))),
      'No instruction changed beyond chance.',
    ),
    button(state.long ? `Show ${SHORT}` : `Show ${LONG}`, 'Rows of the tables', actions.lengthen),
  );
}

export function showTables(state, actions, sums) {
  const m = state.model;
  if (m.compare) {
    showChanges(state, actions);
    return;
  }
  const { kind } = m.frames;
  const limit = state.long ? LONG : SHORT;
  const scope = state.zoom ? ` of ${shorten(nameOf(m, m.frame[state.zoom]), 60)}` : '';
  const leaves = topFrames(sums.total, (f) => kind[f] === KIND.INSN, limit);
  const functions = topFrames(sums.own, (f) => kind[f] !== KIND.INSN && kind[f] !== KIND.ROOT, limit);
  const places = heaviestNodes(m, state.zoom, leaves);

  byId('tables').replaceChildren(
    table(
      `Top instructions${scope}`,
      ['Samples', 'Instruction', 'Function (where it is hottest)', 'Module'],
      leaves.map((f) => instructionRow(state, actions, sums, f, places.get(f))),
    ),
    table(
      `Top functions${scope}`,
      ['Self', '#Total', 'Function', 'Module'],
      functions.map((f) => functionRow(state, actions, sums, f)),
    ),
    button(state.long ? `Show ${SHORT}` : `Show ${LONG}`, 'Rows of the tables', actions.lengthen),
  );
}

function legendItem(colour, name, share) {
  const swatch = element('span', { className: 'swatch' });
  swatch.style.background = colour;
  return element('span', { className: 'item' }, swatch, name, share ? element('b', {}, share) : null);
}

export function showLegend(state, actions, sums) {
  const colours = actions.colours();
  if (state.model.compare) {
    byId('legend').replaceChildren(
      element('span', { className: 'item heading' }, 'After'),
      ...Object.keys(DEGREE_NAMES).map((name) => legendItem(colours.degree(name), DEGREE_NAMES[name])),
    );
    return;
  }
  const whole = state.model.total[state.zoom];
  const leaves = CLASSES.map((name, i) => ({ name, i, sum: sums.classes[i] }));
  const frames = [KIND.USER, KIND.INLINED, KIND.JIT, KIND.KERNEL, KIND.MARK];

  byId('legend').replaceChildren(
    element('span', { className: 'item heading' }, 'Leaves'),
    ...leaves
      .slice(1)
      .concat(leaves[0])
      .map(({ name, i, sum }) => legendItem(colours.leaf(i), name, roundPercent(sum, whole))),
    element('span', { className: 'item heading' }, 'Frames'),
    ...frames.map((kind) => legendItem(colours.kind(kind, ''), KIND_NAMES[kind])),
  );
}

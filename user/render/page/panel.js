// SPDX-License-Identifier: BSD-2-Clause
// The panel: one function over all its callers, instruction by instruction.

const ROWS = 300;

// What one function was and is, over all callers.
function changeFacts(m, wanted) {
  const { how, self, total } = m.compare;
  const sides = [BEFORE, AFTER].map((side) =>
    functionSummary({ ...m, self: self[side], total: total[side] }, wanted),
  );
  const row = (key) => {
    const change = changeOf(how, sides[BEFORE][key], sides[AFTER][key]);
    const values = change.values.map((value) => valueText(how, value)).join(' → ');
    const chance = change.noise ? ', may be chance' : '';
    return `${values}; ${deltaText(how, change.delta)} ${how.unit}, ${relativeText(change)}${chance}`;
  };
  return [
    ['With callees', row('total'), 'Recursion counted once'],
    ['Self', row('own')],
  ];
}

function changeCell(m, frame) {
  const { how, total } = m.compare;
  const counts = [0, 0];
  for (let i = 0; i < m.n; i++)
    if (m.frame[i] === frame) for (const side of [BEFORE, AFTER]) counts[side] += total[side][i];
  const change = changeOf(how, ...counts);
  const cell = element(
    'td',
    { className: 'number' },
    change.noise ? '' : deltaText(how, change.delta),
  );
  cell.title = change.values.map((value) => valueText(how, value)).join(' → ');
  return cell;
}

function instructionRows(m, summary, chosen, byAddress, actions) {
  const list = [...summary.insns];
  const { offset } = m.frames;
  list.sort((a, b) =>
    byAddress ? offset[a[0]] - offset[b[0]] : b[1] - a[1] || offset[a[0]] - offset[b[0]],
  );
  const hottest = Math.max(...list.map((item) => item[1]));
  return list.slice(0, ROWS).map(([frame, value]) => {
    const swatch = element('span', { className: 'swatch', title: kindOf(m, frame) });
    swatch.style.background = actions.colours().leaf(m.frames.type[frame] >> 1);
    const cell = shareCell(value, hottest, roundPercent(value, summary.own));
    cell.title = `${count(value)} samples`;
    return element(
      'tr',
      { className: frame === chosen ? 'chosen' : '' },
      cell,
      m.compare ? changeCell(m, frame) : null,
      element('td', { className: 'number', title: addressOf(m, frame) }, offsetOf(m, frame)),
      element('td', { className: 'code' }, swatch, nameOf(m, frame)),
    );
  });
}

function instructions(m, state, summary, chosen, actions) {
  if (!summary.insns.size)
    return element('p', { className: 'quiet' }, 'No instruction was sampled in it.');
  const order = button(
    state.byAddress ? 'sort by share' : 'sort by address',
    'Order of the instructions',
    actions.reorder,
  );
  const rows = instructionRows(m, summary, chosen, state.byAddress, actions);
  const more = summary.insns.size - rows.length;
  return element(
    'div',
    {},
    table('Hot instructions, over all callers', ['Of self', ...(m.compare ? ['#Change'] : []), '#Offset', 'Instruction'], rows),
    more > 0 ? element('p', { className: 'quiet' }, `${count(more)} more are not listed.`) : null,
    order,
  );
}

function callers(m, summary, actions) {
  const list = [...summary.callers].sort((a, b) => b[1] - a[1]).slice(0, 20);
  if (!list.length) return null;
  const rows = list.map(([frame, value]) =>
    element(
      'tr',
      {},
      shareCell(value, summary.total, roundPercent(value, summary.total)),
      element(
        'td',
        {},
        frame === 0
          ? 'all'
          : button(
              shorten(nameOf(m, frame), 60),
              nameOf(m, frame),
              () => actions.open(frame, -1),
              'name',
            ),
      ),
    ),
  );
  return table('Called from', ['Share', 'Caller'], rows);
}

// Shows @state.panel; @node is the place that was clicked, or -1.
export function showPanel(state, node, actions) {
  const m = state.model;
  const chosen = state.panel;
  const leaf = m.frames.kind[chosen] === KIND.INSN;
  if (node < 0 || m.frame[node] !== chosen) node = heaviestNodes(m, 0, [chosen]).get(chosen);
  const wanted = leaf && node >= 0 ? m.frame[m.parent[node]] : chosen;
  const summary = functionSummary(m, wanted);
  const place = node >= 0 ? node : summary.heaviest;
  const whole = m.total[0];
  const head = element(
    'div',
    { className: 'head' },
    element('span', { className: 'badge' }, kindOf(m, wanted)),
    element('h2', { textContent: nameOf(m, wanted) }),
    button('×', 'Close (Esc)', actions.close, 'close'),
  );
  head.lastElementChild.ariaLabel = 'Close';

  byId('panel').replaceChildren(
    head,
    facts(element('dl', {}), [
      ['Module', m.strings[m.frames.module[wanted]]],
      ['Address', addressOf(m, wanted)],
      ...(m.compare
        ? changeFacts(m, wanted)
        : [
            [
              'In all places',
              `${percent(summary.total, whole)} (${state.format(summary.total)})`,
              'Recursion counted once',
            ],
            ['Self', `${percent(summary.own, whole)} (${state.format(summary.own)})`],
          ]),
      ['Places', `${count(summary.places)} in the graph`],
      ['Chosen', leaf ? `${nameOf(m, chosen)} at ${addressOf(m, chosen) || offsetOf(m, chosen)}` : ''],
    ]),
    element(
      'div',
      { className: 'buttons' },
      button('Copy name', '', () => actions.copy(nameOf(m, leaf ? chosen : wanted))),
      button('Copy stack', 'The stack as text, leaf first (c)', () => actions.copy(stackText(m, place))),
      button('Find all', 'Search for this name', () => actions.find(nameOf(m, wanted))),
      button('Go to', 'Zoom to where it is widest', () => actions.zoom(summary.heaviest)),
    ),
    instructions(m, state, summary, chosen, actions),
    state.profile.meta.precise || !summary.insns.size ? '' : element('p', { className: 'quiet' }, SKID),
    callers(m, summary, actions) || '',
  );
}

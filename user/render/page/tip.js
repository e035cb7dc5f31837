// SPDX-License-Identifier: BSD-2-Clause
// The tooltip: all there is to know of the frame under the pointer.

function tipRows(state, node) {
  const m = state.model;
  const frame = m.frame[node];
  const caller = m.parent[node];
  const leaf = isLeaf(m, node);
  const own = leaf ? m.total[node] : ownTotal(m, node);
  const of = (whole) => percent(m.total[node], m.total[whole]);
  const { samples, weight, meta } = state.sums(node);
  return [
    ['Kind', kindOf(m, frame)],
    ['In', leaf ? `${cut(nameOf(m, m.frame[caller]), 200)} ${offsetOf(m, frame)}` : ''],
    ['Module', m.strings[m.frames.module[frame]]],
    ['Address', addressOf(m, frame)],
    ['Samples', `${count(samples)}${meta.unit ? ` · ${amount(weight, meta.unit)}` : ''}`],
    ['Of all', of(0)],
    ['Of the zoomed', state.zoom !== 0 && m.depth[node] > m.depth[state.zoom] ? of(state.zoom) : ''],
    ['Of its caller', node !== 0 && !leaf ? of(caller) : ''],
    [
      'Of its function',
      leaf ? `${of(caller)}; ${percent(m.total[node], ownTotal(m, caller))} of its self` : '',
    ],
    ['Self', leaf ? '' : `${percent(own, m.total[0])} (${state.format(own)})`],
    ['Note', leaf && !meta.precise ? 'not precise: the slow one is often the instruction before' : ''],
  ];
}

// In a comparison: what it was, what it is, and what to make of that.
function changeRows(m, node) {
  const { how } = m.compare;
  const frame = m.frame[node];
  const change = changeAt(m, node);
  const side = (i) => `${valueText(how, change.values[i])} \u00b7 ${count(change.counts[i])} samples`;
  return [
    ['Kind', kindOf(m, frame)],
    ['In', isLeaf(m, node) ? `${cut(nameOf(m, m.frame[m.parent[node]]), 200)} ${offsetOf(m, frame)}` : ''],
    ['Module', m.strings[m.frames.module[frame]]],
    ['Before', side(BEFORE)],
    ['After', side(AFTER)],
    ['Change', `${deltaText(how, change.delta)} ${how.unit}, ${relativeText(change)}`],
    [
      'Chance',
      `${Math.abs(change.z).toFixed(1)} standard deviations: ${change.noise ? 'may be chance' : 'a change'}`,
    ],
  ];
}

export function showTip(state, node, x, y) {
  const tip = byId('tip');
  tip.hidden = node < 0;
  if (node < 0) return;
  const name = nameOf(state.model, state.model.frame[node]);
  tip.replaceChildren(
    element('p', { className: 'code' }, cut(name, 600)),
    facts(
      element('dl', {}),
      state.model.compare ? changeRows(state.model, node) : tipRows(state, node),
    ),
  );
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  const top = y + 20 + box.height > innerHeight ? y - 12 - box.height : y + 20;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

// SPDX-License-Identifier: BSD-2-Clause
// Brings what surrounds the graph, and the graph, in line with the state.

function showPath() {
  const m = state.model;
  const nodes = path(m, state.zoom);
  const hidden = nodes.length > 9 ? nodes.splice(3, nodes.length - 8) : [];
  const links = nodes.map((node) => {
    const link = button(shorten(nameOf(m, m.frame[node]), 36) || ' ', nameOf(m, m.frame[node]), () =>
      zoomTo(node),
    );
    if (node === state.zoom) link.ariaCurrent = 'true';
    return link;
  });
  if (hidden.length) links.splice(3, 0, element('span', {}, `… ${count(hidden.length)} more …`));
  parts.path.replaceChildren(
    ...links,
    element(
      'span',
      { className: 'share' },
      `${percent(m.total[state.zoom], m.total[0])} of all, ${state.format(m.total[state.zoom])}`,
    ),
  );
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
  for (const width of WIDTHS) press(parts[width], state.width === width);
  press(parts.bytime, state.byTime);
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

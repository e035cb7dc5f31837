// SPDX-License-Identifier: BSD-2-Clause
// Keys, pointer, start. All .js files are one module (user/render/assets.c lists them), so they see each
// other's functions; tests import those that know no DOM.

function move(key) {
  const m = state.model;
  if (state.cursor < 0 || !graph.boxOf(state.cursor)) return moveTo(state.zoom);
  const away = state.flipped ? 'ArrowUp' : 'ArrowDown';
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const step = key === 'ArrowLeft' ? -1 : 1;
    return moveTo(neighbour(m, state.cursor, step, state.zoom, state.instructions, graph.least()));
  }
  return moveTo(
    key === away ? largestChild(m, state.cursor, state.instructions) : m.parent[state.cursor],
  );
}

const keys = {
  '/': () => parts.search.select(),
  n: () => jump(1),
  N: () => jump(-1),
  i: () => setInstructions(!state.instructions),
  f: flip,
  r: () => zoomTo(0),
  d: () =>
    state.model.compare &&
    setComparison(WIDTHS[(WIDTHS.indexOf(state.width) + 1) % WIDTHS.length], state.byTime),
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

// At most one call a frame, with the last event.
function everyFrame(call) {
  let last = null;
  return (event) => {
    if (!last)
      requestAnimationFrame(() => {
        const event_ = last;
        last = null;
        call(event_);
      });
    last = event;
  };
}

function listenToGraph() {
  const canvas = byId('canvas');
  canvas.addEventListener(
    'pointermove',
    everyFrame((event) => {
      const node = graph.nodeAt(event);
      graph.showHover(node);
      canvas.style.cursor = node >= 0 ? 'pointer' : '';
      showTip(state, node, event.clientX, event.clientY);
    }),
  );
  canvas.addEventListener(
    'pointerleave',
    everyFrame(() => {
      graph.showHover(-1);
      showTip(state, -1);
    }),
  );
  canvas.addEventListener('click', (event) => {
    const node = graph.nodeAt(event);
    if (node >= 0) choose(node);
  });
  byId('scroll').addEventListener(
    'scroll',
    everyFrame(() => {
      showTip(state, -1);
      graph.showHover(-1);
      graph.draw();
    }),
  );
}

function listen() {
  parts.search.addEventListener(
    'input',
    everyFrame(() => typed()),
  );
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
  for (const width of WIDTHS) parts[width].onclick = () => setComparison(width, state.byTime);
  parts.bytime.onclick = () => setComparison(state.width, !state.byTime);
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
  for (const [name, printing] of [
    ['beforeprint', true],
    ['afterprint', false],
  ])
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
    byId('problem').textContent =
      `This profile cannot be shown: ${error.message}. ` +
      'The page needs a browser of 2023 or newer, and the whole file.';
    return;
  }
  byId('data').remove();
  cleanProfile(state.profile);
  const { meta, nodes } = state.profile;
  const { diff } = state.profile;
  parts.weigh.hidden = meta.unit === 'nanoseconds' || !meta.unit || !!diff;
  parts.compare.hidden = !diff;
  parts.bytime.hidden = !diff || !canCompareByTime(diff);
  parts.weigh.textContent = `By ${cut(meta.unit, 20)}`;
  const all = (column) => column.reduce((total, value) => total + value, 0);
  if (diff) showDiffHeader(state.profile, [all(nodes.weight), all(nodes.samples)]);
  else showHeader(state.profile, all(nodes.samples));
  const rect = (id) => byId(id).getBoundingClientRect();
  graph = createGraph(state, {
    canvas: byId('canvas'),
    scroll: byId('scroll'),
    rows: byId('rows'),
    hover: byId('hover'),
    top: () => rect('scroll').top + window.scrollY,
    below: () => rect('legend').height + 24,
  });
  graph.theme(dark.matches);
  listen();
  restore();
  performance.mark('drawn');
}

start();

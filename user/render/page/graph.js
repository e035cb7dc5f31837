// SPDX-License-Identifier: BSD-2-Clause
// The drawing. The canvas is as high as what is seen of the graph and sticks to it while it scrolls: a canvas
// ends at 32,767 device pixels, stacks do not.

const CANVAS_MAX = 32767;
const DRAWN_MIN = 0.5; // pixels: what is narrower is drawn as a sliver, and nothing below it

export function createGraph(state, parts) {
  const { canvas, scroll, rows: sizer, hover } = parts;
  const context = canvas.getContext('2d', { alpha: false });
  const fills = new Map();
  let colours;
  let rem, rowHeight, charWidth, width, rows, ratio, font;

  const viewOf = () => ({ zoom: state.zoom, width, instructions: state.instructions, min: DRAWN_MIN });
  const topOf = (row) => (state.flipped ? rows - 1 - row : row) * rowHeight;
  const rowAt = (y) => {
    const line = Math.floor(y / rowHeight);
    return state.flipped ? rows - 1 - line : line;
  };

  function fillOf(frame) {
    let fill = fills.get(frame);
    if (fill) return fill;
    const { kind, type } = state.model.frames;
    const leaf = kind[frame] === KIND.INSN;
    fill = leaf
      ? colours.leaf(type[frame] >> 1)
      : colours.kind(frame ? kind[frame] : 0, nameOf(state.model, frame));
    fills.set(frame, fill);
    return fill;
  }

  function styleOf(node) {
    const frame = state.model.frame[node];
    const leaf = isLeaf(state.model, node);
    if (state.matched?.[frame]) return { fill: colours.match, text: colours.matchText };
    if (state.model.compare) {
      const name = degree(changeAt(state.model, node));
      const outlined = name === 'new' || name === 'gone';
      return state.matched
        ? { fill: colours.other, text: colours.text }
        : { fill: colours.degree(name), text: colours.text, outlined };
    }
    if (state.matched)
      return leaf
        ? { fill: colours.otherLeaf, text: colours.leafText }
        : { fill: colours.other, text: colours.text };
    return { fill: fillOf(frame), text: leaf ? colours.leafText : colours.text };
  }

  // Edges lie on device pixels, one pixel between frames; slivers share a pixel, the first of them wins.
  function paint(node, x, w, y, taken, row) {
    const left = Math.round(x * ratio);
    const right = Math.max(left + 1, Math.round((x + w) * ratio));
    if (right <= (taken[row] || 0)) return;
    const start = Math.max(left, taken[row] || 0);
    taken[row] = right;
    const style = styleOf(node);
    const gap = right - start > 3 ? 1 : 0;
    context.fillStyle = style.fill;
    // The callers of the zoomed frame are pale.
    context.globalAlpha = row < state.model.depth[state.zoom] ? 0.5 : 1;
    context.fillRect(start, y, right - start - gap, Math.round(rowHeight * ratio) - 1);
    context.globalAlpha = 1;
    if (style.outlined && right - start > 4) {
      context.strokeStyle = colours.text;
      context.lineWidth = Math.max(1, ratio);
      context.setLineDash([4 * ratio, 3 * ratio]);
      context.strokeRect(start + 1, y + 1, right - start - gap - 2, Math.round(rowHeight * ratio) - 3);
      context.setLineDash([]);
    }
    const marked = state.panel > 0 && state.model.frame[node] === state.panel;
    if (marked) {
      context.fillStyle = colours.outline;
      context.fillRect(
        start,
        y + Math.round((rowHeight - 3) * ratio),
        right - start - gap,
        Math.ceil(2 * ratio) - 1,
      );
    }
    const room = Math.floor((w - rem * 0.5) / charWidth);
    const text = room >= 2 ? label(state.model, node, room) : '';
    if (!text) return;
    context.fillStyle = style.text;
    // Monospaced, so counted, not measured; what other scripts need beyond that is squeezed.
    context.fillText(
      text,
      left + rem * 0.25 * ratio,
      y + (rowHeight * ratio) / 2,
      (w - rem * 0.4) * ratio,
    );
  }

  function draw() {
    const height = scroll.clientHeight;
    const m = state.model;
    if (!m || !height) return;
    const last = Math.ceil((scroll.scrollTop + height) / rowHeight);
    const lines = [Math.floor(scroll.scrollTop / rowHeight), Math.min(last, rows - 1)].map((line) =>
      state.flipped ? rows - 1 - line : line,
    );
    const taken = [];
    const y = (row) => Math.round((topOf(row) - scroll.scrollTop) * ratio);
    context.fillStyle = colours.page;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.font = font;
    context.textBaseline = 'middle';
    layout(m, { ...viewOf(), first: Math.min(...lines), last: Math.max(...lines) }, (node, x, w, row) =>
      paint(node, x, w, y(row), taken, row),
    );
    if (state.cursor >= 0) outline(state.cursor);
  }

  // Where @node stands in the graph, in CSS pixels, or null if the zoom does not show it.
  function boxOf(node) {
    const m = state.model;
    const above = m.depth[node] <= m.depth[state.zoom];
    if (
      above
        ? state.zoom < node || state.zoom >= m.end[node]
        : node < state.zoom || node >= m.end[state.zoom]
    )
      return null;
    const scale = m.total[state.zoom] > 0 ? width / m.total[state.zoom] : 0;
    const x = above ? 0 : (m.start[node] - m.start[state.zoom]) * scale;
    const w = above ? width : m.total[node] * scale;
    return { x, y: topOf(m.depth[node]), width: Math.max(w, 1), height: rowHeight };
  }

  function outline(node) {
    const box = boxOf(node);
    if (!box) return;
    context.strokeStyle = colours.outline;
    context.lineWidth = 2 * ratio;
    context.strokeRect(
      (box.x + 1) * ratio,
      (box.y - scroll.scrollTop + 1) * ratio,
      Math.max(box.width - 2, 1) * ratio,
      (rowHeight - 2) * ratio,
    );
  }

  function resize() {
    rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    ratio = window.devicePixelRatio || 1;
    rowHeight = Math.round(rem * 1.25);
    font = `${rem * 0.75 * ratio}px ${getComputedStyle(canvas).fontFamily}`;
    context.font = font;
    charWidth = context.measureText('0'.repeat(40)).width / 40 / ratio;
    width = scroll.clientWidth;
    if (!state.model) return;
    rows = rowCount(state.model, { ...viewOf(), min: 1 });
    const space = Math.max(window.innerHeight - parts.top() - parts.below(), rowHeight * 12);
    const print = Math.floor(CANVAS_MAX / ratio);
    scroll.style.height = `${Math.min(rows * rowHeight, state.printing ? print : space)}px`;
    sizer.style.height = `${rows * rowHeight}px`;
    width = scroll.clientWidth; // a scroll bar may have come or gone
    const height = scroll.clientHeight;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    canvas.width = Math.min(Math.round(width * ratio), CANVAS_MAX);
    canvas.height = Math.min(Math.round(height * ratio), CANVAS_MAX);
  }

  return {
    draw,
    resize,
    boxOf,
    colours: () => colours,
    // The least samples a frame needs to be seen as more than a line.
    least: () => (2 * state.model.total[state.zoom]) / width,
    theme(dark) {
      colours = palette(dark);
      fills.clear();
    },
    // Scrolls as little as needed to show @node with a few rows of what lies above and below it.
    reveal(node) {
      const box = boxOf(node);
      if (!box) return;
      const margin = Math.min(4 * rowHeight, scroll.clientHeight / 4);
      const { scrollTop: top, clientHeight: height } = scroll;
      if (box.y < top + margin) scroll.scrollTop = box.y - margin;
      else if (box.y + rowHeight > top + height - margin)
        scroll.scrollTop = box.y + rowHeight - height + margin;
    },
    // After a zoom the zoomed frame stands near the root's side of what is seen.
    home() {
      const box = boxOf(state.zoom);
      const margin = 3 * rowHeight;
      scroll.scrollTop = state.flipped
        ? box.y + rowHeight + margin - scroll.clientHeight
        : box.y - margin;
    },
    nodeAt(event) {
      const box = canvas.getBoundingClientRect();
      const row = rowAt(event.clientY - box.top + scroll.scrollTop);
      return row < rows ? nodeAt(state.model, viewOf(), event.clientX - box.left, row) : -1;
    },
    showHover(node) {
      const box = node >= 0 ? boxOf(node) : null;
      hover.hidden = !box;
      if (!box) return;
      Object.assign(hover.style, {
        left: `${box.x}px`,
        top: `${box.y}px`,
        width: `${box.width}px`,
        height: `${rowHeight}px`,
      });
    },
  };
}

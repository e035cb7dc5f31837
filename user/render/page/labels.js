// SPDX-License-Identifier: BSD-2-Clause
// What is said of a frame or a node, in words.

function cleanHeader(meta) {
  for (const key of Object.keys(meta)) if (typeof meta[key] === 'string') meta[key] = visible(meta[key]);
  meta.losses = meta.losses.map((loss) => ({
    ...loss,
    name: visible(loss.name),
    help: visible(loss.help),
  }));
  meta.notes = meta.notes.map(visible);
}

// Makes every string of a profile safe to show; the columns of an instruction are set apart by one blank.
export function cleanProfile({ strings, meta, diff, frames }) {
  for (let i = 0; i < strings.length; i++) strings[i] = visible(strings[i]);
  for (let f = 1; f < frames.n; f++) {
    const name = frames.name[f];
    if (frames.kind[f] === KIND.INSN && strings[name].includes('  '))
      strings[name] = strings[name].replace(/ +/g, ' ');
  }
  cleanHeader(meta);
  if (diff) cleanHeader(diff.before);
}

export function nameOf(m, frame) {
  const name = frame === 0 ? 'all' : m.strings[m.frames.name[frame]];
  return name.trim() ? name : '(no name)';
}

// None in a comparison: there code is at its offset in its function.
export function addressOf(m, frame) {
  if (m.compare) return '';
  const { high, low } = m.frames;
  return high[frame] || low[frame] ? hex(high[frame], low[frame]) : '';
}

export function offsetOf(m, frame) {
  return `+0x${m.frames.offset[frame].toString(16)}`;
}

export function fileName(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

export function kindOf(m, frame) {
  if (frame === 0) return '';
  const type = m.frames.type[frame];
  if (m.frames.kind[frame] === KIND.INSN)
    return `${type & 1 ? 'kernel ' : ''}instruction, ${CLASSES[type >> 1] || CLASSES[0]}`;
  return KIND_NAMES[m.frames.kind[frame]] || '';
}

// A leaf: what was executing, how much of its function that is here, where. What does not fit goes.
function leafLabel(m, node, room) {
  const frame = m.frame[node];
  const text = nameOf(m, frame);
  const caller = m.parent[node];
  const share = roundPercent(m.total[node], m.total[caller]);
  if (text.length + share.length + 3 > room) return cut(text, room);
  const short = `${text} · ${share}`;
  const long = `${short} of ${shorten(nameOf(m, m.frame[caller]), 48)} · ${offsetOf(m, frame)}`;
  if (long.length <= room) return long;
  const middle = `${short} · ${offsetOf(m, frame)}`;
  return middle.length <= room ? middle : short;
}

// In a comparison: by how much it changed, with the sign, so that colour is not needed to read it.
function changeLabel(m, node, room) {
  const change = changeAt(m, node);
  const name = nameOf(m, m.frame[node]);
  const text = isLeaf(m, node) ? `${name} \u00b7 ${offsetOf(m, m.frame[node])}` : name;
  const fit = (width) => (isLeaf(m, node) ? cut(text, width) : shorten(text, width));
  const delta = change.noise ? '' : `${deltaText(m.compare.how, change.delta)} `;
  return delta.length + 3 <= room ? delta + fit(room - delta.length) : fit(room);
}

// The label of @node in at most @room characters; its share of all where there is room for it.
export function label(m, node, room) {
  if (room < 2) return '';
  if (m.compare) return changeLabel(m, node, room);
  if (isLeaf(m, node)) return leafLabel(m, node, room);
  const name = shorten(nameOf(m, m.frame[node]), room);
  const share = `  ${roundPercent(m.total[node], m.total[0])}`;
  return node && name.length + share.length <= room ? name + share : name;
}

// The stack of @node as text, leaf first, as a debugger prints it.
export function stackText(m, node) {
  const lines = path(m, node)
    .slice(1)
    .reverse()
    .map((i) => {
      const frame = m.frame[i];
      const module = m.strings[m.frames.module[frame]];
      const address = isLeaf(m, i) ? ` ${addressOf(m, frame) || offsetOf(m, frame)}` : '';
      return nameOf(m, frame) + (module || address ? `  [${module}${address}]` : '');
    });
  return `${lines.join('\n')}\n`;
}

// SPDX-License-Identifier: BSD-2-Clause
// Names made safe to show, names made to fit, numbers.

// Controls, bidirectional and invisible format characters: they could hide a name or turn it round.
const UNSEEN = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f' +
    '\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]',
  'gu',
);

export function visible(text) {
  return text.replace(UNSEEN, (c) => {
    const code = c.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}

const OPERATOR = /^operator(\(\)|<=>|<<=?|<=?|->\*?|>>=?|>=?)/;
const CLOSER = { '<': '>', '(': ')' };

// The name with what stands inside <…> and (…) left out, and the place where its last part starts.
// operator< and its like are no brackets, nor is the > of ->.
function elide(name) {
  let out = '';
  let last = 0;
  const open = [];

  for (let i = 0; i < name.length; i++) {
    const c = name[i];
    const operator = c === 'o' && OPERATOR.exec(name.slice(i, i + 12));
    if (operator) {
      if (!open.length) out += operator[0];
      i += operator[0].length - 1;
    } else if (c === open[open.length - 1] && !(c === '>' && name[i - 1] === '-')) {
      open.pop();
      if (!open.length) out += c;
    } else if (CLOSER[c]) {
      if (!open.length) out += `${c}…`;
      open.push(CLOSER[c]);
    } else if (!open.length) {
      out += c;
      if (c === ':' && name[i - 1] === ':') last = out.length;
    }
  }
  return { text: open.length ? name : out.replace(/…(?=[>)])/g, '…'), last: open.length ? 0 : last };
}

// Cuts @text to @room characters, never through a surrogate pair.
export function cut(text, room) {
  if (text.length <= room) return text;
  if (room < 2) return '';
  const end = /[\ud800-\udbff]/.test(text[room - 2]) ? room - 2 : room - 1;
  return `${text.slice(0, end)}…`;
}

// @name in at most @room characters: first arguments go, then namespaces, so that the function stays.
export function shorten(name, room) {
  if (name.length <= room) return name;
  if (room < 3) return '';
  if (!/[<(:]/.test(name)) return cut(name, room);
  const { text, last } = elide(name);
  const short = text.replace(/\(…\)( const)?$/, '');
  if (text.length <= room) return text;
  if (short.length <= room) return short;
  return cut(last && last < short.length ? `…${short.slice(last)}` : short, room);
}

export function count(value) {
  return Math.round(value).toLocaleString('en-US');
}

// Three digits that count; never 100 % or 0 % for what is not.
export function percent(part, whole) {
  if (!(whole > 0)) return '0 %';
  const share = (100 * part) / whole;
  if (part >= whole || share === 0) return `${Math.round(share)} %`;
  if (share > 99.9) return '> 99.9 %';
  if (share < 0.001) return '< 0.001 %';
  return `${share < 0.1 ? share.toFixed(3) : share < 10 ? share.toFixed(2) : share.toFixed(1)} %`;
}

export function roundPercent(part, whole) {
  const share = whole > 0 ? (100 * part) / whole : 0;
  return share >= 10
    ? `${Math.round(share)} %`
    : share >= 1
      ? `${share.toFixed(1)} %`
      : percent(part, whole);
}

const STEPS = { nanoseconds: ['ns', 'µs', 'ms', 's'], other: ['', ' k', ' M', ' G', ' T'] };

// A weight with its unit: 1.25 s, 3.40 G cycles.
export function amount(value, unit) {
  const steps = STEPS[unit] || STEPS.other;
  let i = 0;
  while (value >= 1000 && i < steps.length - 1) {
    value /= 1000;
    i++;
  }
  const digits = i === 0 || value >= 1000 ? count(value) : value.toPrecision(3);
  return steps === STEPS.other ? `${digits}${steps[i]} ${unit}` : `${digits} ${steps[i]}`;
}

export function time(ms) {
  const text = new Date(ms).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}

export function duration(ms) {
  const s = ms / 1000;
  if (s < 120) return `${Number(s.toFixed(s < 10 ? 1 : 0))} s`;
  if (s < 7200) return `${Number((s / 60).toFixed(1))} min`;
  return `${Number((s / 3600).toFixed(1))} h`;
}

export function hex(high, low) {
  return `0x${high ? high.toString(16) + low.toString(16).padStart(8, '0') : low.toString(16)}`;
}

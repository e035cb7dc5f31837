// SPDX-License-Identifier: BSD-2-Clause
// Colours. A function's is made from its name, so that it is the same at every zoom and in every profile;
// its hue says what kind it is. Functions are pale and leaves are vivid: the eye shall find the leaves.

// In the order of enum hl_insn_class.
export const CLASSES = ['other', 'load', 'store', 'branch', 'divide', 'vector', 'locked'];

const LEAVES = {
  light: ['#6a5d4d', '#0b62a8', '#7b3fa6', '#4f6069', '#b3261e', '#0a7061', '#a3145f'],
  dark: ['#c2b49f', '#6cb8f5', '#c79bf0', '#a9bac4', '#ff8a7d', '#4fd1b8', '#ff86b8'],
};

// In the order of enum hl_frame_kind: hue, its spread, saturation.
const KINDS = [
  [40, 0, 8], // root
  [318, 8, 45], // mark
  [24, 24, 82], // user
  [56, 10, 62], // inlined
  [135, 26, 48], // JIT
  [208, 20, 62], // kernel
  [0, 0, 0], // instruction: by class instead
  [40, 6, 40], // part
];

export const KIND_NAMES = ['process', 'mark', 'user', 'inlined', 'JIT', 'kernel', 'instruction', 'loop'];

const THEMES = {
  light: {
    text: '#1d1a15',
    leafText: '#ffffff',
    page: '#fbfaf7',
    low: 77,
    high: 86,
    other: '#e4e0d8',
    otherLeaf: '#77716a',
    match: '#c4176f',
    matchText: '#ffffff',
    outline: '#000000',
  },
  dark: {
    text: '#f3eee6',
    leafText: '#14120f',
    page: '#191714',
    low: 22,
    high: 30,
    other: '#34302b',
    otherLeaf: '#8f877c',
    match: '#ffd23e',
    matchText: '#14120f',
    outline: '#ffffff',
  },
};

// Of a comparison: violet for less, orange for more, which no common colour blindness confuses. Names as
// degree() gives them.
export const DEGREES = {
  light: {
    gone: '#b2abd2',
    half: '#9a8fc4',
    less: '#b9b2d8',
    same: '#e4e0d8',
    more: '#fdc98a',
    twice: '#f0973a',
    new: '#f7b267',
  },
  dark: {
    gone: '#4a4272',
    half: '#5a4f91',
    less: '#443e63',
    same: '#34302b',
    more: '#68451a',
    twice: '#8a5208',
    new: '#774a10',
  },
};

export const DEGREE_NAMES = {
  gone: 'gone',
  half: 'less than half',
  less: 'less',
  same: 'no change beyond chance',
  more: 'more',
  twice: 'more than twice',
  new: 'new',
};

function hash(name) {
  let h = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  return (h ^ (h >>> 13)) >>> 0;
}

function rgb(hue, saturation, lightness) {
  const a = (saturation / 100) * Math.min(lightness / 100, 1 - lightness / 100);
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    const value = lightness / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value)
      .toString(16)
      .padStart(2, '0');
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
}

// The contrast of two #rrggbb colours by WCAG 2.1: 1 to 21.
export function contrast(a, b) {
  const luminance = (colour) => {
    const [red, green, blue] = [1, 3, 5].map((i) => {
      const c = parseInt(colour.slice(i, i + 2), 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

export function palette(dark) {
  const mode = dark ? 'dark' : 'light';
  const theme = THEMES[mode];
  return {
    ...theme,
    degree: (name) => DEGREES[mode][name],
    leaf: (type) => LEAVES[mode][type < CLASSES.length ? type : 0],
    kind(kind, name) {
      const [hue, spread, saturation] = KINDS[kind] || KINDS[0];
      const h = hash(name);
      const lightness = theme.low + ((theme.high - theme.low) * ((h >>> 16) & 0xff)) / 255;
      return rgb(hue + (spread * (h & 0xff)) / 255, dark ? saturation * 0.62 : saturation, lightness);
    },
  };
}

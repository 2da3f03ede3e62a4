/** Creates elements. Text is inserted as text, so nothing in a message becomes markup. */
type Attributes = Record<string, string | boolean | ((event: Event) => void) | undefined>;

export function h(name: string, attributes: Attributes = {}, ...children: (Node | string | undefined)[]): HTMLElement {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, '');
    else if (typeof value === 'string') element.setAttribute(key, value);
  }
  element.append(...children.filter(child => child !== undefined));
  return element;
}

const namespace = 'http://www.w3.org/2000/svg';

const paths = {
  bell: 'M6 9a6 6 0 0 1 12 0c0 6 2.5 7 2.5 7h-17S6 15 6 9M10 20a2.2 2.2 0 0 0 4 0',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  dot: 'M12 8a4 4 0 1 0 0 8a4 4 0 1 0 0-8',
  archive: 'M4 5h16v4H4zM6 9v10h12V9M10 13h4',
  restore: 'M4 13h5l1.5 3h3L15 13h5M4 13v6h16v-6M12 4v6M9 7l3-3l3 3',
  close: 'M6 6l12 12M18 6L6 18',
};

export function icon(name: keyof typeof paths): SVGElement {
  const svg = document.createElementNS(namespace, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(namespace, 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** Formats a relative time, such as "two hours ago", in the reader's language. */
export function ago(moment: string, now: number, language: string): string {
  const seconds = (Date.parse(moment) - now) / 1_000;
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1];
  return unit === 'second' ? format.format(0, 'second') : format.format(Math.trunc(seconds / size), unit);
}

/** Columns of a file, and what they are to become. */
import { texts } from '../../texts/lists.ts';

/** As the header of the imported CSV names it; empty: left out. */
export type Target = string;

export const leftOut: Target = '';

const known: { target: Target; label: string; looks: RegExp }[] = [
  { target: 'email', label: texts.email, looks: /^(e-?mail|mail|email[ _-]?address|e-?mail-?adresse)$/ },
  {
    target: 'first_name',
    label: texts.firstName,
    looks: /^(first[ _-]?name|given[ _-]?name|forename|vorname|prénom)$/,
  },
  { target: 'last_name', label: texts.lastName, looks: /^(last[ _-]?name|surname|family[ _-]?name|nachname|nom)$/ },
  { target: 'locale', label: texts.language, looks: /^(locale|lang|language|sprache)$/ },
  { target: 'active', label: texts.active, looks: /^(active|enabled|subscribed|aktiv)$/ },
  { target: 'phone', label: texts.phone, looks: /^(phone|mobile|cell|tel|telephone|phone[ _-]?number|telefon|handy)$/ },
  { target: 'sms', label: texts.smsNumber, looks: /^sms$/ },
  { target: 'opt_out', label: texts.optOut, looks: /^(opt[ _-]?out|opted[ _-]?out|unsubscribed?)$/ },
];

const addressKinds = ['slack', 'telegram', 'webhook', 'whatsapp'];

/** `Postal code` is kept as the custom field `postal_code`. */
function customOf(header: string): Target {
  const key = header
    .normalize('NFC')
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_');
  return `custom.${key.replaceAll(/^_+|_+$/g, '') || 'field'}`;
}

export function guess(header: string, samples: string[]): Target {
  const plain = header.trim().toLowerCase();
  if (/^(address|custom)\../.test(plain)) return header.trim();
  const found = known.find(({ looks }) => looks.test(plain));
  if (found) return found.target;
  const filled = samples.filter(text => text.trim() !== '');
  if (filled.length > 0 && filled.every(text => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text.trim()))) return 'email';
  return leftOut;
}

/** One guess for each column, none of them twice. */
export function guessAll(headers: string[], rows: string[][]): Target[] {
  const taken = new Set<Target>();
  return headers.map((header, i) => {
    const target = guess(
      header,
      rows.map(row => row[i] ?? ''),
    );
    if (target === leftOut || taken.has(target)) return leftOut;
    taken.add(target);
    return target;
  });
}

export function choicesFor(header: string) {
  const own = /^(address|custom)\../.test(header) ? [header.trim()] : [];
  return [
    { group: texts.skip, items: [{ value: 'leave-out', label: texts.doNotImport }] },
    { group: texts.person, items: known.map(({ target, label }) => ({ value: target, label })) },
    {
      group: texts.more,
      items: [
        ...own.map(target => ({ value: target, label: target })),
        { value: customOf(header), label: texts.customField(customOf(header).slice('custom.'.length)) },
        ...addressKinds.map(kind => ({ value: `address.${kind}`, label: `Address: ${kind}` })),
      ].filter(({ value }, i, all) => all.findIndex(each => each.value === value) === i),
    },
  ];
}

/** Whether the first row is people rather than names of columns. */
export function looksLikeData(row: string[]): boolean {
  return row.some(cell => /^[^\s@]+@[^\s@]+$/.test(cell.trim()));
}
